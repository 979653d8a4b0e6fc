"""Text and JSON of nccl-tests as a run: every number at its place, nothing secret, nothing made up, no crash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricdoc.errors import InputError
from fabricdoc.store import RunStore, keep_imported, read_nccl_tests

pytestmark = pytest.mark.unit

# Written after src/util.cu of nccl-tests 2.19 (writeDeviceReport, writeResultHeader, writeBenchmarkLineBody).
HEAD = """\
# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809
# Collective test starting: {program}
# nThread 1 nGpus 1 minBytes 1024 maxBytes 4096 step: 2(factor) warmup iters: 20 iters: 100 agg iters: 1 \
validation: 1 graph: {graph} unalign: 0
#
# Using devices
#  Rank  0 Group  0 Pid   4711 on      alpha device  0 [0000:04:00] NVIDIA H200
#  Rank  1 Group  0 Pid   4712 on       beta device  0 [0000:04:00] NVIDIA H200
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
ROWS = """\
        1024           512  bfloat16     sum      -1    53.50    0.02    0.02       0    54.20    0.02    0.02       0
        4096          2048  bfloat16     sum      -1    51.40    0.08    0.08       0    52.25    0.08    0.08       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.05
#
# Collective test concluded: all_reduce_perf
"""


def _text(rows: str = ROWS, program: str = "all_reduce_perf", graph: int = 1) -> str:
    return HEAD.format(program=program, graph=graph) + rows


def _file(folder: Path, text: str, name: str = "out.txt") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def _document(**changes: Any) -> dict[str, Any]:
    half = {"time": 53.5, "alg_bw": 0.02, "bus_bw": 0.02, "nwrong": 0.0}
    document: dict[str, Any] = {
        "version": 2, "start_time": "2026-11-29 10:00:00", "args": ["./build/all_reduce_perf", "-G", "1"],
        "env": ["HF_TOKEN=secret-of-mine", "HOME=/root"], "nccl_version": 22809,
        "config": {
            "iterations": 100, "graph": 1,
            "devices": [
                {"rank": rank, "group": 0, "pid": 7, "hostname": host, "device": 0, "device_hex": "x",
                 "device_info": "NVIDIA H200"} for rank, host in enumerate(("alpha", "beta"))
            ],
        },
        "results": [
            {"size": 1024, "count": 512, "type": "bfloat16", "redop": "sum", "root": "    -1", "out_of_place": half,
             "in_place": half | {"time": 54.2},
             "in_place_per_iter": {"p50_us": 54.0, "p95_us": 60.0, "p99_us": 70.0, "max_us": 99.0, "times_us": []},
             "actual_iterations": 100, "experiment_name": ""},
        ],
    }  # fmt: skip
    return document | changes


def test_text_gives_every_number_at_its_place(tmp_path: Path) -> None:
    run = read_nccl_tests([_file(tmp_path, _text())], "imported-1")
    (launch,) = run.launches
    assert [(c.size, c.in_place, c.median_us, c.calls) for c in launch.cells] == [
        (1024, False, 53.5, 100), (1024, True, 54.2, 100), (4096, False, 51.4, 100), (4096, True, 52.25, 100),
    ]  # fmt: skip
    assert {(c.view, c.op, c.dtype, c.correct) for c in launch.cells} == {("graph", "all_reduce", "bfloat16", True)}
    assert [(node.name, node.nccl, node.gpus) for node in run.nodes] == [
        ("alpha", "2.28.9", ("NVIDIA H200",)), ("beta", "2.28.9", ("NVIDIA H200",)),
    ]  # fmt: skip
    assert [(rank.rank, rank.node) for rank in run.plan.ranks] == [(0, "alpha"), (1, "beta")]
    assert (run.status, run.plan.views) == ("complete", ("graph",))
    assert "mean" in run.reason


@pytest.mark.parametrize(
    ("program", "op"),
    [("alltoall_perf", "all_to_all"), ("sendrecv_perf", "send_recv"), ("/opt/x/broadcast_perf", "broadcast")],
)
def test_ops_have_our_names_and_loops_are_throughput(tmp_path: Path, program: str, op: str) -> None:
    run = read_nccl_tests([_file(tmp_path, _text(program=program, graph=0))], "r")
    assert {(c.op, c.view) for c in run.launches[0].cells} == {(op, "throughput")}


def test_columns_of_per_iteration_times_are_told_from_the_halves(tmp_path: Path) -> None:
    row = (
        "        1024           512     float     sum      -1    53.50    0.02    0.02       0    40.00   90.00   80.00"
        "    5.00    54.20    0.02    0.02       0    41.00   91.00   81.00    6.00\n"
    )
    cells = read_nccl_tests([_file(tmp_path, _text(row))], "r").launches[0].cells
    assert [(c.median_us, c.p99_us, c.max_us, c.dtype) for c in cells] == [
        (53.5, 80.0, 90.0, "float32"), (54.2, 81.0, 91.0, "float32"),
    ]  # fmt: skip


