"""A server's launch line: which engine, which model, and every option that changes what goes over the fabric.

Reads words, starts nothing. Option names: vLLM 0.33 engine arguments, SGLang 0.5.23 server_args, trtllm-serve 1.x.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from fabricdoc.errors import UsageError
from fabricdoc.serving.served import Engine

MODULES: dict[str, Engine] = {
    "vllm.entrypoints.openai.api_server": "vllm",
    "vllm.entrypoints.cli.main": "vllm",
    "sglang.launch_server": "sglang",
    "sglang.srt.entrypoints.http_server": "sglang",
}
PROGRAMS: dict[str, Engine] = {"vllm": "vllm", "sglang": "sglang", "trtllm-serve": "trtllm"}
SUBCOMMANDS = ("serve",)
SHORT = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-ep": "--enable-expert-parallel",
    "-sc": "--speculative-config",
    "-cc": "--compilation-config",
    "-O": "--compilation-config",
}
MAX_WORDS, MAX_WORD = 2000, 64 << 10
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch line taken apart: `options` by name (dashes, small letters), each with the words after it; last wins."""

    engine: Engine
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    positional: tuple[str, ...] = ()

    def first(self, *names: str) -> str | None:
        """The first word behind the first of these options that was given; "" for one given without a word."""
        for name in names:
            if name in self.options:
                return next(iter(self.options[name]), "")
        return None

    def has(self, *names: str) -> bool:
        """Whether any of these flags is set; `--flag false` and `--no-flag` take one back."""
        given = [name for name in names if name in self.options]
        return any((self.first(name) or "true").lower() not in ("false", "0", "none") for name in given)

    def number(self, *names: str) -> int | None:
        """The number behind one of these options, None where none was given. UsageError for what is no number."""
        word = self.first(*names)
        if word is None:
            return None
        named = next(name for name in names if name in self.options)
        return whole(word, named)


def find_launch(words: Sequence[str]) -> Launch | None:
    """The launch of a server in these words (a command line, maybe behind docker, mpirun, bash -c), None for none."""
    if len(words) > MAX_WORDS or any(len(word) > MAX_WORD for word in words):
        raise UsageError("the launch line is longer than any server's", fix="name the command of one server")
    for place, word in enumerate(words):
        engine, skipped = _starts(words, place)
        if engine:
            return _taken_apart(engine, words[place + skipped :])
        if " " in word.strip() and (inner := _inner(word)):
            return inner
    return None


def whole(word: str, named: str) -> int:
    """A whole number as engines read it: 8192, 8k (thousands), 8K (1024s). UsageError naming the option."""
    match = re.fullmatch(r"(\d{1,9})([kKmM]?)", word.strip(), re.ASCII)
    if match is None:
        raise UsageError(f"{named} is {word[:40]!r} in the launch line, which is no number", fix="say it by option")
    return int(match[1]) * {"": 1, "k": 1000, "K": 1024, "m": 10**6, "M": 1 << 20}[match[2]]


def _starts(words: Sequence[str], place: int) -> tuple[Engine | None, int]:
    """The engine that the word at `place` starts, and how many words belong to that."""
    word = words[place]
    following = words[place + 1] if place + 1 < len(words) else ""
    module = word.removesuffix(".py").replace("/", ".")
    for name, engine in MODULES.items():
        if module == name or (word.endswith(".py") and module.endswith(f".{name}")):
            return engine, 1
    engine_of = PROGRAMS.get(PurePosixPath(word).name)
    if engine_of == "trtllm":
        return engine_of, 2 if following in SUBCOMMANDS else 1
    return (engine_of, 2) if engine_of and following in SUBCOMMANDS else (None, 0)


def _inner(word: str) -> Launch | None:
    """A launch inside one word: `bash -c "vllm serve ..."`."""
    from fabricdoc.serving.shell import words_of

    inner = words_of(word)
    return find_launch(inner) if len(inner) > 1 else None


def _taken_apart(engine: Engine, words: Sequence[str]) -> Launch:
    options: dict[str, tuple[str, ...]] = {}
    positional: list[str] = []
    name = ""
    for word in words:
        if word in (";", "&&", "||", "|", "&", ">", "2>&1"):
            break
        if word.startswith("-") and len(word) > 1 and not _NUMBER.fullmatch(word):
            head, equals, value = word.partition("=")
            name = _option(head)
            options[name] = (value,) if equals else ()
            if equals:
                name = ""
        elif name:
            options[name] = (*options[name], word)
        else:
            positional.append(word)
    return Launch(engine, options, tuple(positional))


def _option(word: str) -> str:
    """The option's full name: short ones written out, underscores as dashes, dotted keys kept whole."""
    head, dot, rest = word.partition(".")
    if head in SHORT:
        return SHORT[head] + dot + rest
    return head.lower().replace("_", "-") + dot + rest
