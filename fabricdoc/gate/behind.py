"""Which finding stands behind a check: found by place and by evidence, so that a thousand nodes take no longer each.

A finding is about a check when its evidence is that very comparison (see `case.finding_of`), or when its subject is the
check's place or node. Judges nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from fabricdoc.gate.catalogue import kind_of
from fabricdoc.model.findings import Finding
from fabricdoc.model.gate import GateCheck


class Behind:
    """The findings of a gate, ready to be asked for those of one check after another."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self._findings = tuple(findings)
        self._subjects = [frozenset(one.subject.split(", ")) for one in findings]
        self._named: dict[tuple[str, str], set[int]] = defaultdict(set)
        self._about: dict[str, set[int]] = defaultdict(set)
        self._of_node: dict[str, set[int]] = defaultdict(set)
        for at, one in enumerate(findings):
            for line in one.evidence:
                self._named[line.file, line.text.partition(":")[0]].add(at)
            for subject in self._subjects[at]:
                place = subject.partition(":")[0]
                self._about[place].add(at)
                self._of_node[place.partition("/")[0]].add(at)

    def find(self, check: GateCheck) -> Finding | None:
        """The finding behind a check: that which names it, else one of its row, of its place before its node's."""
        own, named = kind_of(check.id).findings, self._naming(check)
        about = sorted(named | self._those_about(check))

        def rank(at: int) -> tuple[bool, bool, bool]:
            return at in named, self._findings[at].id in own, check.place in self._subjects[at]

        best = max(about, key=rank, default=None)
        return None if best is None else self._findings[best]

    def names(self, finding: Finding, check: GateCheck) -> bool:
        """Whether a line of the finding's evidence is this very comparison."""
        return any(self._findings[at] is finding for at in self._naming(check))

    def _naming(self, check: GateCheck) -> set[int]:
        return self._named.get((check.node, f"{check.port} {check.id}".strip()), set())

    def _those_about(self, check: GateCheck) -> set[int]:
        if not check.node:
            return set(range(len(self._findings)))
        found = self._about.get(check.place, set()) | self._about.get(check.node, set())
        return found if check.port else found | self._of_node.get(check.node, set())
