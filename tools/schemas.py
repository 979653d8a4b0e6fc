"""Write docs/schemas/: the JSON Schema (draft 2020-12) of every document, generated from the models.

    tools/run run tools/schemas.py            write them
    tools/run run tools/schemas.py --check    exit 1, naming the files, when the committed ones are not current

A schema describes what fabricdoc prints: every field is there. Nothing here is read at run time.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import fabricdoc.model
from fabricdoc.model.documents import Document

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def document_kinds() -> list[type[Document]]:
    """Every Document the room `fabricdoc.model` defines, by schema id."""
    for module in pkgutil.iter_modules(fabricdoc.model.__path__):
        importlib.import_module(f"fabricdoc.model.{module.name}")
    found = [kind for kind in _below(Document) if kind.__module__.startswith("fabricdoc.model.")]
    return sorted(found, key=lambda kind: kind.schema_id())


def _below(kind: type[Document]) -> Iterator[type[Document]]:
    for child in kind.__subclasses__():
        yield child
        yield from _below(child)


def schema_of(kind: type[Document]) -> dict[str, object]:
    """The schema of one kind as printed; `schema` has one value, and no default names this version."""
    schema = kind.model_json_schema(by_alias=True, mode="serialization")
    schema["properties"]["schema"] = {"const": kind.schema_id()}
    schema["properties"]["fabricdoc"].pop("default", None)
    schema["required"] = sorted({*schema.get("required", ()), "schema", "fabricdoc", "created"})
    return {"$schema": DIALECT, "$id": kind.schema_id(), **schema}


def files() -> dict[str, str]:
    """File name -> text of every schema."""
    return {
        f"{kind.kind}-{kind.edition}.json": json.dumps(schema_of(kind), indent=2, ensure_ascii=False) + "\n"
        for kind in document_kinds()
    }


def stale(folder: Path) -> list[str]:
    """Names of files in `folder` that are missing, differ, or belong to no document."""
    wanted = files()
    there = {path.name: path.read_text() for path in folder.glob("*.json")}
    return sorted(name for name in {*wanted, *there} if wanted.get(name) != there.get(name))


def main(arguments: Sequence[str]) -> int:
    """Write or check; returns the exit status."""
    names = stale(FOLDER)
    if list(arguments) == ["--check"]:
        for name in names:
            sys.stderr.write(f"docs/schemas/{name} is not current; run: make schemas\n")
        return 1 if names else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names:
        text = files().get(name)
        if text is None:
            (FOLDER / name).unlink()
        else:
            (FOLDER / name).write_text(text)
        sys.stderr.write(f"docs/schemas/{name} {'removed' if text is None else 'written'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
