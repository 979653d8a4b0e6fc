"""The gate's full level: bandwidth over each rail and over all of them, in both directions, pair by pair.

Many nodes are tested in rounds of pairs that run at the same time; what failed is tested again with proven-good
partners before a node is blamed. What a rate means is `gate_bandwidth`'s, who is to blame `suspects`'.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from statistics import median

from fabricdoc.bench import Agents, Errand, base_candidate, run_side_by_side
from fabricdoc.fabric import Rail, at_most
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Evidence
from fabricdoc.model.gate import GateCheck
from fabricdoc.model.preset import Preset
from fabricdoc.model.run import Launch, Plan, Shape
from fabricdoc.workflow.checking import Added, Asked, preset_asked
from fabricdoc.workflow.gate_all_reduce import BANDWIDTH, Progress, Trial
from fabricdoc.workflow.gate_bandwidth import (
    ALL,
    NODE,
    Flow,
    Judged,
    Leg,
    check_of,
    flow_of,
    ill_node,
    judged,
    slow_legs,
    wire_gbps,
)
from fabricdoc.workflow.gate_launches import (
    candidate_of,
    errand,
    limits,
    measured,
    meeting_address,
    plan_between,
    preset_rails,
)
from fabricdoc.workflow.gate_looking import gate_nodes
from fabricdoc.workflow.gate_smoke import split, within_deadline
from fabricdoc.workflow.gate_smoke_answers import (
    Answer,
    Tried,
    check,
    finding,
    latency_answers,
    launch_failed,
    of_the_gpu,
)
from fabricdoc.workflow.gate_time import LEAST_S, Found, is_over, launch_s, not_done, was_cut
from fabricdoc.workflow.pair_rounds import Pair, rounds_of
from fabricdoc.workflow.suspects import Blame, blame, retests

MOST_CHECKS = 512
MOST_SHOWN = 8
LARGEST = 64 << 20


def deepen(asked: Asked, fabric: Fabric, progress: Progress) -> Added:
    """What the smoke and the full level add to a quick gate that said go, by the same agents."""
    trial = Trial(preset_asked(asked), gate_nodes(asked), fabric, progress)

    def deeper(agents: Agents, pinged: Fabric) -> Found:
        return full(agents, trial.preset, pinged, progress, trial.nodes)

    return within_deadline(asked, trial, deeper)


def full(agents: Agents, preset: Preset, fabric: Fabric, progress: Progress, nodes: str) -> Found:
    """All checks of the level and the causes of those that do not hold; `nodes` as `--nodes` takes them.

    It ends within the data's limit and what is left of the whole gate's time. NodeError where agents that need
    variables of their own do not start.
    """
    names, data = [node.name for node in preset.nodes], limits()["full"]
    rounds = rounds_of(names, int(data["rounds"]))
    whole = float(data["seconds"]["all"]) + float(data["seconds"]["round"]) * max(0, len(rounds) - 1)
    hurried = at_most(whole) < whole
    tournament = Tournament(preset, fabric, progress, time.monotonic() + at_most(whole), hurried)
    candidate = candidate_of(preset, names)
    if candidate.fresh_agent:
        agents.restart(candidate.node_variables)
    tournament.meet(agents, rounds)
    return told(tournament, nodes)


@dataclass
class Tournament:
    """What was launched so far. `end` is the monotonic time by which all must be over, `hurried` that it is the gate's.

    `left` are the legs for which no time was left, `cut` why launches of such were ended before their own limit; `died`
    are the launches that a GPU ended: they say nothing of a link.
    """

    preset: Preset
    fabric: Fabric
    progress: Progress
    end: float
    hurried: bool = False
    flows: list[Flow] = field(default_factory=list)
    left: list[Leg] = field(default_factory=list)
    cut: list[Evidence] = field(default_factory=list)
    died: list[tuple[Errand, Launch]] = field(default_factory=list)
    blamed: Blame = field(default_factory=Blame)
    errands: list[Errand] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)

    def meet(self, agents: Agents, rounds: Sequence[Sequence[Pair]]) -> None:
        """The rounds in order, single rails until everybody has had them; then what failed again."""
        first = 1 + len(self.preset.nodes) % 2  # of an odd number one rests in each round
        for at, pairs in enumerate(rounds):
            self.progress(f"bandwidth between {len(pairs)} pair{'s' if len(pairs) != 1 else ''} of nodes")
            self._round(agents, [self.legs(pair, rails=at < first) for pair in pairs])
        self._second_look(agents)

    def judged(self) -> list[Judged]:
        """Everything that was launched so far, held against the best of it."""
        return judged(self.flows, self.preset.backend)

    def _second_look(self, agents: Agents) -> None:
        """Suspects with proven-good partners; then the slow legs between nodes of which none is to blame, once more."""
        first = passed(self.judged())
        if all(first.values()):
            return
        self.progress("slower than it should be: tested again")
        since = len(self.flows)
        for pairs in retests(first):
            self._round(agents, [self.legs(pair, rails=True) for pair in pairs])
        again = passed(self.judged()[since:])
        self.blamed = blame(first, {pair: again[pair] for one in retests(first) for pair in one if pair in again})
        self._round(agents, [[leg] for leg in self._unexplained()], alone=True)

    def _unexplained(self) -> list[Leg]:
        """The slow legs between nodes of which neither is to blame."""
        pairs = {frozenset(pair) for pair in (*self.blamed.pairs, *self.blamed.open)}
        return [
            one.flow.leg for one in best_of(self.judged()) if not one.good and frozenset(one.flow.leg.pair) in pairs
        ]

    def _round(self, agents: Agents, pairs: Sequence[Sequence[Leg]], *, alone: bool = False) -> None:
        """The first leg of every pair at the same time, then the second, and so on; `alone`: one after another."""
        for wave in [[leg] for legs in pairs for leg in legs] if alone else _waves(pairs):
            if self.end <= time.monotonic() or is_over():
                self.left += wave
                continue
            patience = self.patience()
            errands = [self._errand(leg, len(self.errands) + at) for at, leg in enumerate(wave, start=1)]
            launches = run_side_by_side(agents, errands)
            for leg, one, launch in zip(wave, errands, launches, strict=True):
                if of_the_gpu(launch):
                    self.died.append((one, launch))
                else:
                    self._take(leg, launch, cut=was_cut(launch, one.plan.launch_deadline_s, patience))
            self.errands += errands
            self.launches += launches

    def _take(self, leg: Leg, launch: Launch, *, cut: bool) -> None:
        """What the launch of a leg came to; one that was ended for the time that was left says nothing of it."""
        if cut:
            self.left.append(leg)
            self.cut.append(Evidence(file=leg.sender, text=f"{leg.subject}: {launch.reason or launch.status}"[:400]))
        else:
            self.flows.append(flow_of(leg, launch))

    def legs(self, pair: Pair, *, rails: bool) -> list[Leg]:
        """What is measured between two nodes: each rail of the preset both ways, then all of them both ways.

        All rails are held against the best one's wire: what they could carry together hangs on what they share.
        """
        known = self.rails(pair)
        if len(known) == 1:
            return list(self._both_ways(pair, 0, known[0]))
        single = [leg for at, rail in enumerate(known) for leg in self._both_ways(pair, at, rail)] if rails else []
        wire = max(filter(None, (wire_gbps(self.fabric, rail) for rail in known)), default=None)
        return [*single, *(Leg(*way, wire_gbps=wire) for way in (pair, pair[::-1]))]

    def rails(self, pair: Pair) -> tuple[Rail, ...]:
        """The preset's rails between these two."""
        return preset_rails(self.preset, self.fabric, pair)

    def _both_ways(self, pair: Pair, at: int, rail: Rail) -> Iterator[Leg]:
        wire = wire_gbps(self.fabric, rail)
        for sender, receiver in (pair, pair[::-1]):
            ports = (rail.port(sender).netdev, rail.port(receiver).netdev)
            yield Leg(sender, receiver, at, ports, wire)

    def _errand(self, leg: Leg, number: int) -> Errand:
        known, over = self.rails(leg.pair), {}
        if leg.rail is not None and len(known) > 1:
            over = base_candidate(self.preset.backend, [known[leg.rail]], leg.pair, single=True).node_variables
        data = limits()["full"]
        plan = self.plan(leg.pair, self.shapes(whole=leg.rail is None or len(known) == 1))
        candidate = candidate_of(self.preset, leg.pair, over)
        master = meeting_address(self.preset, self.fabric, leg.pair)
        return errand(plan, candidate, number, master, {"calls": data["calls"], "warmup": data["warmup"]})

    def plan(self, pair: Pair, shapes: Sequence[Shape]) -> Plan:
        """A plan between two nodes that ends in the time that is left."""
        limit = max(LEAST_S, min(launch_s(self.patience()), self.end - time.monotonic()))
        return plan_between(self.preset, self.fabric, pair, shapes, ("throughput",), limit)

    def patience(self) -> float:
        """The seconds that a launch may take by itself.

        Once others came to their end, no launch takes many times as long: the time is for those that are tested again.
        """
        seconds = limits()["full"]["seconds"]
        usual = [one.seconds for one in self.launches if one.status == "ok"]
        times = max(float(seconds["least"]), float(seconds["times"]) * median(usual)) if usual else inf
        return min(float(seconds["launch"]), times)

    def shapes(self, *, whole: bool) -> list[Shape]:
        """One message one way; between the preset's only two nodes, over all its rails, also what was measured."""
        one = Shape(op="broadcast", size=int(limits()["full"]["size"][self.preset.backend]))
        known = [each for each in measured(self.preset, "all_reduce") if each.view == "throughput"]
        largest = max((each for each in known if each.size <= LARGEST), key=lambda each: each.size, default=None)
        if not whole or largest is None or len(self.preset.nodes) != 2:
            return [one]
        return [one, Shape(op="all_reduce", size=largest.size, dtype=largest.dtype, in_place=largest.in_place)]


