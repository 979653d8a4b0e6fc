"""Which variables of an environment or a settings file may be reported: an allow-list, cut and cleaned.

What could hold a secret is never read. What a variable does is fabricdoc's to say (its catalogue).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .facts import clean

ALLOWED = (
    "NCCL_",
    "GLOO_",
    "UCX_",
    "TP_SOCKET",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_LAUNCH_BLOCKING",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
)
SECRET = re.compile(r"TOKEN|KEY|SECRET")
MAX_VALUE = 1024
MAX_NAME = 256


def is_allowed(name: str) -> bool:
    """Whether a variable of that name is reported: on the allow-list, and nothing in it smells of a secret."""
    return name.startswith(ALLOWED) and len(name) <= MAX_NAME and not SECRET.search(name.upper())


def shown(value: str) -> str:
    """A value as it is reported: valid UTF-8, at most 1024 characters."""
    return clean(value)[:MAX_VALUE]


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables on the allow-list by name."""
    return {clean(name): shown(value) for name, value in sorted(environ.items()) if is_allowed(name)}
