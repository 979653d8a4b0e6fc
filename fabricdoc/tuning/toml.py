"""The preset as a TOML file: written with the evidence as comment lines above each variable, and read back equal.

The comments are for people; the same evidence stands in the keys, and reading ignores comments. Quoting for a shell, an
env file or a server is the export's job.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from pydantic import ValidationError

from fabricdoc.errors import InputError
from fabricdoc.files import parse_toml, read_text
from fabricdoc.model.faults import first_fault
from fabricdoc.model.preset import Preset

_FIX = "write it again with: fabricdoc recommend"
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_COMMENT_WIDTH = 110


def preset_to_toml(preset: Preset) -> str:
    """The preset as TOML text, ending in a newline; `read_preset` gives back an equal one."""
    content = preset.model_dump(mode="json")
    head = {key: value for key, value in content.items() if key not in ("nodes", "fingerprint", "latencies")}
    lines = [
        *_comment(f"Preset {preset.name}: {preset.reason}"),
        *_comment("placed = needed for this fabric, from proof; measured = pays for itself, from the run named below."),
        *_comment(_parts(preset)),
        *_pairs(head),
    ]
    for node in content["nodes"]:
        lines += ["", "[[nodes]]", *_pairs(_told(node), skip="lines")]
        for line in node["lines"]:
            lines += ["", "[[nodes.lines]]", *_comment(f"{line['kind']}: {line['evidence']}"), *_pairs(_told(line))]
    for node in content["fingerprint"]["nodes"]:
        lines += ["", "[[fingerprint.nodes]]", *_pairs(node, skip="ports")]
        for port in node["ports"]:
            lines += ["", "[[fingerprint.nodes.ports]]", *_pairs(port)]
    for latency in content["latencies"]:
        lines += ["", "[[latencies]]", *_pairs(latency)]
    return "\n".join(lines) + "\n"


def _told(line: Mapping[str, Any]) -> dict[str, Any]:
    """A table's keys without launches and inherited variables where there were none."""
    return {key: value for key, value in line.items() if key not in ("launches", "inherited") or value}


def _parts(preset: Preset) -> str:
    """Which variables all nodes share, and which are each node's own."""
    sets = [{(line.name, line.value) for line in node.lines} for node in preset.nodes]
    shared = {name for name, _ in set.intersection(*sets)} if sets else set()
    names = dict.fromkeys(line.name for node in preset.nodes for line in node.lines)
    common, own = [name for name in names if name in shared], [name for name in names if name not in shared]
    return f"Common to all nodes: {', '.join(common) or 'nothing'}. Per node: {', '.join(own) or 'nothing'}."


def read_preset(path: Path) -> Preset:
    """The preset in that TOML file. Raises InputError naming the file, the place in it and what to do."""
    text = read_text(path, f"preset {path}")
    try:
        content = parse_toml(text)
    except ValueError as error:
        raise InputError(f"preset {path}: {error}", fix=f"mend that line, or {_FIX}") from error
    return _validated(content, path)


def _validated(content: dict[str, Any], path: Path) -> Preset:
    if "schema" not in content:
        raise InputError(f"preset {path}: it has no schema, so it is no preset", fix=_FIX)
    _refuse_newer(content["schema"], path)
    try:
        _add_missing_hcas(content)
        preset = Preset.model_validate(content)
    except ValidationError as error:
        raise InputError(f"preset {path}: {first_fault(error)}", fix=f"mend that place, or {_FIX}") from error
    if problem := _twice(preset):
        raise InputError(f"preset {path}: {problem}", fix="leave one of them")
    return preset


def _refuse_newer(schema: object, path: Path) -> None:
    """A preset that a later fabricdoc wrote is no damaged one: say which is needed."""
    stem, _, edition = str(schema).rpartition("/")
    if stem == f"fabricdoc/{Preset.kind}" and edition.isdecimal() and int(edition[:9]) > Preset.edition:
        raise InputError(
            f"preset {path}: its schema is {stem}/{edition[:9]}, and this fabricdoc reads {Preset.schema_id()}",
            fix="use the fabricdoc that wrote it, or measure again with this one",
            id="preset-newer",
        )


def _add_missing_hcas(content: dict[str, Any]) -> None:
    """TOML has no null: a port without `hca` is one where there is none."""
    for node in _tables(_table(content.get("fingerprint")).get("nodes")):
        for port in _tables(node.get("ports")):
            port.setdefault("hca", None)


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _tables(value: object) -> Iterator[dict[str, Any]]:
    yield from (one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def _twice(preset: Preset) -> str:
    """What is there twice though names are unique: a node, or a variable of a node; empty when nothing is."""
    if name := _repeated([node.name for node in preset.nodes]):
        return f"node {name!r} is there twice"
    for node in preset.nodes:
        if name := _repeated([line.name for line in node.lines]):
            return f"variable {name!r} of node {node.name!r} is there twice"
    return ""


def _repeated(names: Sequence[str]) -> str | None:
    return next((name for index, name in enumerate(names) if name in names[:index]), None)


def _comment(text: str) -> list[str]:
    """Comment lines of bounded width; control characters become blanks, since TOML comments may not hold them."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return [f"# {line}" for line in wrap(plain, _COMMENT_WIDTH, break_on_hyphens=False)]


def _pairs(table: Mapping[str, Any], skip: str = "") -> list[str]:
    """`key = value` lines; null has no form in TOML, so such a key is left out."""
    return [f"{key} = {_value(value)}" for key, value in table.items() if key != skip and value is not None]


def _value(value: object) -> str:
    """A value of a preset document (text, number, yes or no, list, unknown fact) as TOML."""
    match value:
        case str():
            return f'"{"".join(_escaped(letter) for letter in value)}"'
        case bool():
            return str(value).lower()
        case int() | float():  # a document holds no infinity, and TOML writes exponents as Python does
            return repr(value)
        case list():
            return f"[{', '.join(_value(one) for one in value)}]"
        case dict():
            return f"{{ {', '.join(f'{_key(key)} = {_value(one)}' for key, one in value.items())} }}"
    raise TypeError(f"a preset holds no {type(value).__name__}")


def _key(name: str) -> str:
    """A name as TOML's bare key where it can be one, else quoted."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _escaped(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    return letter if letter.isprintable() or ord(letter) >= 0xA0 else f"\\u{ord(letter):04x}"
