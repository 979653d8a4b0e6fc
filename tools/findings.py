"""Write docs/findings.md: every finding id with its meaning and the command that finds it, from presets/findings.csv.

    tools/run run tools/findings.py            write it
    tools/run run tools/findings.py --check    exit 1 when the committed page is not current

An id that no room of fabricdoc names yet is left out. Nothing here is read at run time.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from fabricdoc.checks import load_catalogue

TREE = Path(__file__).resolve().parent.parent
PAGE = TREE / "docs" / "findings.md"
# The command that shows what a room finds, in the order of a user's work.
COMMANDS = {
    "checks": "scan",
    "fabric": "scan, cables",
    "dumps": "scan --from",
    "workflow": "scan",
    "gate": "gate",
    "nccl": "lint",
}
ONE_WORD = {"nccl": {"contradiction"}}  # ids of one word, which elsewhere are only words
HEAD = """# Findings

Every id a command may answer with. Ids are stable: scripts and tickets can name them. Severity, evidence, cause and fix
come with each finding, since they depend on the nodes. This page is written by `make schemas` from
`presets/findings.csv`.
"""


def finders() -> dict[str, list[str]]:
    """Id -> commands whose rooms name it in their source, in the order of `COMMANDS`."""
    named: dict[str, list[str]] = {}
    for room, command in COMMANDS.items():
        text = "\n".join(path.read_text() for path in _modules(room))
        text += "\n".join(path.read_text() for path in sorted((TREE / "presets").rglob("*.toml"))) * (room == "checks")
        for word in set(re.findall(r"[\"']([a-z0-9]+(?:-[a-z0-9]+)+)[\"']", text)) | ONE_WORD.get(room, set()):
            named.setdefault(word, []).append(command)
    return named


def _modules(room: str) -> list[Path]:
    """The modules whose ids that room's command answers with: the gate's deeper levels live in the workflow."""
    rooms = (room, "workflow") if room == "gate" else (room,)
    found = sorted(path for one in rooms for path in (TREE / "fabricdoc" / one).rglob("*.py"))
    deeper = "workflow/gate_"
    if room == "gate":
        return [path for path in found if "/workflow/" not in str(path) or deeper in str(path)]
    return [path for path in found if deeper not in str(path)]


def page() -> str:
    """The whole page."""
    found = finders()
    known = [one for one in load_catalogue().values() if one.id in found]
    parts = [HEAD]
    for family, meanings in groupby(sorted(known, key=lambda one: one.family), key=lambda one: one.family):
        rows = [f"| `{one.id}` | {one.meaning} | {found[one.id][0]} |" for one in meanings]
        parts.append("\n".join([f"\n## {family}\n", "| id | meaning | found by |", "| --- | --- | --- |", *rows, ""]))
    return "".join(parts)


def main(arguments: Sequence[str]) -> int:
    """Write or check; returns the exit status."""
    current = PAGE.exists() and PAGE.read_text() == page()
    if list(arguments) == ["--check"]:
        sys.stderr.write("" if current else "docs/findings.md is not current; run: make schemas\n")
        return 0 if current else 1
    if not current:
        PAGE.write_text(page())
        sys.stderr.write("docs/findings.md written\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
