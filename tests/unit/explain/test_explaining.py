"""The verdict as a document: one cause, evidence at its line, what competes, what to collect; and hostile files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.explain import explain_files
from fabricdoc.explain.explaining import LONGEST_TEXT
from tests.excerpts import FE80, completion, gids, links, log, modify_qp, told, using, version, warn

pytestmark = pytest.mark.unit

IB = "Using network IB"
BROKEN = {
    "alpha.log": log(
        "alpha",
        version("2.21.5"),
        using("mlx5_0"),
        IB,
        warn("transport/net_ib.cc:93", "NET/IB : mlx5_0:1 Got async event : port error"),
    ),
    "bravo.log": log("bravo", version("2.21.5"), using("mlx5_0"), IB, completion(12)),
}


def written(folder: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (folder / name).write_text(text)
    return str(folder)


def test_evidence_is_verbatim_at_its_line(tmp_path: Path) -> None:
    document = explain_files([written(tmp_path, BROKEN)])
    assert document.verdict == "link-flap"
    for piece in document.findings[0].evidence:
        lines = (tmp_path / piece.file).read_text().splitlines()
        assert piece.line is not None
        assert piece.text in lines[piece.line - 1]


def test_the_cause_comes_first_though_another_rank_says_more() -> None:
    document = told(BROKEN)
    assert document.findings[0].evidence[0].file == "alpha.log"
    assert [one.id for one in document.considered] == ["rdma-path-timeout"]
    assert "link-flap comes before it" in document.considered[0].why


def test_there_is_one_error_or_warning_at_most() -> None:
    loud = [one for one in told(BROKEN).findings if one.severity != "info"]
    assert len(loud) == 1


def test_the_document_has_its_kind_and_the_verdict_is_the_first_finding() -> None:
    raw = json.loads(told(BROKEN).model_dump_json())
    assert raw["schema"] == "fabricdoc/findings/1"
    assert raw["verdict"] == raw["findings"][0]["id"]


def test_files_are_listed_with_what_they_hold() -> None:
    document = told({**BROKEN, "nccl.env": "NCCL_DEBUG=INFO\n", "alpha_rdma_link.txt": links(("mlx5_0", "ACTIVE"))})
    kinds = {one.name: (one.kinds, one.node) for one in document.files}
    assert kinds["alpha.log"] == (("NCCL log",), "alpha")
    assert kinds["nccl.env"] == (("settings",), "")
    assert kinds["alpha_rdma_link.txt"] == (("rdma",), "alpha")


def test_nothing_known_is_unknown_and_says_what_to_collect() -> None:
    document = told({"poem.txt": "roses are red\n"})
    assert document.verdict == "unknown"
    assert document.collect
    assert document.findings[0].fix == document.collect


def test_a_new_warning_is_unknown_and_quoted() -> None:
    document = told({"a.log": log("alpha", version("2.32.3"), warn("x.cc:1", "something nobody wrote before"))})
    assert document.verdict == "unknown"
    assert "something nobody wrote before" in document.findings[0].evidence[0].text


def test_a_cause_that_is_not_certain_says_what_would_decide() -> None:
    document = told({"a.log": log("alpha", IB, completion(12))})
    assert document.findings[0].confidence == "likely"
    assert document.collect


def test_harmless_lines_are_explained_once_each() -> None:
    lines = (
        "NET/Plugin: Could not find: libnccl-net.so.",
        "dlvsym failed on mlx5dv_reg_dmabuf_mr - undefined symbol: mlx5dv_reg_dmabuf_mr",
    )
    document = told({"a.log": log("alpha", *lines, *lines, using("mlx5_0"), IB)})
    assert document.verdict == "none"
    assert [(one.id, one.severity) for one in document.findings] == [
        ("net-plugin-not-found", "info"),
        ("optional-symbol-missing", "info"),
    ]
    assert "(2 lines like it)" in document.findings[0].cause


def test_a_host_that_speaks_is_the_node_that_other_files_are_named_by() -> None:
    files = {
        "head.log": log(
            "spark1", IB, modify_qp(110, "Connection timed out", "mlx5_0", "::ffff:10.1.0.5", "::ffff:10.2.0.6")
        ),
        "spark1_show_gids.txt": gids(
            ("mlx5_0", 3, "10.1.0.5", "v2"), ("mlx5_1", 3, "10.2.0.5", "v2"), ("mlx5_0", 0, FE80, "v1")
        ),
    }
    document = told(files)
    assert document.verdict == "cross-rail-unreachable"
    assert document.findings[0].subject.startswith("spark1")


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
def test_any_line_end_and_invalid_bytes_are_read(tmp_path: Path, ending: str) -> None:
    text = BROKEN["bravo.log"].replace("\n", ending).encode() + b"\xff\xfe\x00broken\n"
    (tmp_path / "bravo.log").write_bytes(text)
    assert explain_files([str(tmp_path)]).verdict == "rdma-path-timeout"


def test_a_compressed_log_is_read(tmp_path: Path) -> None:
    (tmp_path / "bravo.log.gz").write_bytes(gzip.compress(BROKEN["bravo.log"].encode()))
    assert explain_files([str(tmp_path)]).verdict == "rdma-path-timeout"


def test_a_binary_file_is_noted_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "core").write_bytes(b"\x7fELF\x00\x00\x00" * 99)
    document = explain_files([written(tmp_path, BROKEN)])
    assert document.verdict == "link-flap"
    assert {one.name: one.note for one in document.files}["core"]


def test_a_damaged_archive_is_noted(tmp_path: Path) -> None:
    (tmp_path / "x.log.gz").write_bytes(gzip.compress(b"abc" * 999)[:-20])
    (tmp_path / "y.log.gz").write_bytes(b"\x1f\x8bnot gzip")
    document = explain_files([str(tmp_path)])
    assert all(one.note for one in document.files)


def test_a_huge_line_is_cut_and_keeps_its_number() -> None:
    long = "alpha:1:2 [0] x.cc:1 NCCL WARN " + "A" * 200_000 + "\n"
    document = told({"a.log": "\n" * 9 + long + log("alpha", completion(12))})
    assert all(len(piece.text) <= LONGEST_TEXT for one in document.findings for piece in one.evidence)
    assert document.findings[0].evidence[0].line == 12


def test_escapes_and_markup_stay_text() -> None:
    line = warn("x.cc:1", "\x1b[31mred\x1b[0m [bold]not bold[/bold] <script>alert(1)</script> \x07")
    text = told({"a.log": log("al\u202epha", line)}).findings[0].evidence[0].text
    assert "\x1b" not in text
    assert "[bold]not bold[/bold] <script>" in text


def test_values_that_could_harm_are_not_put_into_commands() -> None:
    evil = "NCCL_SOCKET_IFNAME set by environment to eth0;rm -rf $(HOME)`x`"
    document = told({"a.log": log("alpha", evil, warn("bootstrap.cc:1", "Bootstrap : no socket interface found"))})
    assert document.verdict == "socket-ifname-not-found"
    assert "rm -rf" not in "".join(document.findings[0].fix) + document.findings[0].cause


PIECES = st.sampled_from(
    [
        *BROKEN.values(),
        gids(("mlx5_0", 3, "10.1.0.5", "v2")),
        links(("mlx5_0", "ACTIVE")),
        "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA=mlx5_0\n",
        log("alpha", modify_qp(110, "Connection timed out", "mlx5_0", "::ffff:10.1.0.5", "::ffff:10.2.0.6")),
        "    1048576   262144   float   sum   -1   61.4   17.0   17.0   16   60.8   17.2   17.2   0\n",
        "3: eno1: <BROADCAST,UP> mtu 1500 qdisc mq state UP\n    inet 10.1.0.5/24 scope global eno1\n",
    ]
)


@pytest.mark.long
@given(st.lists(st.tuples(PIECES, st.integers(0, 400), st.text(max_size=12)), max_size=4))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_no_mixture_of_damaged_files_is_an_error(pieces: list[tuple[str, int, str]]) -> None:
    files = {f"n{at}.txt": text[:cut] + junk + text[cut:] for at, (text, cut, junk) in enumerate(pieces)}
    document = told(files)
    assert document.verdict in ("none", "unknown", *(one.id for one in document.findings))


@given(st.text(max_size=300))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_no_text_is_an_error(text: str) -> None:
    told({"x.log": text, "y.env": text})


def test_only_what_a_log_or_a_dump_tells_of_is_a_files_node(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    for name, text in {
        "6bc5.lock": "",
        "odd.env": "NCCL_DEBUG=WARN\n",
        "scene.json": '{"schema": "fabricdoc/gate/1"}',
        "bravo.log": log("bravo", version("2.28.9"), IB),
        "alpha_rdma_link.txt": links(("mlx5_0", "ACTIVE")),
    }.items():
        (tmp_path / name).write_text(text)
    document = explain_files([str(tmp_path)])
    assert {one.node for one in document.files} == {"", "alpha", "bravo"}
    assert {one.name: one.node for one in document.files}["odd.env"] == ""
