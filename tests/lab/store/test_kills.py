"""Kills at random moments, over every kind of process of a bench: nothing finished is lost, nothing lives on.

A tiny plan with gloo between two lab nodes is begun, struck and taken up again until so many kills were dealt; then it
is let go on to its end. It has many candidates, since one that failed is not launched again: so it outlives many blows.
FABRICDOC_KILLS says how many, FABRICDOC_KILL_SEED which moments.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fabricdoc.lab import Lab
from fabricdoc.model.run import Launch, Run
from fabricdoc.store import RunStore
from tests.lab.marked import Command, namespaces_alive, tiny_profile, wait_until
from tests.procfs import children_if_alive

KILLS = int(os.environ.get("FABRICDOC_KILLS", "50"))
SEED = int(os.environ.get("FABRICDOC_KILL_SEED", "1"))
KINDS = ("bench", "agent", "rank", "any")
CANDIDATES = 'backend = "gloo"\nsummary = "many"\n' + "".join(
    f"""
[[candidate]]
name = "one-{number}"
why = "a test"
source = "this test"
targets = ["none"]
[candidate.variables]
NCCL_BUFFSIZE = "{1048576 + 4096 * number}"
"""
    for number in range(8)
)

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300 + 12 * KILLS)]


def is_agent(pid: int) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"agent" in words


@dataclass
class Sitting:
    """One start of the command, its output drained as it comes."""

    command: Command
    said: list[str] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        streams = ((self.command.process.stderr, self.said), (self.command.process.stdout, self.answer))
        self._drains = [threading.Thread(target=lambda s=s, kept=kept: kept.extend(s)) for s, kept in streams]
        for drain in self._drains:
            drain.start()

    def of_kind(self, kind: str) -> list[int]:
        """Living processes of that kind: ranks are the children of agents, any is any but the bench."""
        bench = self.command.process.pid
        pids = sorted(self.command.pids() - {bench})
        agents = [
            pid
            for pid in pids
            if is_agent(pid) and not any(pid in children_if_alive(one) for one in pids if is_agent(one))
        ]
        ranks = sorted({child for agent in agents for child in children_if_alive(agent)})
        return {"bench": [bench], "agent": agents, "rank": ranks, "any": pids}[kind]

    def begun(self) -> int:
        """How many launches it said to begin."""
        return "".join(self.answer).count('"launch-begins"')

    def finished(self) -> set[int]:
        """The numbers of the launches it said to have ended, and so to have stored."""
        events = [json.loads(line) for line in "".join(self.answer).splitlines(keepends=True) if line.endswith("\n")]
        return {one["launch"]["number"] for one in events if one.get("event") == "launch-ended"}

    def ended(self) -> bool:
        return self.command.process.poll() is not None

    def close(self) -> None:
        """Wait until nothing of it lives."""
        wait_until(lambda: self.ended(), 30, "the bench ends")
        wait_until(lambda: not self.command.pids(), 15, f"processes {self.command.pids()} end")
        for drain in self._drains:
            drain.join(10)


@dataclass
class Siege:
    """The same bench, started and taken up again and again."""

    lab: Lab
    store: Path
    chance: random.Random
    dealt: Counter[str] = field(default_factory=Counter)
    kept: dict[str, tuple[Launch, ...]] = field(default_factory=dict)
    finished: int = 0

    def latest(self) -> Run | None:
        """The run begun last."""
        store = RunStore.open(self.store)
        return store.load() if store.latest_id() else None

    def sit(self) -> Sitting:
        """Begin a run, or take the latest up where it was not ended."""
        run = self.latest()
        if run is not None and run.status == "interrupted":
            words = ["bench", "--json-lines", "--resume", run.id]
        else:
            nodes = ",".join(f"{node.name}={node.target}" for node in self.lab.nodes)
            (self.store.parent / "many.toml").write_text(CANDIDATES)
            here, ports = self.store.parent, ",".join(self.lab.nodes[0].ports)
            words = ["bench", "--json-lines", "--nodes", nodes, "--ports", ports, "--backend", "gloo", "--profile",
                     tiny_profile(here), "--candidates", str(here / "many.toml"), "--sizes", "8",
                     "--blocks", "1"]  # fmt: skip
        return Sitting(Command([*words, "--store", str(self.store)], XDG_STATE_HOME=str(self.store.parent)))

    def strike(self, sitting: Sitting, kills: int) -> None:
        """Deal some kills to its children and the last one to the bench itself, at random moments.

        Four sittings of five are left alone until their second launch begins (a run whose base fails at once is over);
        in the others even the start is struck.
        """
        weights = [0, 0, 0, 1]
        if self.chance.random() < 0.8:
            weights = [0, 1, 3, 1]
            wait_until(lambda: sitting.ended() or sitting.begun() > 1, 120, "the second launch begins")
        for _ in range(self.chance.randint(5, 14)):
            if sum(self.dealt.values()) >= kills - 1 or sitting.ended():
                break
            time.sleep(self.chance.uniform(0.1, 0.8))
            self._kill(sitting, self.chance.choices(KINDS, weights=weights)[0])
        time.sleep(self.chance.uniform(0.0, 0.8))
        self._kill(sitting, "bench")

    def _kill(self, sitting: Sitting, kind: str) -> None:
        """One process of that kind, as soon as there is one."""
        end = time.monotonic() + 30
        while not sitting.ended() and time.monotonic() < end:
            try:
                os.kill(self.chance.choice(sitting.of_kind(kind)), signal.SIGKILL)
            except (IndexError, ProcessLookupError):
                time.sleep(0.02)
                continue
            self.dealt[kind] += 1
            return

    def check(self, sitting: Sitting, before: int) -> None:
        """Nothing that was stored changed, and all that was finished is stored."""
        run = self.latest()
        if run is None:
            return
        earlier = self.kept.get(run.id, ())
        assert run.launches[: len(earlier)] == earlier
        assert [launch.number for launch in run.launches] == list(range(1, len(run.launches) + 1))
        places = Counter((one.round, one.block, one.position) for one in run.launches)
        assert max(places.values(), default=0) <= 1
        if run.id in self.kept or before == 0:
            assert sitting.finished() <= {launch.number for launch in run.launches}, "".join(sitting.said[-20:])
        self.finished += len(run.launches) - len(earlier)
        self.kept[run.id] = run.launches


def test_no_finished_launch_is_lost_nothing_lives_on_and_it_can_be_taken_up_to_its_end(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="a bench launch needs torch")
    nodes = {str(Path(f"/proc/{node.pid}/ns/net").readlink()) for node in lab.nodes}
    siege, sittings, began = Siege(lab, tmp_path / "runs.sqlite", random.Random(SEED)), 0, time.monotonic()
    while sum(siege.dealt.values()) < KILLS:
        sitting, sittings = siege.sit(), sittings + 1
        assert sittings < 10 + KILLS, "".join(sitting.said[-20:])
        siege.strike(sitting, KILLS)
        sitting.close()
        assert sitting.command.process.returncode != 2, "".join(sitting.said)
        siege.check(sitting, len(siege.kept))
        assert namespaces_alive(nodes) == nodes
    last = siege.sit()
    wait_until(lambda: last.ended(), 240, "the run comes to its end")
    last.close()
    run = siege.latest()
    assert run is not None
    assert run.status == "complete", "".join(last.said[-20:])
    assert json.loads("".join(last.answer).splitlines()[-1])["schema"].startswith("fabricdoc/verdict/")
    with capsys.disabled():
        told = ", ".join(f"{kind} {count}" for kind, count in sorted(siege.dealt.items()))
        seconds = time.monotonic() - began
        print(f" kills: {told}; {sittings} sittings, {siege.finished} launches kept, {seconds:.0f} s")
