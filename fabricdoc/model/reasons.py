"""Why a launch failed, in plain words: what torch, gloo and NCCL wrote without their own source lines.

Pure text, so that everything that quotes a failed launch says the same. A raw text stays in its document.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_SOURCE = re.compile(
    r"\s*\[[^\s\]]+\.(?:cc|cpp|cu|cuh|hpp|h):\d+\]"  # [/__w/.../pair.cc:152]
    r"| in(?=: \S+\.(?:cc|cpp|cu|cuh|hpp|h):\d+,)"  # NCCL error in: /pytorch/.../NCCLUtils.cpp:77,
    r"|(?<=:) \S+\.(?:cc|cpp|cu|cuh|hpp|h):\d+,"
    r"|;? ?(?:Exception )?[Rr]aised from .* at \S+\.(?:cc|cpp|cu|cuh|hpp|h):\d+.*"
)
_LOOPBACK = re.compile(r"remote=\[(127\.[0-9.]+|::1)\]|(127\.[0-9.]+|\[::1\]):\d+.*[Rr]efused")
_GLOO = re.compile(r"[Gg]loo|connectFullMesh")


def plain_reason(reason: str, variables: Collection[str] = ()) -> str:
    """The first line of a failure's reason without C++ source places; a cause that is known instead of the symptom.

    `variables` are the names that the failed set gave its ranks: only without GLOO_SOCKET_IFNAME was the address
    gloo's own choice.
    """
    first = next((line.strip() for line in reason.splitlines() if line.strip()), "")
    loopback = _LOOPBACK.search(first)
    if loopback and _GLOO.search(first) and "GLOO_SOCKET_IFNAME" not in variables:
        address = (loopback[1] or loopback[2]).strip("[]")
        return (
            f"without GLOO_SOCKET_IFNAME gloo offered the loopback address {address}, which the other node cannot "
            "reach; expected where the hostname resolves to loopback or to nothing"
        )
    return without_sources(first)


def without_sources(text: str) -> str:
    """The text without the places in C++ sources that torch, gloo and NCCL name."""
    return _SOURCE.sub("", text).strip()
