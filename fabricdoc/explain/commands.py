"""Variables on the command lines that people paste in front of a log: mpirun -x, docker -e, export, NAME=VALUE COMMAND.

Of a log's own lines it reads nothing: what NCCL says there is the log reader's. Files of settings are the linter's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabricdoc.nccl import clean

LONGEST, MOST = 4000, 400
"""Characters of a line, and variables of a log, that are looked at."""
_COMMAND = re.compile(
    r"(?:[^\n]{0,80}(?:[$#>] ?|(?:^|[ :>\]])\+{1,3} )|[|*-] )?\s*(?:sudo )?"
    r"(?:export\s|env\s|mpirun\b|mpiexec\b|srun\b|docker\s+run\b|podman\s+run\b|torchrun\b"
    r"|(?:-x|-e|--env|-genv)[ =]|NCCL_[A-Z0-9_]+=)"
)
_VARIABLE = re.compile(r"(?<![\w-])(?P<name>NCCL_[A-Z0-9_]{1,60})=(?P<value>\"[^\"]*\"|'[^']*'|[^\s\\;\"']*)")


def variables_typed(lines: list[str]) -> Iterator[tuple[str, str, int]]:
    """Name, value without the shell's quotes, and line number from 1, of every variable on a command line."""
    found = 0
    for number, line in enumerate(lines, 1):
        if "NCCL_" not in line or len(line) > LONGEST or " NCCL " in line:
            continue
        line = clean(line)
        if not _COMMAND.match(line):
            continue
        for match in _VARIABLE.finditer(line):
            yield match["name"], match["value"].strip("\"'"), number
            found += 1
            if found >= MOST:
                return
