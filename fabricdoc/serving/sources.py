"""`--from`: a launch line, a file that holds one, a recipe's .env, a running process or container; several add up.

Later sources fill in what earlier ones leave open only through their variables: one launch line is enough, and two
are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricdoc.errors import UsageError
from fabricdoc.files import expanded, read_text
from fabricdoc.serving.launch import Launch, find_launch
from fabricdoc.serving.launched import Found, from_launch
from fabricdoc.serving.recipes import from_recipe, is_recipe
from fabricdoc.serving.shell import assignments, filled, given, words_of

FIX = "give a launch line ('vllm serve ...'), a script or .env, pid:N or container:NAME"
MAX_FILE = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """What `--from` gave: how the model is served, and where its config would be looked for."""

    found: Found
    environ: Mapping[str, str]
    root: str = ""


def read_sources(texts: Sequence[str]) -> Source:
    """All sources together. UsageError or InputError naming the one that says nothing."""
    values: dict[str, str] = {}
    launches: list[tuple[str, str, Launch]] = []
    for text in texts:
        root, environ, launch = _read(text.strip(), values)
        values |= environ
        if launch is not None:
            launches.append((text, root, launch))
    if len(launches) > 1:
        raise UsageError(f"--from names {len(launches)} servers: {launches[0][0][:60]!r} and another", fix="name one")
    if launches:
        _, root, launch = launches[0]
        return Source(from_launch(launch, values), values, root)
    if is_recipe(values):
        return Source(from_recipe(values), values)
    raise UsageError(f"--from {texts[0][:80]!r} says nothing of how a model is served", fix=FIX, id="no-server")


def _read(text: str, values: Mapping[str, str]) -> tuple[str, dict[str, str], Launch | None]:
    kind, _, name = text.partition(":")
    if kind == "pid" and name:
        from fabricdoc.serving.running import running_process

        if not (name.isascii() and name.isdecimal() and len(name) < 10):
            raise UsageError(f"--from {text[:40]!r} names no process", fix="like pid:4711")
        running = running_process(int(name))
        return running.root, dict(running.environ), running.launch
    if kind in ("container", "docker", "podman") and name:
        from fabricdoc.serving.running import running_container

        running = running_container(name)
        return running.root, dict(running.environ), running.launch
    if any(letter.isspace() for letter in text):
        words = [filled(word, values) for word in words_of(text)]
        return "", given(words), find_launch(words)
    path = expanded(Path(text))
    return "", *_file(read_text(path, f"--from {text}", fix=FIX, limit=MAX_FILE), values)


def _file(text: str, values: Mapping[str, str]) -> tuple[dict[str, str], Launch | None]:
    """A script or an .env: its assignments, and the first launch of a server with their values filled in."""
    own = assignments(text)
    known = {**values, **own}
    words = [filled(word, known) for word in _launch_words(text)]
    return own | given(words), find_launch(words)


def _launch_words(text: str) -> list[str]:
    """The words of the first command (continued lines joined) that starts a server; empty for none."""
    for line in text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines():
        words = words_of(line)
        if not line.lstrip().startswith("#") and find_launch(words) is not None:
            return words
    return []
