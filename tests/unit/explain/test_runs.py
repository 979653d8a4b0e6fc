"""Two runs of one rank: in two files, below each other in one; and what is one run, or two ranks of one."""

from __future__ import annotations

import pytest

from fabricdoc.explain.runs import MOST_RUNS, Run, runs_of_one_rank
from fabricdoc.explain.seen import Spot
from tests.excerpts import case, log, told, version

pytestmark = pytest.mark.unit

INIT = "ncclCommInitRank comm 0x55 rank {} nranks 2 cudaDev 0 nvmlDev 0 busId 1a000 commId 0x9 - Init COMPLETE"
STUCK = "no output for 40 minutes, killed\n"


def run(number: str, *, host: str = "alpha", rank: int = 0, pid: int = 1) -> str:
    """A start of one rank by one release."""
    return log(host, version(number), INIT.format(rank), pid=pid)


def apart(files: dict[str, str]) -> tuple[Run, Run] | None:
    read = case(files)
    return runs_of_one_rank(read, read.of("version", "version.engine"))


def test_two_files_of_a_rank_by_two_releases_are_two_runs() -> None:
    found = apart({"a.log": run("2.28.9"), "b.log": run("2.30.7")})
    assert found is not None
    assert [one.version.groups["ver"] for one in found] == ["2.28.9", "2.30.7"]
    assert found[0].holds(Spot("a.log", 1, "")) and not found[0].holds(Spot("b.log", 1, ""))


def test_two_runs_below_each_other_in_one_file_end_where_the_other_begins() -> None:
    text = run("2.28.9", pid=1) + STUCK + run("2.30.7", pid=2)
    found = apart({"a.log": text})
    assert found is not None
    assert [(one.start, one.end > 10) for one in found] == [(0, False), (4, True)]
    assert found[0].holds(Spot("a.log", 3, STUCK)) and not found[1].holds(Spot("a.log", 3, STUCK))


@pytest.mark.parametrize(
    "files",
    [
        {"a.log": run("2.28.9"), "b.log": run("2.28.9")},
        {"a.log": run("2.28.9"), "b.log": run("2.30.7", host="bravo", rank=1)},
        {"a.log": run("2.28.9"), "b.log": run("2.30.7", rank=1)},
        {"a.log": run("2.28.9", pid=1) + run("2.30.7", pid=1)},
        {"a.log": run("2.28.9", pid=1)},
        {"a.log": log("alpha", INIT.format(0))},
    ],
    ids=["one release", "two hosts", "two ranks", "one process", "one run", "no release"],
)
def test_what_is_one_run_is_not_two(files: dict[str, str]) -> None:
    assert apart(files) is None


def test_of_very_many_runs_the_first_are_compared() -> None:
    text = "".join(run(f"2.{20 + at % 2}.5", host=f"h{at}", rank=at, pid=at + 1) for at in range(3 * MOST_RUNS))
    assert apart({"a.log": text}) is None


def test_the_build_of_the_run_that_hangs_is_told_from_one_file() -> None:
    document = told({"a.log": run("2.28.9", pid=1) + STUCK + run("2.30.7", pid=2)})
    assert document.verdict == "nccl-build-specific-hang"
    assert document.findings[0].evidence[0].text == STUCK.strip()
