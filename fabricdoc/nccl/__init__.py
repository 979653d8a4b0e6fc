"""The one home of NCCL's rules: which GID and which HCAs it takes, reading its logs, its variables, its versions.

Data (the table of log lines, the catalogue of variables) lives in presets/nccl. This room starts nothing and
measures nothing. Names load their module when first used, so that a scan loads only the choice of GIDs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.doors import opened

if TYPE_CHECKING:
    from fabricdoc.nccl.complaints import SEVERITIES, Complaint
    from fabricdoc.nccl.contradictions import check_variables
    from fabricdoc.nccl.devices import fused, in_device_order
    from fabricdoc.nccl.gids import choose_gid, gid_choices
    from fabricdoc.nccl.interfaces import IGNORED_BELOW, MOST_NAMES, Interfaces, running, take_interfaces
    from fabricdoc.nccl.lint import detect_format, lint_pair, lint_text, settings_of
    from fabricdoc.nccl.lint_settings import FORMATS, Format, Remark, Setting
    from fabricdoc.nccl.ll128 import ll128_forced
    from fabricdoc.nccl.merge import path_problem
    from fabricdoc.nccl.placing import gloo_variables, is_writable, nccl_variables, server_variables
    from fabricdoc.nccl.proof import read_proof
    from fabricdoc.nccl.ranks import merge_proofs, mismatches
    from fabricdoc.nccl.reader import Event, LogReader, read_events
    from fabricdoc.nccl.releases import ReleaseFinder, Span
    from fabricdoc.nccl.remarks import hca_remarks, interface_remarks, reading
    from fabricdoc.nccl.safety import RING_TREE, reject_unsafe
    from fabricdoc.nccl.selectors import MOST_ENTRIES, Selection, expand, parse_selector
    from fabricdoc.nccl.sources import LogFile
    from fabricdoc.nccl.speakers import Speaker, speaker
    from fabricdoc.nccl.timeline import Moment, Timeline, Timelines, first_errors, read_timelines
    from fabricdoc.nccl.typed import typed
    from fabricdoc.nccl.values import check_value
    from fabricdoc.nccl.variables import Variable, catalogue, circulating, must_agree, nearest
    from fabricdoc.nccl.versions import parse_conditions, parse_release, satisfies

HOMES = {
    "complaints": ("SEVERITIES", "Complaint"),
    "contradictions": ("check_variables",),
    "devices": ("fused", "in_device_order"),
    "gids": ("choose_gid", "gid_choices"),
    "interfaces": ("IGNORED_BELOW", "MOST_NAMES", "Interfaces", "running", "take_interfaces"),
    "lint": ("detect_format", "lint_pair", "lint_text", "settings_of"),
    "lint_settings": ("FORMATS", "Format", "Remark", "Setting"),
    "ll128": ("ll128_forced",),
    "merge": ("path_problem",),
    "placing": ("gloo_variables", "is_writable", "nccl_variables", "server_variables"),
    "proof": ("read_proof",),
    "ranks": ("merge_proofs", "mismatches"),
    "reader": ("Event", "LogReader", "read_events"),
    "remarks": ("hca_remarks", "interface_remarks", "reading"),
    "releases": ("ReleaseFinder", "Span"),
    "safety": ("RING_TREE", "reject_unsafe"),
    "selectors": ("MOST_ENTRIES", "Selection", "expand", "parse_selector"),
    "sources": ("LogFile",),
    "speakers": ("Speaker", "speaker"),
    "timeline": ("Moment", "Timeline", "Timelines", "first_errors", "read_timelines"),
    "typed": ("typed",),
    "values": ("check_value",),
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
    "Complaint",
    "Event",
    "Format",
    "Interfaces",
    "LogFile",
    "LogReader",
    "Moment",
    "ReleaseFinder",
    "Remark",
    "Selection",
    "Setting",
    "Span",
    "Speaker",
    "Timeline",
    "Timelines",
    "Variable",
    "catalogue",
    "check_value",
    "check_variables",
    "choose_gid",
    "circulating",
    "detect_format",
    "expand",
    "first_errors",
    "fused",
    "gid_choices",
    "gloo_variables",
    "hca_remarks",
    "in_device_order",
    "interface_remarks",
    "is_writable",
    "lint_pair",
    "lint_text",
    "ll128_forced",
    "merge_proofs",
    "mismatches",
    "must_agree",
    "nccl_variables",
    "nearest",
    "parse_conditions",
    "parse_release",
    "parse_selector",
    "path_problem",
    "read_events",
    "read_proof",
    "read_timelines",
    "reading",
    "reject_unsafe",
    "running",
    "satisfies",
    "server_variables",
    "settings_of",
    "speaker",
    "take_interfaces",
    "typed",
]


__getattr__ = opened(__name__, HOMES)
