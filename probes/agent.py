"""The one process of ours on a node while a bench runs: loads torch once, forks that node's ranks launch by launch.

Speaks JSON lines over the wire: in hello, launch, join, stop, leftover; out hello, forked, what ranks say (`events`),
expired, state, rank_done, launch_done, leftover. It never touches CUDA and never measures; every launch and every phase
of a rank has a deadline it enforces; when its stdin ends it kills every rank and exits 0. Words it does not know are a
fault of the controller and end it with status 2.
"""

from __future__ import annotations

import os
import platform
import selectors
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from . import leftovers
from .claim import Claim
from .deadlines import limits_for
from .environment import environment
from .forking import fork_rank
from .launches import Launch, unstarted
from .memory import shortage
from .ranks import RankProcess
from .task import Task
from .torch_facts import TorchFacts, count_gpus, load_torch
from .wire import Wire
from .worker import prepare, run_rank

BACKENDS = ("gloo", "nccl")
_TICK_S = 0.1
_GOODBYE_S = 1.5


class Agent:
    """The loop over the wire, the ranks' pipes and SIGCHLD."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._facts: TorchFacts | None = None
        self._launches: dict[int, Launch] = {}
        self._unkillable: list[int] = []
        self._claim = Claim()
        leftovers.adopt()
        self._child_fd = _wake_on_child()
        self._selector = selectors.DefaultSelector()
        self._selector.register(wire.fileno(), selectors.EVENT_READ)
        self._selector.register(self._child_fd, selectors.EVENT_READ)

    def run(self) -> int:
        """Serve until stdin ends (0) or the controller says what is no request (2); no rank outlives it."""
        try:
            while not self._wire.closed:
                self._turn()
        except ValueError as problem:
            sys.stderr.write(f"agent: {problem}\n")
            return 2
        finally:
            self._end_all()
        return 0

    def _turn(self) -> None:
        for key, _ in self._selector.select(_TICK_S if self._launches else None):
            if key.fd == self._wire.fileno():
                for message in self._wire.pump():
                    self._obey(message)
            elif key.fd == self._child_fd:
                os.read(self._child_fd, 4096)
            else:
                self._hear(*key.data)
        for launch in list(self._launches.values()):
            self._look_after(launch)
        self._unkillable = [pid for pid in self._unkillable if os.waitpid(pid, os.WNOHANG)[0] == 0]

    def _obey(self, message: Any) -> None:
        verbs = {"hello": self._hello, "launch": self._launch, "join": self._join, "stop": self._stop}
        verbs["leftover"] = self._leftover
        verb = verbs.get(str(message.get("do"))) if isinstance(message, dict) else None
        if verb is None:
            raise ValueError(f"no such request: {str(message)[:200]}")
        try:
            verb(message)
        except (KeyError, TypeError) as problem:
            raise ValueError(f"request {message['do']} lacks or misuses {problem}") from problem

    def _torch(self) -> TorchFacts:
        if self._facts is None:
            self._facts = load_torch()
        return self._facts

    def _hello(self, message: Mapping[str, Any]) -> None:
        facts = self._torch().as_fields()
        about = {"pid": os.getpid(), "python": platform.python_version(), "executable": sys.executable}
        about["hostname"] = socket.gethostname()
        inherited = environment(os.environ)
        here = {"gpus": count_gpus(), "environment": inherited, "other_agent": self._claim.take()}
        self._wire.write({"event": "hello", **about, **facts, **here})

    def _launch(self, message: Mapping[str, Any]) -> None:
        number = int(message["number"])
        if number in self._launches:
            raise ValueError(f"launch {number} is running already")
        memory = message.get("memory", {})
        least = int(memory.get("while_running", 0))
        launch = self._launches[number] = Launch(number, float(message["deadline_s"]), least)
        refusal = self._refusal(message["backend"])
        refusal = refusal or shortage(int(memory.get("need", 0)), int(memory.get("after_launch", 0)))
        limits = limits_for(message["work"])
        if not refusal:
            launch.look()
            prepare(message["work"], int(message["world"]), [int(place["rank"]) for place in message["ranks"]])
        for place in message["ranks"]:
            problem = refusal or self._start(launch, message, place, limits)
            if problem:
                self._report(launch, unstarted(int(place["rank"]), problem))

    def _refusal(self, backend: str) -> str:
        facts = self._torch()
        if facts.torch is None:
            return f"no torch here: {facts.torch_error}"
        if backend not in BACKENDS or backend not in facts.backends:
            return f"torch {facts.torch} has no backend {backend!r}, only {', '.join(facts.backends) or 'none'}"
        return ""

    def _start(
        self, launch: Launch, message: Mapping[str, Any], place: Mapping[str, Any], limits_s: Mapping[str, float]
    ) -> str:
        """Fork one rank; the reason if the kernel refuses."""
        task = Task(
            number=launch.number,
            backend=message["backend"],
            world=int(message["world"]),
            rank=int(place["rank"]),
            local_rank=int(place["local_rank"]),
            deadline_s=launch.deadline_s,
            started_s=launch.started_s,
            work=message["work"],
        )
        try:
            forked = fork_rank(partial(run_rank, task), message.get("env", {}), message.get("unset", []))
        except OSError as problem:
            return f"could not fork rank {task.rank}: {problem.strerror}"
        rank = RankProcess(task.rank, forked, launch.started_s, limits_s)
        launch.ranks.append(rank)
        launch.born.append((rank.pid, rank.start))
        born = {"rank": rank.rank, "pid": rank.pid, "start": rank.start}
        self._wire.write({"event": "forked", "number": launch.number, **born})
        self._selector.register(rank.events_fd, selectors.EVENT_READ, (launch, rank))
        return ""

    def _join(self, message: Mapping[str, Any]) -> None:
        """Pass on where the store is; a launch that is over needs it no more."""
        launch = self._launches.get(int(message["number"]))
        for rank in launch.ranks if launch else ():
            rank.tell({"address": str(message["address"]), "port": int(message["port"])})

    def _stop(self, message: Mapping[str, Any]) -> None:
        """End the ranks of a launch, where "stacks" is true after each has told where it stands."""
        launch = self._launches.get(int(message["number"]))
        for rank in launch.ranks if launch else ():
            end = rank.end_with_stack if message.get("stacks") is True else rank.end_as
            end("stopped", f"rank {rank.rank} was stopped in {rank.where()}")

    def _leftover(self, message: Mapping[str, Any]) -> None:
        """End what an agent before this one left: its ranks by pid and start time, and what is of their sessions."""
        found = leftovers.left_by([(int(pid), int(start)) for pid, start in message["ranks"]])
        alive = leftovers.end(found)
        self._wire.write({"event": "leftover", "ended": [x.pid for x in found if x.pid not in alive], "alive": alive})

    def _hear(self, launch: Launch, rank: RankProcess) -> None:
        events, more = rank.read()
        if not more:
            self._selector.unregister(rank.events_fd)
        self._forward(launch, events)

    def _forward(self, launch: Launch, events: Sequence[Mapping[str, Any]]) -> None:
        for event in events:
            extra = {key: value for key, value in event.items() if not (event["event"] == "store" and key == "rank")}
            self._wire.write({**extra, "number": launch.number})

    def _look_after(self, launch: Launch) -> None:
        self._expire(launch)
        for rank in list(launch.ranks):
            if launch.starving():
                rank.end_as("failed", f"rank {rank.rank} was ended: this node runs short of memory")
            rank.tick()
            self._forward(launch, rank.reap() or [])
            if rank.status:
                self._finish(launch, rank)
        if launch.looked_at == 1 and launch.measured():
            launch.look()
        if launch.looked() and not launch.ranks:
            self._close(launch)

    def _expire(self, launch: Launch) -> None:
        """End a launch whose time is over, or a rank of which stays too long in a phase: all tell where they stand."""
        if launch.overdue():
            for rank in launch.ranks:
                rank.expire(f"the deadline of {launch.deadline_s:g} s")
            return
        why = launch.ends_others()
        if not why:
            return
        self._wire.write({"event": "expired", "number": launch.number, "reason": why})
        for rank in launch.ranks:
            limit = rank.overdue_s()
            if limit:
                rank.expire(f"its limit of {limit:g} s")
            else:
                rank.end_with_stack("stopped", f"rank {rank.rank} was stopped in {rank.where()}: {why}")

    def _close(self, launch: Launch) -> None:
        """Tell a launch's end, once nothing its ranks started lives on."""
        if launch.looked_at:
            self._wire.write({"event": "state", "number": launch.number, **launch.state()})
        others = [one for one in self._launches.values() if one is not launch]
        known = {pid for one in others for pid in (*(r.pid for r in one.ranks), *(look.pid for look in one.looks))}
        known |= set(self._unkillable)
        sessions = {pid for pid, _ in launch.born}
        strays = leftovers.strays(known, sessions, alone=not others)
        alive = leftovers.end(strays) if strays else []
        self._unkillable += alive
        del self._launches[launch.number]
        left = {"ended": [one.pid for one in strays if one.pid not in alive], "alive": alive}
        self._wire.write({"event": "launch_done", "number": launch.number, "status": launch.status(), **left})

    def _finish(self, launch: Launch, rank: RankProcess) -> None:
        if rank.events_fd in self._selector.get_map():
            self._selector.unregister(rank.events_fd)
        if not rank.reaped:
            self._unkillable.append(rank.pid)
        launch.ranks.remove(rank)
        self._report(launch, rank.report())
        rank.close()

    def _report(self, launch: Launch, report: Mapping[str, Any]) -> None:
        launch.statuses.append(report["status"])
        self._wire.write({**report, "number": launch.number})

    def _end_all(self) -> None:
        """Kill every rank and collect what ends within 1.5 s; the kernel kills the rest when we are gone."""
        ranks = [rank for launch in self._launches.values() for rank in launch.ranks]
        for rank in ranks:
            rank.end_as("stopped", "the controller has gone")
        for look in (look for launch in self._launches.values() for look in launch.looks):
            os.kill(look.pid, signal.SIGKILL)  # never another process's number: it is collected by `finish` alone
        self._selector.unregister(self._wire.fileno())
        end = time.monotonic() + _GOODBYE_S
        while any(not rank.reaped for rank in ranks) and time.monotonic() < end:
            self._selector.select(_TICK_S)
            for rank in ranks:
                rank.reap()


def _wake_on_child() -> int:
    """A descriptor that becomes readable when a child ends (works on kernels without pidfd)."""
    read_fd, write_fd = os.pipe()
    os.set_blocking(read_fd, False)
    os.set_blocking(write_fd, False)
    signal.set_wakeup_fd(write_fd, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    return read_fd


def main(wire: Wire) -> int:
    """Run the agent on this wire. Ctrl-C in the controller's terminal is the controller's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return Agent(wire).run()