def _waves(pairs: Iterable[Sequence[Leg]]) -> Iterator[list[Leg]]:
    """The k-th leg of every pair together."""
    waiting = [list(legs) for legs in pairs]
    for at in range(max((len(legs) for legs in waiting), default=0)):
        yield [legs[at] for legs in waiting if at < len(legs)]


def passed(every: Sequence[Judged]) -> dict[Pair, bool]:
    """Whether every leg between two nodes was good, by the pair in the order in which it first came."""
    found: dict[Pair, bool] = {}
    for one in every:
        pair = one.flow.leg.pair
        key = pair[::-1] if pair[::-1] in found else pair
        found[key] = found.get(key, True) and one.good
    return found


def told(tournament: Tournament, nodes: str) -> Found:
    """The checks and findings of all that was launched."""
    every = tournament.judged()
    best = best_of(every)
    bad = [one for one in best if not one.good]
    answers: list[Answer] = [(check_of(one), None) for one in (best if len(best) <= MOST_CHECKS else bad[:MOST_CHECKS])]
    for name in tournament.blamed.nodes:
        mine = [one for one in every if name in one.flow.leg.pair and not one.good]
        answers.append((_node_check(name, mine), ill_node(name, mine, nodes)))
    for pair in (*tournament.blamed.pairs, *tournament.blamed.open):
        members = [one for one in bad if set(one.flow.leg.pair) == set(pair)]
        answers += [(check_of(kind[0]), slow_legs(kind, nodes)) for kind in _kinds(members)]
    answers += [launch_failed(Tried(tournament.preset, one.plan, (it,), nodes)) for one, it in tournament.died]
    answers += _against_measured(tournament, nodes) if not bad else []
    return split(_once([*answers, *_cut_short(tournament)]))


