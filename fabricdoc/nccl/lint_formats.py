"""How a file of settings is read: told by its name, then by what its lines look like.

`*.env` is a file for docker --env-file, whatever stands in it, unless the user says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fabricdoc.nccl.lint_settings import LONGEST, Format

LOOKED_AT = 400
"""Lines that are looked at where the name tells nothing."""

_BY_NAME: Sequence[tuple[str, Format]] = (
    (r"(?:.*[./-])?nccl\.conf(?:\..*)?", "nccl.conf"),
    (r".*\.(?:ya?ml)", "yaml"),
    (r".*\.json", "json"),
    (r".*\.(?:sh|bash|zsh|slurm|sbatch|pbs)|\.?(?:bashrc|profile|bash_profile|zshrc)", "shell"),
    (r"(?:.*\.)?(?:docker|container)file(?:\..*)?", "shell"),
    (r".*\.(?:service|socket|unit)|override\.conf", "systemd"),
    (r".*\.(?:env|env\..*)|\.?env(?:-file|file)?(?:\..*)?|\.deepspeed_env", "docker"),
)
_LAUNCHER = re.compile(
    r"(?:^|\s)(?:docker|podman|nerdctl|mpirun|mpiexec|srun|torchrun|deepspeed|vllm|ray|ssh|python3?)\s"
)
_ASSIGNMENT = re.compile(r"\s*[A-Za-z_][A-Za-z0-9_]*=", re.ASCII)
_EXPORT = re.compile(r"export\s+\w+=")
_YAML = re.compile(r"(?:services|environment|apiVersion|kind|env|spec|containers):|-\s+name:\s+\w+$")


def detect_format(name: str, text: str) -> Format:
    """How a file is read: by its name, else by what its lines look like."""
    base = name.replace("\\", "/").rpartition("/")[2].lower()[:256]
    for pattern, form in _BY_NAME:
        if re.fullmatch(pattern, base):
            return form
    return _by_lines(text)


def _by_lines(text: str) -> Format:
    first = (line[:LONGEST].strip() for line in text[: LOOKED_AT * 1024].split("\n", LOOKED_AT)[:LOOKED_AT])
    lines = [line for line in first if line and not line.startswith("#")]
    if text.startswith("#!") or any(_EXPORT.match(line) for line in lines):
        return "shell"
    if any(line.startswith(("[Service]", "[Unit]", "Environment=")) for line in lines):
        return "systemd"
    if text.lstrip()[:1] in ("{", "["):
        return "json"
    if any(_YAML.match(line) for line in lines):
        return "yaml"
    if any(_LAUNCHER.search(line) for line in lines):
        return "command"
    return "docker" if lines and all(_ASSIGNMENT.match(line) for line in lines) else "shell"
