"""COLL lines of every NCCL form are read, everything else is passed over, nothing hostile costs more than its line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.errors import InputError
from fabricdoc.serving import coll_log
from fabricdoc.serving.coll_log import Calls, Shape, add_lines, read_calls
from tests.unit.serving.coll_lines import line

pytestmark = pytest.mark.unit


def _read(*lines: str) -> Calls:
    calls = Calls()
    add_lines(calls, lines)
    return calls


def _one(text: str) -> Shape:
    ((shape,),) = _read(text).of.values()
    return shape


@pytest.mark.parametrize(
    ("func", "count", "kind", "wanted"),
    [
        ("AllReduce", 10240, 9, Shape("all_reduce", 20480, 20480, "bfloat16", 2, None)),
        ("AllReduce", 10240, 0, Shape("all_reduce", 10240, 10240, "int8", 2, None)),
        ("AllReduce", 4, 7, Shape("all_reduce", 16, 16, "float32", 2, None)),
        ("AllGather", 496640, 9, Shape("all_gather", 1986560, 993280, "bfloat16", 2, None)),
        ("ReduceScatter", 1024, 6, Shape("reduce_scatter", 4096, 4096, "float16", 2, None)),
        ("Broadcast", 4, 4, Shape("broadcast", 32, 32, "int32", 2, None)),
        ("AlltoAll", 8, 9, Shape("all_to_all", 32, 32, "bfloat16", 2, None)),
        ("Send", 8, 9, Shape("send_recv", 16, 16, "bfloat16", 2, None)),
        ("Recv", 8, 9, Shape("send_recv", 16, 16, "bfloat16", 2, None, received=True)),
        ("AllReduce", 8, 10, Shape("all_reduce", 8, 8, "int8", 2, None)),
    ],
)
def test_sizes_are_those_of_nccl_tests(func: str, count: int, kind: int, wanted: Shape) -> None:
    assert _one(line(func, count, kind)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "tpgds-x:177794:177794 [7] NCCL INFO AllReduce: opCount 0 sendbuff 0x7fb201e00400 recvbuff 0x7fb201e00400 "
        "count 1 datatype 7 op 0 root 0 comm 0x558f79e65f00 [nranks=16] stream 0x558f83fe3ca0",
        "TARS:829507:829507 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x7973d6e00400 recvbuff 0x7973d6e00400 "
        "acc (nil) count 1 datatype 7 op 0 root 0 comm 0x2bc1f840 [nranks=16] stream (nil) task 0 globalrank 0",
        "[1,0]<stdout>:[2026-03-12 13:57:49] h.x-1:39:39 [3] NCCL INFO AllReduce: opCount 1a sendbuff 0x1 recvbuff "
        "0x2 count 1 datatype 7 op 2147483647 root 0 comm 0x9 [nranks=16] stream 0x0",
    ],
)
def test_lines_as_published_by_several_versions_and_launchers(text: str) -> None:
    assert _one(text) == Shape("all_reduce", 4, 4, "float32", 16, None)


def test_processes_are_kept_apart_and_in_order() -> None:
    calls = _read(line("AllReduce", 1, 9), line("AllReduce", 2, 9, pid=8), line("AllGather", 3, 9), "other\n")
    assert {process: [shape.size for shape in shapes] for process, shapes in calls.of.items()} == {
        ("a", "7"): [2, 12], ("a", "8"): [4],
    }  # fmt: skip


def test_init_lines_say_whether_a_communicator_spans_nodes() -> None:
    init = "a:7:7 [0] NCCL INFO comm 0x55aa rank 0 nRanks 2 nNodes {} localRanks 1 localRank 0 MNNVL 0\n"
    for nodes, spans in ((2, True), (1, False)):
        assert [one.spans_nodes for one in _read(init.format(nodes), line("AllReduce", 1, 9)).of["a", "7"]] == [spans]


def test_what_is_left_out_is_counted() -> None:
    calls = _read(
        line("Reduce", 1, 9), line("AllReduce", 1, 99), line("AllReduce", 0, 9), line("AllReduce", 1, 9, ranks=1)
    )
    assert (calls.of, calls.other_ops, calls.lone) == ({}, 3, 1)


def test_a_long_log_is_cut_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coll_log, "MOST_CALLS", 5)
    calls = _read(*[line("AllReduce", 1, 9)] * 9)
    assert (len(calls.of["a", "7"]), calls.cut) == (5, True)


def test_a_folder_is_its_files(tmp_path: Path) -> None:
    (tmp_path / "nccl.a.7").write_text(line("AllReduce", 1, 9))
    (tmp_path / "nccl.b.7").write_text(line("AllReduce", 1, 9, host="b"))
    assert read_calls([tmp_path]).hosts == {"a", "b"}


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\x00" * 100, b"NCCL INFO nothing\n", b"x" * 100_000])
def test_a_log_without_calls_says_how_to_get_one(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "log").write_bytes(data)
    with pytest.raises(InputError, match="no collective call in") as caught:
        read_calls([tmp_path / "log"])
    assert "NCCL_DEBUG_SUBSYS=INIT,COLL" in caught.value.fix


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, words in ((tmp_path / "pipe", "is a pipe"), (tmp_path / "absent", "No such file")):
        with pytest.raises(InputError, match=words):
            read_calls([path])


cut_lines = st.builds(lambda start, end: line("AllReduce", 5, 9)[start:end], st.integers(0, 60), st.integers(60, 200))


@settings(deadline=None)
@given(st.lists(st.text(max_size=40) | cut_lines, max_size=6))
def test_no_lines_raise(lines: list[str]) -> None:
    for shapes in _read(*lines).of.values():
        assert all(shape.op == "all_reduce" for shape in shapes)
