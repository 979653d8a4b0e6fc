"""The user's current settings as a candidate: an env file he serves with today, read as docker reads it.

Reads files only; a running container or process is not read by this edition.
"""

from __future__ import annotations

from pathlib import Path

from fabricdoc.errors import InputError
from fabricdoc.files import read_text
from fabricdoc.model.run import Candidate

PREFIXES = ("NCCL_", "GLOO_", "UCX_", "TP_SOCKET_IFNAME", "TORCH_NCCL_")


def read_current(path: Path) -> Candidate:
    """The `current` candidate from an env file (KEY=value lines); only communication variables are taken."""
    values = dict(_pairs(read_text(path, str(path), fix="name an env file with KEY=value lines")))
    if not values:
        raise InputError(
            f"{path} sets no communication variable ({', '.join(PREFIXES[:3])}...)",
            fix="name the env file your server starts with",
        )
    return Candidate(name="current", role="current", variables=values, on_base=False, why=f"as in {path.name}")


def _pairs(text: str) -> list[tuple[str, str]]:
    lines = [line.strip() for line in text.splitlines()]
    split = [line.removeprefix("export ").split("=", 1) for line in lines if "=" in line and not line.startswith("#")]
    return [(name.strip(), value) for name, value in split if name.strip().startswith(PREFIXES)]
