"""What a gate has to explain: the comparisons that aren't ok, what is explained already, how a finding is made.

Shared by `causes` and `drift`; decides nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabricdoc.gate.commands import node_options
from fabricdoc.gate.compared import Compared
from fabricdoc.gate.ports import NOBODY, ONE_WAY
from fabricdoc.model.findings import Evidence, Finding, Severity


@dataclass(frozen=True)
class Case:
    """All comparisons of a gate that aren't ok, and what commands are made of.

    `nodes` as `--nodes` takes them, by name; `ports` as options for ports that beacons need named; `bench` is the
    command that measures again.
    """

    differing: tuple[Compared, ...]
    unknown: tuple[Compared, ...]
    nodes: Mapping[str, str]
    ports: tuple[str, ...]
    bench: str

    def of(self, *ids: str) -> list[Compared]:
        """The differing comparisons with one of these ids."""
        return [compared for compared in self.differing if compared.id in ids]


def explained(case: Case) -> set[str]:
    """Ports ("node/netdev") whose silence has a cause already: gone, without carrier, or cabled elsewhere."""
    places = {one.place for one in case.of("port", "carrier")}
    return places | {one.place for one in case.of("peer") if meets_another(one)}


def meets_another(one: Compared) -> bool:
    """Whether a peer comparison saw another port than the recorded one (rather than nobody, or one way only)."""
    return one.seen != NOBODY and one.note != ONE_WAY


def look_again(case: Case, members: Sequence[Compared], what: str) -> list[str]:
    """`what`, and the scan that shows whether it helped."""
    return [what, shlex.join(["fabricdoc", "scan", *node_options(case.nodes[one.node] for one in members)])]


def finding_of(
    id: str, members: Sequence[Compared], cause: str, fixes: Sequence[str], severity: Severity = "error"
) -> Finding:
    """A finding about these comparisons: they are its subject and its evidence."""
    evidence = tuple(
        Evidence(file=one.node, text=f"{one.port} {one.id}: was {one.expected}, is {one.seen}".strip())
        for one in members
    )
    subject = ", ".join(dict.fromkeys(one.place for one in members))
    return Finding(id=id, severity=severity, subject=subject, evidence=evidence, cause=cause, fix=tuple(fixes))
