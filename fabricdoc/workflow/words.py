"""What a user writes on the command line, read into numbers: durations, sizes, objectives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from fabricdoc.errors import UsageError
from fabricdoc.files import is_folder
from fabricdoc.model.profile import StepTime
from fabricdoc.model.run import Dtype, Objective, Op, Search

DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h)?", re.ASCII)
SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMG]?)I?B?", re.IGNORECASE | re.ASCII)
SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
LARGEST = 1 << 30
LONGEST_S = 36e6
GRANULE = 8
ADDRESS = re.compile(r"[0-9A-Za-z][0-9A-Za-z.-]{0,252}|[0-9A-Fa-f:.]{2,45}(%[0-9A-Za-z._-]{1,15})?")
BACKENDS: tuple[Literal["auto", "nccl", "gloo"], ...] = ("auto", "nccl", "gloo")
OBJECTIVES: tuple[Objective, ...] = ("decode", "prefill", "mix")
OPS: tuple[Op, ...] = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv")
DTYPES: Mapping[str, Dtype] = {
    "bfloat16": "bfloat16",
    "bf16": "bfloat16",
    "float16": "float16",
    "fp16": "float16",
    "half": "float16",
    "float32": "float32",
    "fp32": "float32",
    "float": "float32",
    "int32": "int32",
    "int": "int32",
}
SEARCHES: tuple[Search, ...] = ("grid", "adaptive")
MOST_SIZES = 64
PHASES = ("decode", "prefill")
WEIGHT = re.compile(r"(decode|prefill)\s*=\s*(\d{1,6}(?:\.\d{1,9})?)", re.ASCII)
MOST_WEIGHT = 1e6


def read_duration(text: str) -> float | None:
    """Seconds of "90s", "10m" or "1h"; None for an empty text. UsageError otherwise."""
    if not text:
        return None
    match = DURATION.fullmatch(text.strip())
    seconds = float(match[1]) * SECONDS[match[2] or "s"] if match else 0.0
    if not 0 < seconds <= LONGEST_S:
        raise UsageError(f"not a duration: {text!r}", fix="write it like 90s, 10m or 1h (at most 10000h)")
    return seconds


def read_size(text: str) -> int:
    """Bytes of "8", "20K" or "42M" (powers of 1024), rounded up to 8 bytes so that every type fits."""
    match = SIZE.fullmatch(text.strip())
    given = float(match[1]) * BYTES[match[2].upper()] if match else 0.0
    size = round(min(given, LARGEST + 1))
    if not 0 < size <= LARGEST:
        raise UsageError(f"not a message size: {text!r}", fix="write sizes like 8,20K,1M,42M (8 B to 1 GiB)")
    return -(-size // GRANULE) * GRANULE


def read_sizes(words: Iterable[str]) -> tuple[int, ...]:
    """Every size of a list, smallest first, each once; UsageError for a word that is none, or more than 64 sizes."""
    sizes = tuple(sorted({read_size(word) for word in words}))
    if len(sizes) > MOST_SIZES:
        raise UsageError(f"{len(sizes)} message sizes: at most {MOST_SIZES} fit a launch", fix="leave some out")
    return sizes


def read_ops(words: Iterable[str]) -> tuple[Op, ...]:
    """Collectives by name, each once, as given (none: all_reduce); - counts as _, "allreduce" as all_reduce."""
    known = {op.replace("_", ""): op for op in OPS}
    found = []
    for word in words:
        op = known.get(re.sub("[-_]", "", word.strip().lower()))
        if op is None:
            raise UsageError(f"unknown collective: {word!r}", fix=f"choose of {', '.join(OPS)}")
        found.append(op)
    return tuple(dict.fromkeys(found)) or ("all_reduce",)


def read_dtype(text: str) -> Dtype:
    """bfloat16, float16, float32 or int32, or a usual short name of one; UsageError otherwise."""
    dtype = DTYPES.get(text.strip().lower())
    if dtype is None:
        raise UsageError(f"unknown type: {text!r}", fix="choose one of bfloat16, float16, float32, int32")
    return dtype


def read_search(text: str) -> Search:
    """grid or adaptive; UsageError otherwise."""
    for search in SEARCHES:
        if text == search:
            return search
    raise UsageError(f"unknown search: {text!r}", fix=f"choose one of {', '.join(SEARCHES)}")


def read_backend(text: str) -> Literal["auto", "nccl", "gloo"]:
    """auto, nccl or gloo; UsageError otherwise."""
    for backend in BACKENDS:
        if text == backend:
            return backend
    raise UsageError(f"unknown backend: {text!r}", fix=f"choose one of {', '.join(BACKENDS)}")


def read_address(text: str | None) -> str | None:
    """A host name or an address for the ranks to meet at; UsageError for what can be neither."""
    if text is not None and not ADDRESS.fullmatch(text):
        raise UsageError(f"not an address: {text!r}", fix="give node 0's IPv4 or IPv6 address on the fabric")
    return text


def read_folders(folders: Sequence[Path]) -> tuple[Path, ...]:
    """Folders of a user's own presets; UsageError for one that is none, which would else pass without a word."""
    for folder in folders:
        if not is_folder(folder):
            raise UsageError(
                f"--presets {folder}: there is no such folder",
                fix="name a folder that holds candidates/ or profiles/",
            )
    return tuple(folders)


def read_weights(text: str) -> dict[str, float] | None:
    """What decode and prefill count, from "decode=0.7,prefill=0.3" (any positive scale; one left out counts nothing).

    None for an empty text; UsageError otherwise. The sum is made 1.
    """
    if not text:
        return None
    found = dict.fromkeys(PHASES, 0.0)
    for part in text.split(","):
        match = WEIGHT.fullmatch(part.strip())
        if match is None or match[1] not in found or found[match[1]]:
            raise UsageError(f"not weights: {text!r}", fix="write them like decode=0.7,prefill=0.3")
        found[match[1]] = float(match[2])
    whole = sum(found.values())
    if not 0.0 < whole <= MOST_WEIGHT:
        raise UsageError(f"not weights: {text!r}", fix="one of them has to be above 0, like decode=0.7,prefill=0.3")
    return {phase: weight / whole for phase, weight in found.items()}


def read_step(step_ms: float | None, tokens: float | None) -> StepTime | None:
    """A decode step as the user knows it: ms without communication, and tokens (default 1). UsageError otherwise."""
    if step_ms is None:
        if tokens is not None:
            raise UsageError("--tokens-per-step says nothing alone", fix="add --step-ms, a step's time in ms")
        return None
    for name, value in (("--step-ms", step_ms), ("--tokens-per-step", 1.0 if tokens is None else tokens)):
        if not 0.0 < value < MOST_WEIGHT:
            raise UsageError(f"{name} {value:g} is no number above 0", fix=f"write it like {name} 40")
    return StepTime(compute_ms=step_ms, tokens=1.0 if tokens is None else tokens)


def read_objective(text: str) -> Objective:
    """decode, prefill or mix; UsageError otherwise."""
    for objective in OBJECTIVES:
        if text == objective:
            return objective
    raise UsageError(f"unknown objective: {text!r}", fix=f"choose one of {', '.join(OBJECTIVES)}")
