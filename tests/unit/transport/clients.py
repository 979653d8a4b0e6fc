"""Programs that stand for srun, kubectl, docker and podman: they note the words they got, then do what real ones do.

As with the real ones the program they run is not in their process group, so that killing the client leaves it, with its
input at its end.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

SCRIPT = """#!/bin/sh
printf '%s\\0' "$@" >>{folder}/{name}.words
printf '\\n' >>{folder}/{name}.words
{before}
while [ $# -gt 0 ] && [ "$1" != {last} ]; do shift; done
shift
exec setsid --wait "$@"
"""


@dataclass(frozen=True)
class Clients:
    """A folder in front of PATH."""

    folder: Path

    def put(self, name: str, last: str, before: str = "") -> None:
        """A client that runs what stands after the word `last`; `before` is shell text, run first."""
        self.write(name, SCRIPT.format(folder=self.folder, name=name, last=last, before=before))

    def refuse(self, name: str, stderr: str, status: int) -> None:
        """A client that says this and fails."""
        (self.folder / f"{name}.stderr").write_text(stderr)
        self.write(name, f"#!/bin/sh\ncat {self.folder}/{name}.stderr >&2\nexit {status}\n")

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)

    def calls(self, name: str) -> list[list[str]]:
        """The words of every call, in order."""
        text = os.fsdecode((self.folder / f"{name}.words").read_bytes())
        return [line.split("\0")[:-1] for line in text.split("\n")[:-1]]
