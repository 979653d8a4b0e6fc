"""The fuzzer of explain: it finds what it is for, the same from the same number; the seeds it left do no harm."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import pytest

from fabricdoc.explain import explain_files
from fabricdoc.explain.headings import pieces_of
from fabricdoc.nccl import LogReader
from tests.benchmarks.fuzz_explain import PART, Fuzzer, Watch, beginnings, changed, explained, fewest, joined, parted
from tests.unit.house.house import TREE

pytestmark = pytest.mark.unit

SEEDS = sorted((TREE / "tests" / "fixtures" / "explain_seeds").iterdir())
MOST_BYTES = 200_000
LINE = "n1:1:1 [0] NCCL INFO Using network IB\n"


def read(text: str) -> None:
    assert LogReader(text).lines == 0
    list(LogReader(text))


def steps(runs: int) -> Fuzzer:
    fuzzer = Fuzzer(random.Random(7), target=read)
    fuzzer.try_one(LINE * 3)
    fuzzer.run(lambda: fuzzer.runs >= runs)
    return fuzzer


def test_it_reaches_more_than_it_began_with_and_the_same_every_time() -> None:
    steps(25)  # what is loaded once is loaded now
    one, other = steps(25), steps(25)
    assert len(one.seeds) > 1
    assert (one.seeds, one.wrong) == (other.seeds, [])


def test_a_crash_is_saved_once_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def breaks(text: str) -> None:
        if "ESCAPE" in text:
            raise ValueError("bad")

    fuzzer = Fuzzer(random.Random(1), tmp_path, breaks)
    for text in ("fine", "an ESCAPE", "another ESCAPE"):
        fuzzer.try_one(text)
    assert [kind for kind, _why, _text in fuzzer.wrong] == ["crashes", "crashes"]
    (saved,) = (tmp_path / "crashes").iterdir()
    assert saved.read_text() == "an ESCAPE"
    assert "ValueError: bad at test_fuzz.py:" in capsys.readouterr().err


def test_a_hang_is_ended_and_saved(tmp_path: Path) -> None:
    def hangs(_text: str) -> None:
        while True:
            pass

    fuzzer = Fuzzer(random.Random(1), tmp_path, hangs, longest_s=0.1)
    fuzzer.try_one("x")
    assert [kind for kind, _why, _text in fuzzer.wrong] == ["hangs"]
    assert len(list((tmp_path / "hangs").iterdir())) == 1


@pytest.mark.parametrize(("power", "wrong"), [(1, False), (2, True)])
def test_time_that_grows_with_the_square_is_told(monkeypatch: pytest.MonkeyPatch, power: int, wrong: bool) -> None:
    spent = [0.0]

    def takes(text: str) -> None:
        spent[0] += 0.1 * (text.count("\n") / 10) ** power

    monkeypatch.setattr(time, "process_time", lambda: spent[0])
    fuzzer = Fuzzer(random.Random(1), target=takes)
    assert fuzzer.grows("name\n" + "line\n" * 10) is wrong
    assert [kind for kind, _why, _text in fuzzer.wrong] == (["growth"] if wrong else [])


def test_edges_of_the_watched_rooms_are_seen_and_no_others() -> None:
    tracing = sys.gettrace()
    with Watch() as watch:
        pieces_of(["### node1"], ())
    assert {Path(code.co_filename).name for code, _from, _to in watch.edges} >= {"headings.py"}
    assert all("fabricdoc" in code.co_filename for code, _from, _to in watch.edges)
    before = set(watch.edges)
    with watch:
        pieces_of(["### node1", "### node2", "==> spark1/a.txt <=="], ())
    assert watch.edges - before and sys.gettrace() is tracing


def test_files_go_into_an_input_and_come_back_with_safe_names() -> None:
    files = [("a.log", "x\ny\n"), ("b.env", "NCCL_NET=IB\n")]
    assert parted(joined(files)) == files
    assert parted(f"{PART}../../etc/x y\ntext") == [("etcxy", "text")]
    assert parted("no name at all") == [("file0.log", "no name at all")]


def test_every_change_gives_a_text_whatever_it_is_made_from() -> None:
    chance = random.Random(3)
    for text in ("", "\n", "a", LINE, PART):
        for _ in range(200):
            assert isinstance(changed(chance, text, ["", LINE]), str)


def test_it_begins_with_files_and_with_folders_of_files(tmp_path: Path) -> None:
    for name in ("a/one.log", "a/two.env", "b/only.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    found = beginnings([tmp_path])
    assert joined([("one.log", "a/one.log"), ("two.env", "a/two.env")]) in found and len(found) == 4


def test_the_fewest_seeds_reach_what_all_do() -> None:
    fuzzer = steps(40)
    kept = fewest(fuzzer, 10_000)
    assert 0 < len(kept) <= len(fuzzer.seeds)
    assert sum(map(len, kept)) <= 10_000


def test_the_whole_of_explain_is_its_target() -> None:
    explained(joined([("a.log", LINE), ("b.env", "NCCL_IB_HCA==mlx5_0\n")]))


def test_the_seeds_are_few() -> None:
    assert len(SEEDS) >= 20
    assert sum(path.stat().st_size for path in SEEDS) < MOST_BYTES


@pytest.mark.parametrize("part", range(8))
def test_what_the_fuzzer_kept_is_explained_without_harm(part: int, tmp_path: Path) -> None:
    for path in SEEDS[part::8]:
        text = path.read_bytes().decode("utf-8", "surrogatepass")
        explained(text)
        (tmp_path / "a.log").write_bytes(text.encode("utf-8", "surrogatepass"))
        assert explain_files([str(tmp_path / "a.log")]).files
