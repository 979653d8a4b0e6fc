"""The one home of NCCL's rules: which GID and which HCAs it takes, reading its logs, its variables, its versions.

Data (the table of log lines, the catalogue of variables) lives in presets/nccl. This room starts nothing and
measures nothing. Names load their module when first used, so that a scan loads only the choice of GIDs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.doors import opened

if TYPE_CHECKING:
    from fabricdoc.nccl.cleaning import clean
    from fabricdoc.nccl.complaints import SEVERITIES, Complaint
    from fabricdoc.nccl.contradictions import check_variables
    from fabricdoc.nccl.devices import fused, in_device_order
    from fabricdoc.nccl.events import Rule, load_rules
    from fabricdoc.nccl.gids import choose_gid, gid_choices
    from fabricdoc.nccl.interfaces import IGNORED_BELOW, MOST_NAMES, Interfaces, running, take_interfaces
    from fabricdoc.nccl.lint import Source, in_order, lint_text, lint_unit, read_source, settings_of
    from fabricdoc.nccl.lint_findings import as_findings, by_severity
    from fabricdoc.nccl.lint_formats import detect_format
    from fabricdoc.nccl.lint_library import chosen_nccl
    from fabricdoc.nccl.lint_nodes import lint_pair, lint_units_together
    from fabricdoc.nccl.lint_output import as_github, as_sarif, harmless, shown_lines
    from fabricdoc.nccl.lint_scan import judge_scan, nccl_of
    from fabricdoc.nccl.lint_settings import FORMATS, Format, Place, Remark, Setting
    from fabricdoc.nccl.lint_units import Unit, arranged, unread_files
    from fabricdoc.nccl.ll128 import ll128_forced
    from fabricdoc.nccl.masking import masked
    from fabricdoc.nccl.merge import path_problem
    from fabricdoc.nccl.numbers import number_at_start
    from fabricdoc.nccl.placing import gloo_variables, is_writable, nccl_variables, server_variables
    from fabricdoc.nccl.proof import read_proof
    from fabricdoc.nccl.ranks import merge_proofs, mismatches
    from fabricdoc.nccl.reader import Event, LogReader, read_events
    from fabricdoc.nccl.records import (
        CallFailure,
        Channel,
        Completion,
        Device,
        DeviceList,
        QueuePairFailure,
        RankSeen,
        VariableRead,
        VersionSeen,
    )
    from fabricdoc.nccl.releases import ReleaseFinder, Span
    from fabricdoc.nccl.remarks import hca_remarks, interface_remarks, reading
    from fabricdoc.nccl.safety import RING_TREE, reject_unsafe
    from fabricdoc.nccl.selectors import MOST_ENTRIES, Selection, expand, parse_selector
    from fabricdoc.nccl.sources import LogFile
    from fabricdoc.nccl.speakers import Speaker, front_of, moment, speaker
    from fabricdoc.nccl.timeline import Moment, Timeline, Timelines, first_errors, read_timelines
    from fabricdoc.nccl.typed import record_of
    from fabricdoc.nccl.values import Nccl, check_value
    from fabricdoc.nccl.variables import Variable, catalogue, circulating, must_agree, nearest
    from fabricdoc.nccl.versions import parse_conditions, parse_release, satisfies

HOMES = {
    "cleaning": ("clean",),
    "complaints": ("SEVERITIES", "Complaint"),
    "contradictions": ("check_variables",),
    "devices": ("fused", "in_device_order"),
    "events": ("Rule", "load_rules"),
    "gids": ("choose_gid", "gid_choices"),
    "interfaces": ("IGNORED_BELOW", "MOST_NAMES", "Interfaces", "running", "take_interfaces"),
    "lint": ("Source", "in_order", "lint_text", "lint_unit", "read_source", "settings_of"),
    "lint_findings": ("as_findings", "by_severity"),
    "lint_formats": ("detect_format",),
    "lint_library": ("chosen_nccl",),
    "lint_output": ("as_github", "as_sarif", "harmless", "shown_lines"),
    "lint_nodes": ("lint_pair", "lint_units_together"),
    "lint_scan": ("judge_scan", "nccl_of"),
    "lint_settings": ("FORMATS", "Format", "Place", "Remark", "Setting"),
    "lint_units": ("Unit", "arranged", "unread_files"),
    "ll128": ("ll128_forced",),
    "masking": ("masked",),
    "merge": ("path_problem",),
    "numbers": ("number_at_start",),
    "placing": ("gloo_variables", "is_writable", "nccl_variables", "server_variables"),
    "proof": ("read_proof",),
    "ranks": ("merge_proofs", "mismatches"),
    "reader": ("Event", "LogReader", "read_events"),
    "records": (
        "CallFailure",
        "Channel",
        "Completion",
        "Device",
        "DeviceList",
        "QueuePairFailure",
        "RankSeen",
        "VariableRead",
        "VersionSeen",
    ),
    "remarks": ("hca_remarks", "interface_remarks", "reading"),
    "releases": ("ReleaseFinder", "Span"),
    "safety": ("RING_TREE", "reject_unsafe"),
    "selectors": ("MOST_ENTRIES", "Selection", "expand", "parse_selector"),
    "sources": ("LogFile",),
    "speakers": ("Speaker", "front_of", "moment", "speaker"),
    "timeline": ("Moment", "Timeline", "Timelines", "first_errors", "read_timelines"),
    "typed": ("record_of",),
    "values": ("Nccl", "check_value"),
    "variables": ("Variable", "catalogue", "circulating", "must_agree", "nearest"),
    "versions": ("parse_conditions", "parse_release", "satisfies"),
}

__all__ = [
    "FORMATS",
    "IGNORED_BELOW",
    "MOST_ENTRIES",
    "MOST_NAMES",
    "RING_TREE",
    "SEVERITIES",
    "CallFailure",
    "Channel",
    "Complaint",
    "Completion",
    "Device",
    "DeviceList",
    "Event",
    "Format",
    "Interfaces",
    "LogFile",
    "LogReader",
    "Moment",
    "Nccl",
    "Place",
    "QueuePairFailure",
    "RankSeen",
    "ReleaseFinder",
    "Remark",
    "Rule",
    "Selection",
    "Setting",
    "Source",
    "Span",
    "Speaker",
    "Timeline",
    "Timelines",
    "Unit",
    "Variable",
    "VariableRead",
    "VersionSeen",
    "arranged",
    "as_findings",
    "as_github",
    "as_sarif",
    "by_severity",
    "catalogue",
    "check_value",
    "check_variables",
    "choose_gid",
    "chosen_nccl",
    "circulating",
    "clean",
    "detect_format",
    "expand",
    "first_errors",
    "front_of",
    "fused",
    "gid_choices",
    "gloo_variables",
    "harmless",
    "hca_remarks",
    "in_device_order",
    "in_order",
    "interface_remarks",
    "is_writable",
    "judge_scan",
    "lint_pair",
    "lint_text",
    "lint_unit",
    "lint_units_together",
    "ll128_forced",
    "load_rules",
    "masked",
    "merge_proofs",
    "mismatches",
    "moment",
    "must_agree",
    "nccl_of",
    "nccl_variables",
    "nearest",
    "number_at_start",
    "parse_conditions",
    "parse_release",
    "parse_selector",
    "path_problem",
    "read_events",
    "read_proof",
    "read_source",
    "read_timelines",
    "reading",
    "record_of",
    "reject_unsafe",
    "running",
    "satisfies",
    "server_variables",
    "settings_of",
    "shown_lines",
    "speaker",
    "take_interfaces",
    "unread_files",
]


__getattr__ = opened(__name__, HOMES)