def test_wrong_results_make_the_launch_incorrect_and_unchecked_ones_do_not(tmp_path: Path) -> None:
    wrong = _text(ROWS.replace("       0    52.25", "       3    52.25"))
    (launch,) = read_nccl_tests([_file(tmp_path, wrong)], "r").launches
    assert (launch.status, launch.reason) == ("incorrect", "1 results were wrong")
    unchecked = _text(ROWS.replace("       0\n", "     N/A\n").replace("       0    5", "     N/A    5"))
    assert read_nccl_tests([_file(tmp_path, unchecked)], "r").launches[0].status == "ok"


def test_json_gives_the_same_and_its_quantiles_and_keeps_no_environment(tmp_path: Path) -> None:
    run = read_nccl_tests([_file(tmp_path, json.dumps(_document()))], "r")
    outside, inside = run.launches[0].cells
    assert (outside.median_us, outside.p99_us, outside.in_place) == (53.5, 53.5, False)
    assert (inside.median_us, inside.p95_us, inside.p99_us, inside.max_us) == (54.2, 60.0, 70.0, 99.0)
    assert (run.nodes[0].nccl, run.plan.ranks[1].node) == ("2.28.9", "beta")
    assert "secret-of-mine" not in run.model_dump_json()


def test_a_half_that_was_not_measured_is_left_out(tmp_path: Path) -> None:
    document = _document()
    document["results"][0]["out_of_place"] = None
    assert [c.in_place for c in read_nccl_tests([_file(tmp_path, json.dumps(document))], "r").launches[0].cells] == [
        True
    ]


def test_several_files_are_launches_of_one_run_and_other_ranks_are_refused(tmp_path: Path) -> None:
    files = [_file(tmp_path, _text(), f"{n}.txt") for n in range(3)] + [_file(tmp_path, json.dumps(_document()), "j")]
    run = read_nccl_tests(files, "r")
    assert [(one.number, one.block, one.log_tail) for one in run.launches[2:]] == [(3, 3, ("2.txt",)), (4, 4, ("j",))]
    other = _file(tmp_path, _text().replace("beta", "gamma"), "other.txt")
    with pytest.raises(InputError, match=r"other\.txt was measured on other ranks"):
        read_nccl_tests([*files, other], "r")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "says nowhere which collective"),
        ("hello\n", "says nowhere which collective"),
        (HEAD.format(program="all_reduce_perf", graph=1), "holds no result"),
        (HEAD.format(program="hypercube_perf", graph=1) + ROWS, "is of 'hypercube'"),
        ("{", "is no JSON of nccl-tests"),
        ("{}", "is no JSON of nccl-tests"),
        (json.dumps({"args": [], "config": {}}), "is no JSON of nccl-tests"),
        (json.dumps(_document(results=[{"size": "x"}])), "holds no result"),
        (json.dumps(_document(config=3)), "is no JSON of nccl-tests"),
        ("[" * 100_000, "says nowhere"),
        ('{"args":' * 100_000, "is no JSON of nccl-tests"),
    ],
)
def test_what_is_no_output_of_nccl_tests_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        read_nccl_tests([_file(tmp_path, text)], "r")
    assert "out.txt" in error.value.message


def test_no_file_and_an_absent_one_are_input_errors(tmp_path: Path) -> None:
    for paths in ([], [tmp_path / "absent"]):
        with pytest.raises(InputError):
            read_nccl_tests(paths, "r")


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, len(_text())), junk=st.text(max_size=30))
def test_a_mangled_file_is_read_or_refused_never_a_crash(tmp_path: Path, place: int, junk: str) -> None:
    text = _text()
    (tmp_path / "x").write_text(text[:place] + junk + text[place:], encoding="utf-8", errors="replace")
    try:
        run = read_nccl_tests([tmp_path / "x"], "r")
    except InputError:
        return
    assert all(0.0 <= cell.median_us < 1e15 for cell in run.launches[0].cells)


def test_an_imported_run_is_stored_listed_and_read_back(tmp_path: Path) -> None:
    run = read_nccl_tests([_file(tmp_path, _text())], "imported-1")
    with RunStore.open(tmp_path / "runs.sqlite", write=True) as store:
        keep_imported(store, run)
        (listed,) = store.list_runs()
        assert (listed.id, listed.status, listed.launches, listed.nodes) == (
            "imported-1",
            "complete",
            1,
            ("alpha", "beta"),
        )
        assert store.load().launches == run.launches
        assert store.load().reason == run.reason