def _kinds(members: Sequence[Judged]) -> list[list[Judged]]:
    """Slow legs rail by rail, both directions one cause; those over all rails only where no single rail is slow."""
    rails: dict[tuple[int | None, frozenset[str]], list[Judged]] = {}
    for one in members:
        rails.setdefault((one.flow.leg.rail, frozenset(one.flow.leg.pair)), []).append(one)
    single = [kind for (rail, _), kind in rails.items() if rail is not None]
    return single or list(rails.values())


def best_of(every: Sequence[Judged]) -> list[Judged]:
    """Of each leg the best time it was launched."""
    best: dict[tuple[str, str, int | None], Judged] = {}
    for one in every:
        key = (one.flow.leg.sender, one.flow.leg.receiver, one.flow.leg.rail)
        if key not in best or (one.flow.gbps or 0.0) > (best[key].flow.gbps or 0.0):
            best[key] = one
    return list(best.values())


def _node_check(name: str, mine: Sequence[Judged]) -> GateCheck:
    worst = min(mine, key=lambda one: one.flow.gbps or 0.0)
    return check_of(worst).model_copy(update={"id": NODE, "node": name})


def _against_measured(tournament: Tournament, nodes: str) -> Iterator[Answer]:
    """The all-reduce of the launches over all rails, held against the preset's own times."""
    at = [
        number for number, launch in enumerate(tournament.launches) if any(c.op == "all_reduce" for c in launch.cells)
    ]
    if at:
        launches = tuple(tournament.launches[number] for number in at)
        yield from latency_answers(Tried(tournament.preset, tournament.errands[at[0]].plan, launches, nodes, True), ALL)


def _cut_short(tournament: Tournament) -> Iterator[Answer]:
    """Legs for which no time was left: it could not be told."""
    if tournament.left:
        first, count = tournament.left[0], len(tournament.left)
        why = f"no time was left for {count} of the tests, {first.sender} to {first.receiver} first"
        fix = ["gate fewer nodes at once with --nodes, or leave out --level full"]
        found = finding(ALL, first.sender, why, fix, tournament.cut[:MOST_SHOWN], "warning")
        yield check(ALL, first.sender, first.subject, "measured", f"unknown: {why}", "unknown"), found
        if tournament.hurried:
            yield not_done(f"{BANDWIDTH} ({count} of {count + len(tournament.flows)} tests)"), None


def _once(answers: Sequence[Answer]) -> list[Answer]:
    """Each check once; the one that came with a finding counts."""
    found: dict[tuple[str, str, str], Answer] = {}
    for one, cause in answers:
        key = (one.id, one.node, one.note)
        if key not in found or cause is not None:
            found[key] = (one, cause)
    return list(found.values())
