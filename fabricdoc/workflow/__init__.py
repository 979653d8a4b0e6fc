"""The main job, put together: look, prove, measure, judge, write; the same code for two machines and for the lab.

Rooms below do the work; this one only decides the order and hands results from one to the next. It prints
nothing: progress goes through the callback it is given. Names load their module when first used, so that a scan
does not pay for what a bench needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.doors import opened

if TYPE_CHECKING:
    from fabricdoc.workflow.arms import read_deadlines, read_effect, read_gemm, read_path
    from fabricdoc.workflow.beginning import preset_from_scan
    from fabricdoc.workflow.checking import Asked, check_drift, check_gate, check_level
    from fabricdoc.workflow.delivering import check_delivery, read_where
    from fabricdoc.workflow.explaining import explain_paths, explain_status
    from fabricdoc.workflow.following import NextBench, next_bench
    from fabricdoc.workflow.gate_words import GateWords, JobWords, LocalWords, read_gate, write_textfile
    from fabricdoc.workflow.importing import import_nccl_tests
    from fabricdoc.workflow.launching import make_start, open_files, preset_to_start, take_place
    from fabricdoc.workflow.linting import Linted, lint_files
    from fabricdoc.workflow.looking import look, look_deeply, look_once, with_cables
    from fabricdoc.workflow.meant import find_preset, this_hostname
    from fabricdoc.workflow.measuring import Measured, measure, opened_agents, unready
    from fabricdoc.workflow.planning import Prepared, prepare
    from fabricdoc.workflow.recommending import Recommended, base_ran, kept_verdict, latest_preset, recommend
    from fabricdoc.workflow.replay import replay_fabric, save_fabric
    from fabricdoc.workflow.requests import Request, check_request
    from fabricdoc.workflow.resuming import nodes_of, prepare_again, resumed_request
    from fabricdoc.workflow.safety import refuse_unsafe
    from fabricdoc.workflow.starting import after_init, check_absent, config_text, find_nodes, write_config
    from fabricdoc.workflow.words import (
        read_address,
        read_backend,
        read_dtype,
        read_duration,
        read_folders,
        read_objective,
        read_ops,
        read_search,
        read_size,
        read_sizes,
        read_step,
        read_weights,
    )

HOMES = {
    "arms": ("read_deadlines", "read_effect", "read_gemm", "read_path"),
    "beginning": ("preset_from_scan",),
    "checking": ("Asked", "check_drift", "check_gate", "check_level"),
    "explaining": ("explain_paths", "explain_status"),
    "following": ("NextBench", "next_bench"),
    "gate_words": ("GateWords", "JobWords", "LocalWords", "read_gate", "write_textfile"),
    "importing": ("import_nccl_tests",),
    "delivering": ("check_delivery", "read_where"),
    "launching": ("make_start", "open_files", "preset_to_start", "take_place"),
    "linting": ("Linted", "lint_files"),
    "looking": ("look", "look_deeply", "look_once", "with_cables"),
    "meant": ("find_preset", "this_hostname"),
    "measuring": ("Measured", "measure", "opened_agents", "unready"),
    "planning": ("Prepared", "prepare"),
    "recommending": ("Recommended", "base_ran", "kept_verdict", "latest_preset", "recommend"),
    "replay": ("replay_fabric", "save_fabric"),
    "requests": ("Request", "check_request"),
    "resuming": ("nodes_of", "prepare_again", "resumed_request"),
    "safety": ("refuse_unsafe",),
    "starting": ("after_init", "check_absent", "config_text", "find_nodes", "write_config"),
    "words": (
        "read_address",
        "read_backend",
        "read_dtype",
        "read_duration",
        "read_folders",
        "read_objective",
        "read_ops",
        "read_search",
        "read_size",
        "read_sizes",
        "read_step",
        "read_weights",
    ),
}

__all__ = [
    "Asked",
    "GateWords",
    "JobWords",
    "Linted",
    "LocalWords",
    "Measured",
    "NextBench",
    "Prepared",
    "Recommended",
    "Request",
    "after_init",
    "base_ran",
    "check_absent",
    "check_delivery",
    "check_drift",
    "check_gate",
    "check_level",
    "check_request",
    "config_text",
    "explain_paths",
    "explain_status",
    "find_nodes",
    "find_preset",
    "import_nccl_tests",
    "kept_verdict",
    "latest_preset",
    "lint_files",
    "look",
    "look_deeply",
    "look_once",
    "make_start",
    "measure",
    "next_bench",
    "nodes_of",
    "open_files",
    "opened_agents",
    "prepare",
    "prepare_again",
    "preset_from_scan",
    "preset_to_start",
    "read_address",
    "read_backend",
    "read_deadlines",
    "read_dtype",
    "read_duration",
    "read_effect",
    "read_folders",
    "read_gate",
    "read_gemm",
    "read_objective",
    "read_ops",
    "read_path",
    "read_search",
    "read_size",
    "read_sizes",
    "read_step",
    "read_weights",
    "read_where",
    "recommend",
    "refuse_unsafe",
    "replay_fabric",
    "resumed_request",
    "save_fabric",
    "take_place",
    "this_hostname",
    "unready",
    "with_cables",
    "write_config",
    "write_textfile",
]


__getattr__ = opened(__name__, HOMES)
