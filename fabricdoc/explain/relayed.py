"""NCCL's last warning inside an engine's own message, as XLA passes it on: in quotes, without NCCL's front.

What NCCL itself printed is the log reader's matter; PyTorch's `Last error:` is too. Judges nothing.
"""

from __future__ import annotations

import re

from fabricdoc.explain.seen import Material, Seen, Spot
from fabricdoc.nccl import LogReader, clean, load_rules

NEEDLE = "Last NCCL warning"
MOST = 40
_RELAYED = re.compile(r"Last NCCL warning\(error\)[^'\n]{0,60}'(?P<said>[^'\n]{1,400})'")


def read_relayed(material: Material, lines: list[str]) -> None:
    """Add the warnings that an engine passes on to `material`, at most MOST of them."""
    uses = {rule.event: rule.use for rule in load_rules()}
    found = 0
    for number, line in enumerate(lines, 1):
        match = _RELAYED.search(line) if NEEDLE in line else None
        if match is None or found >= MOST:
            continue
        found += 1
        spot = Spot(material.name, number, clean(line))
        for event in LogReader(f"engine:1:1 [0] engine.cc:1 NCCL WARN {match['said']}"):
            use = uses.get(event.name, "event")
            material.seen.append(Seen(event.name, spot, event.groups, use, event.level, event.message))
