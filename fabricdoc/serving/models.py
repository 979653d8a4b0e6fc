"""Models known by the few fields that decide their step: profiles/models/NAME.toml, one profile for TP 2, 4 and 8 each.

A file has `title`, `source`, a table `config` with fields of the model's config.json, and maybe a table `serve`
(experts_spread, spec_tokens, chunk). Nothing is stored that the rules derive; what they derive says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources.abc import Traversable

from fabricdoc.errors import InputError
from fabricdoc.files import parse_toml
from fabricdoc.model.profile import Profile
from fabricdoc.serving.config import parse_config
from fabricdoc.serving.deriving import derive_profile
from fabricdoc.serving.served import CHUNKS, Served

FOLDER = "models"
SPLITS = (2, 4, 8)
_FIX = "give it a title, a source and a [config] table, as the shipped ones have"


def model_names(files: list[Traversable]) -> Iterator[tuple[str, tuple[Traversable, int]]]:
    """Each file's profiles by name: NAME-tp2, NAME-tp4, NAME-tp8."""
    for file in files:
        for tp in SPLITS:
            yield f"{file.name.removesuffix('.toml')}-tp{tp}", (file, tp)


def model_profile(text: str, where: str, name: str, tp: int) -> Profile:
    """The profile of the model in that text, split over `tp` ranks. InputError naming the file and what is wrong."""
    try:
        content = parse_toml(text)
    except ValueError as error:
        raise InputError(f"model {where}: {error}", fix="mend the syntax at that place") from error
    title, source = content.get("title"), content.get("source")
    if not (isinstance(title, str) and isinstance(source, str) and title and source):
        raise InputError(f"model {where} has no title or no source", fix=_FIX)
    config = parse_config(content.get("config"), f"model {where}")
    made = derive_profile(config, _served(content.get("serve", {}), where, tp), name=name)
    note = "one rank a node, batch 1; derive your own with your numbers: fabricdoc profile derive"
    rows = made.summary.removeprefix(config.model_type).strip()
    return made.model_copy(
        update={
            "summary": f"{title} {rows}",
            "source": f"Derived by the rules of vLLM 0.33 from {source}. Not traced.",
            "notes": (*made.notes, note),
        }
    )


def _served(table: object, where: str, tp: int) -> Served:
    """How the file serves it, over the defaults; no other keys, so that a typing error is told."""
    known = {"experts_spread": bool, "spec_tokens": int, "chunk": int}
    if not isinstance(table, dict) or any(type(value) is not known.get(key) for key, value in table.items()):
        raise InputError(f"model {where}: [serve] may hold {', '.join(known)}, a flag and two numbers", fix=_FIX)
    spread = table.get("experts_spread", False)
    chunk = table.get("chunk", CHUNKS["vllm"])
    return Served(tp=tp, ep=tp if spread else 0, spec_tokens=table.get("spec_tokens", 0), chunk=chunk)
