"""What a user asked `profile derive` for, turned into one way to serve: his options over what was found elsewhere.

Words are checked here; whether numbers make sense is `served`'s matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fabricdoc.errors import UsageError
from fabricdoc.model.profile import Profile, StepTime
from fabricdoc.near import meant
from fabricdoc.serving.config import read_config
from fabricdoc.serving.deriving import derive_profile
from fabricdoc.serving.hub import config_of
from fabricdoc.serving.served import DRAFTS, ENGINES, GRAPHS, Served
from fabricdoc.serving.sources import Source, read_sources
from fabricdoc.serving.tracing import Trace

WORDS: dict[str, tuple[str, ...]] = {"engine": ENGINES, "draft": DRAFTS, "graph": GRAPHS}
ALIASES = {
    "trt": "trtllm",
    "trt-llm": "trtllm",
    "tensorrt-llm": "trtllm",
    "eager": "none",
    "ngram": "none",
    "full-decode-only": "full",
    "full-and-piecewise": "piecewise",
}
"""What users and engines call the same."""
ALL_RANKS = -1
MOST_CAPTURES = 1024
MOST_STEP_MS = 3_600_000.0


@dataclass(frozen=True, slots=True)
class Asked:
    """Options as given: `numbers` and `words` by the name `Served` has for them, only those that were said.

    `captures` are comma lists, `sources` what --from was given. `step_ms` is a step without communication, `tokens`
    what a step gives.
    """

    config: Path | None = None
    numbers: Mapping[str, int] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    captures: Sequence[str] = ()
    sources: Sequence[str] = ()
    step_ms: float | None = None
    tokens: float | None = None
    name: str = ""


def derive(asked: Asked) -> Profile:
    """The profile asked for. UsageError or InputError naming the option, the file or the field that is wrong."""
    source = read_sources(asked.sources) if asked.sources else None
    if asked.config is None and source is None:
        raise UsageError("which model?", fix="name its config.json: fabricdoc profile derive config.json --tp 2")
    served = with_options(source.found.served if source else Served(), asked)
    if "tp" not in asked.numbers and source is None:
        raise UsageError("how many ranks is the model split over?", fix="say --tp N (--tp 1 sends nothing)")
    config = read_config(_config_path(asked, source))
    notes = [] if source is None else [note for note in source.found.notes if not _is_answered(note, asked)]
    return derive_profile(config, served, name=asked.name, step=_step(asked, served), notes=tuple(notes))


def trace(logs: Sequence[Path], how: Trace, asked: Asked) -> Profile:
    """The profile counted from COLL logs, held against the rules where `asked` says which model is served how."""
    from fabricdoc.serving.coll_log import read_calls
    from fabricdoc.serving.tracing import trace_profile

    calls = read_calls(logs)
    derived = derive(asked) if asked.config is not None or asked.sources else None
    step = _step(asked, Served())
    where = ", ".join(log.name or str(log) for log in logs[:3]) + (" and more" if len(logs) > 3 else "")
    name = asked.name or f"traced-{logs[0].stem or 'log'}"
    return trace_profile(calls, how, name=name, where=where, derived=derived, step=step)


def _config_path(asked: Asked, source: Source | None) -> Path:
    if asked.config is not None or source is None:
        return asked.config or Path("config.json")
    if not source.found.model:
        raise UsageError("--from names no model", fix="name its config.json: fabricdoc profile derive config.json ...")
    return config_of(source.found.model, source.environ, source.root)


def _is_answered(note: str, asked: Asked) -> bool:
    answers = {"gpus_per_node": "(--gpus-per-node)", "max_num_seqs": "captured batches are not counted"}
    return any(key in asked.numbers and words in note for key, words in answers.items())


def with_options(served: Served, asked: Asked) -> Served:
    """`served` with what the user said over it."""
    changed: dict[str, Any] = dict(asked.numbers)
    for key, value in asked.words.items():
        changed[key] = _word(key, value)
    if asked.captures:
        changed["captures"] = read_captures(asked.captures)
    served = replace(served, **changed)
    spread = served.tp * served.dp if served.ep == ALL_RANKS else served.ep
    return replace(served, ep=0 if spread == 1 else spread)


def read_captures(texts: Sequence[str]) -> tuple[int, ...]:
    """Captured sizes from comma lists, ascending, each once. UsageError for anything but numbers from 1."""
    words = [word.strip() for text in texts for word in text.split(",") if word.strip()]
    wrong = next((word for word in words if not (word.isascii() and word.isdecimal() and len(word) < 7)), None)
    if wrong is not None or not words or len(words) > MOST_CAPTURES:
        raise UsageError(f"--capture-sizes: {(wrong or 'no list')[:40]!r} is no list of sizes", fix="like 1,2,4,8,16")
    sizes = sorted({int(word) for word in words})
    if sizes[0] < 1:
        raise UsageError("--capture-sizes: 0 is no size", fix="like 1,2,4,8,16")
    return tuple(sizes)


def _word(key: str, value: str) -> str:
    plain = value.lower().replace("_", "-")
    plain = ALIASES.get(plain, plain)
    if plain in WORDS[key]:
        return plain
    known = ", ".join(WORDS[key])
    fix = meant(plain, WORDS[key], 1) or f"one of {known}"
    raise UsageError(f"--{key} {value[:40]!r} is not one of {known}", fix=fix)


def _step(asked: Asked, served: Served) -> StepTime | None:
    for option, value in (("--step-ms", asked.step_ms), ("--tokens-per-step", asked.tokens)):
        if value is not None and not (math.isfinite(value) and 0 < value <= MOST_STEP_MS):
            raise UsageError(f"{option} is {value:g}, wanted a number above 0", id="wrong-number")
    if asked.step_ms is None:
        if asked.tokens is not None:
            raise UsageError("--tokens-per-step says nothing without --step-ms", fix="give both")
        return None
    return StepTime(compute_ms=asked.step_ms, tokens=served.batch if asked.tokens is None else asked.tokens)
