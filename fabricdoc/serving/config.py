"""A model's config.json: the few fields that decide which collectives a step has, checked and bounded.

Knows where a field may hide (nested text_config, old and new names); knows no family and counts nothing. Field
names: transformers 5.24 configuration classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fabricdoc.errors import InputError
from fabricdoc.files import parse_json, read_text

NESTED = ("text_config", "llm_config", "language_config")
"""Where multimodal configs keep the language model's own fields."""
OTHER_SENSES = ("vision_config", "audio_config", "sound_config")
MOST = {"hidden_size": 1 << 20, "num_hidden_layers": 4096, "vocab_size": 1 << 28}
MOST_OTHER = 1 << 28
"""A number above these is no model's: refused, so that no hostile file costs memory or time."""
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")
MTP_LAYERS = ("num_nextn_predict_layers", "num_mtp_layers", "mtp_num_hidden_layers")
FIX = "name the config.json of the model as its repository has it"

Dtype = Literal["bfloat16", "float16", "float32"]


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A config as read: `text` are the language model's fields, `top` the whole document's.

    `model_type` is the language model's without its `_text` ending, in small letters, "" where none is named.
    """

    where: str
    model_type: str
    hidden: int
    layers: int
    vocabulary: int
    dtype: Dtype
    text: Mapping[str, Any] = field(repr=False)
    top: Mapping[str, Any] = field(repr=False)

    @property
    def experts(self) -> int:
        """Routed experts of a MoE layer, 0 for a dense model."""
        return self.number(*EXPERTS)

    @property
    def mtp_layers(self) -> int:
        """Layers of multi-token prediction that the checkpoint carries; they are outside `layers`."""
        return self.number(*MTP_LAYERS)

    @property
    def multimodal(self) -> bool:
        """Whether images or sound can come in: then engines embed outside the graph."""
        return any(isinstance(self.top.get(key), dict) for key in OTHER_SENSES)

    def number(self, *keys: str, default: int = 0) -> int:
        """The first of these keys that holds a number, nested before top. InputError where it is no sane number."""
        for key in keys:
            value = self.value(key)
            if value is not None:
                return _number(self.where, key, value, MOST.get(key, MOST_OTHER))
        return default

    def listed(self, key: str) -> list[Any] | None:
        """The list under that key, None where there is none. InputError for anything else, or one that is too long."""
        value = self.value(key)
        if value is not None and (not isinstance(value, list) or len(value) > MOST["num_hidden_layers"]):
            raise InputError(f"{self.where}: {key} is no list of a model's layers", fix=FIX)
        return value

    def value(self, key: str) -> Any:
        """What is under that key, nested before top; None where it is absent or null."""
        found = self.text.get(key)
        return self.top.get(key) if found is None else found


def read_config(path: Path) -> ModelConfig:
    """The config in that file, or in that folder's config.json. InputError naming what is wrong."""
    file = path / "config.json" if path.is_dir() else path
    text = read_text(file, f"config {file}", fix=FIX)
    try:
        content = parse_json(text)
    except ValueError as error:
        raise InputError(f"config {file} is no JSON: {error}", fix=FIX) from error
    return parse_config(content, f"config {file}")


def parse_config(content: object, where: str) -> ModelConfig:
    """The config in a JSON value; `where` names it in errors. InputError naming every field that is missing."""
    if not isinstance(content, dict):
        raise InputError(f"{where} is no table of fields", fix=FIX)
    text = _language(content)
    merged = {key: content.get(key) if text.get(key) is None else text[key] for key in MOST}
    missing = [key for key, value in merged.items() if value is None]
    if missing:
        raise InputError(f"{where} has no {', no '.join(missing)}", fix=FIX, id="config-incomplete")
    sizes = {key: _number(where, key, value, MOST[key], least=1) for key, value in merged.items()}
    return ModelConfig(
        where=where,
        model_type=_model_type(where, content, text),
        hidden=sizes["hidden_size"],
        layers=sizes["num_hidden_layers"],
        vocabulary=sizes["vocab_size"],
        dtype=_dtype(where, content, text),
        text=text,
        top=content,
    )


def _language(content: dict[str, Any]) -> dict[str, Any]:
    """The nested table that describes the language model, else the document itself."""
    for key in NESTED:
        nested = content.get(key)
        if isinstance(nested, dict) and nested.get("hidden_size") is not None:
            return nested
    return content


def _model_type(where: str, content: dict[str, Any], text: dict[str, Any]) -> str:
    found = text.get("model_type") or content.get("model_type") or ""
    if not isinstance(found, str) or len(found) > 100:
        raise InputError(f"{where}: model_type is no name", fix=FIX)
    return found.lower().replace("-", "_").removesuffix("_text")


def _dtype(where: str, content: dict[str, Any], text: dict[str, Any]) -> Dtype:
    """The type of the activations: absent means bfloat16; engines serve a float32 checkpoint in 16 bits."""
    names = [table.get(key) for table in (text, content) for key in ("dtype", "torch_dtype")]
    found = next((name for name in names if name is not None), "bfloat16")
    known = {"bfloat16": "bfloat16", "float16": "float16", "half": "float16", "float32": "bfloat16", "auto": "bfloat16"}
    name = found.removeprefix("torch.") if isinstance(found, str) else ""
    if name not in known:
        raise InputError(f"{where}: dtype {str(found)[:40]!r} is not one of {', '.join(known)}", fix=FIX)
    return "float16" if known[name] == "float16" else "bfloat16"


def _number(where: str, key: str, value: object, most: int, least: int = 0) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        shown = str(value)[:40] if not isinstance(value, int) or abs(value) < 10**18 else "a number of many digits"
        raise InputError(f"{where}: {key} is {shown}, wanted a whole number from {least} to {most}", fix=FIX)
    return value
