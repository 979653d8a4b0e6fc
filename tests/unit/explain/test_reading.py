"""Files read into a case: nodes under one name, notes, long files, stdin."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

from fabricdoc.errors import InputError
from fabricdoc.explain import sources
from fabricdoc.explain.files import Given, listed
from fabricdoc.explain.reading import case_of, read_case, read_file
from fabricdoc.explain.seen import Material
from fabricdoc.explain.sources import opened
from tests.excerpts import case, gids, links, log, using

pytestmark = pytest.mark.unit


def test_a_file_of_one_host_is_of_the_node_in_its_name() -> None:
    made = case({"alpha.log": log("host-17", using("mlx5_0"))})
    assert made.nodes == ["alpha"]


def test_a_host_that_other_files_are_named_by_wins() -> None:
    made = case({"head.log": log("spark1.lan", using("mlx5_0")), "spark1_rdma_link.txt": links(("mlx5_0", "ACTIVE"))})
    assert made.nodes == ["spark1"]


def test_a_dump_is_of_the_host_that_its_name_holds() -> None:
    made = case(
        {"pod_a.log": log("pod-a", using("mlx5_0")), "pod_a_show_gids.txt": gids(("mlx5_0", 3, "10.1.0.5", "v2"))}
    )
    assert made.nodes == ["pod-a"]
    assert {fact.spot.node for fact in made.facts} == {"pod-a"}


def test_a_file_that_says_more_than_the_host_keeps_its_own_name() -> None:
    made = case({"gpu.east.log": log("gpu", using("mlx5_0")), "gpu.west.log": log("gpu", using("mlx5_0"))})
    assert made.nodes == ["gpu.east", "gpu.west"]


def test_several_hosts_in_one_file_are_several_nodes() -> None:
    made = case({"all.log": log("alpha", using("mlx5_0")) + log("bravo", using("mlx5_0"))})
    assert made.nodes == ["alpha", "bravo"]


def test_a_dump_that_names_nobody_may_be_anybodys() -> None:
    made = case({"alpha.log": log("alpha", using("mlx5_0")), "show_gids.txt": gids(("mlx5_0", 3, "10.1.0.5", "v2"))})
    assert {fact.spot.node for fact in made.facts} == {""}
    assert made.value("NCCL_IB_HCA", "alpha") is None


def test_what_can_not_be_read_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "x.bz2"
    path.write_bytes(b"BZh91AY&SY" + b"0" * 50)
    assert "bzip2 is not read" in read_file(Given(path, "x.bz2")).note


def test_a_long_file_is_read_as_a_log_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "SHORT", 1000)
    (tmp_path / "a.log").write_text(
        log("alpha", *["Using network IB"] * 100) + "NCCL_DEBUG=INFO\n" + log("alpha", using("mlx5_0"))
    )
    made = read_case(listed([str(tmp_path)]))
    assert made.files[0].lines == 102
    assert {one.event for one in made.seen} == {"net.used", "ib.using"}
    assert made.sets == []


@pytest.mark.parametrize(("text", "noted"), [("NCCL_X=1\n" * 120_000, True), ("NCCL_X=1\n" * 100, False)])
def test_what_is_too_long_for_settings_is_noted(tmp_path: Path, text: str, noted: bool) -> None:
    (tmp_path / "a.env").write_text(text)
    material = read_file(Given(tmp_path / "a.env", "a.env"))
    assert ("longer than 1 MiB" in material.note) is noted
    assert bool(material.sets) is not noted


def test_a_log_of_any_length_needs_no_note(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(log("alpha", *["Using network IB"] * 30_000))
    assert read_file(Given(tmp_path / "a.log", "a.log")).note == ""


class Counted(Material):
    """A file's material that counts how often it is asked for anything."""

    asked = 0

    def __getattribute__(self, name: str) -> object:
        Counted.asked += 1
        return super().__getattribute__(name)


def asked_for(count: int, *, hosts: bool) -> int:
    """How often all of so many files' materials are asked while they are put together."""
    made: list[Material] = []
    for at in range(count):
        made.append(Counted(f"node{at}_show_gids.txt", f"node{at}"))
        if hosts:
            made[-1].hosts[f"node{at}" if at % 2 else f"other{at}"] = None
    Counted.asked = 0
    case_of(made)
    return Counted.asked


@pytest.mark.parametrize("hosts", [False, True])
def test_the_work_for_many_files_grows_with_their_number_alone(hosts: bool) -> None:
    assert asked_for(400, hosts=hosts) <= 5 * asked_for(100, hosts=hosts)


def test_of_hosts_in_a_file_s_name_the_longest_is_meant() -> None:
    speaking = log("gpu-a", using("mlx5_0")) + log("gpu-a-2", using("mlx5_0"))
    made = case({"all.log": speaking, "gpu_a_2_show_gids.txt": gids(("mlx5_0", 3, "10.1.0.5", "v2"))})
    assert {fact.spot.node for fact in made.facts} == {"gpu-a-2"}


def test_a_compressed_file_is_short_or_long_by_what_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(b"x\n" * 10))
    assert opened(Given(path, "a")).whole == "x\n" * 10


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\x7fELF" + bytes(500))
    with pytest.raises(InputError, match="binary"):
        opened(Given(path, "x"))


def test_stdin_is_read_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(log("alpha", using("mlx5_0")).encode())))
    assert read_file(Given(None, "-")).hosts == {"alpha": None}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x" * 100)))
    monkeypatch.setattr(sources, "MOST_STDIN", 10)
    assert "stdin holds more" in read_file(Given(None, "-")).note


def test_a_log_called_by_a_letter_is_of_the_host_that_speaks_in_it() -> None:
    made = case({"a.log": log("spark1", "Using network IB"), "b.log": log("spark2", "Using network IB")})
    assert made.nodes == ["spark1", "spark2"]


def test_a_letter_that_dumps_are_called_by_too_is_a_node() -> None:
    made = case({"a.log": log("spark1", "Using network IB"), "a_show_gids.txt": gids(("mlx5_0", 3, "10.1.0.5", "v2"))})
    assert made.nodes == ["a"]
