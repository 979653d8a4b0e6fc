"""A profile from a model's config and the way it is served: counted by rule, nothing measured.

The rules are those of the engines' source (vLLM 0.33, SGLang 0.5.23; TensorRT-LLM shares the skeleton); what they do
not settle is marked assumed, and the notes say what a trace would tell.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from fabricdoc.model.profile import Captured, Profile, StepTime
from fabricdoc.serving.captures import padded_rows, scored_batches
from fabricdoc.serving.config import ModelConfig
from fabricdoc.serving.drafts import KNOWN, draft_kind, draft_parts
from fabricdoc.serving.families import family_of
from fabricdoc.serving.groups import spans_nodes
from fabricdoc.serving.served import Served, check_fits, check_served
from fabricdoc.serving.stages import decode_stage, prefill_stage

ENGINE_NAMES = {"vllm": "vLLM", "sglang": "SGLang", "trtllm": "TensorRT-LLM"}
MAX_NAME = 80
WORKS_FOR = {"vllm": "0.33", "sglang": "0.5.23"}


def derive_profile(
    config: ModelConfig, served: Served, *, name: str = "", step: StepTime | None = None, notes: tuple[str, ...] = ()
) -> Profile:
    """The profile of that model served that way. UsageError where the two do not fit, InputError for a bad config.

    `name` is the profile's, by default the model's with what splits it; `notes` go in front of the rules' own.
    """
    check_served(served)
    check_fits(served, config)
    decode = decode_stage(config, served, served.batch)
    captured = []
    for batch in scored_batches(served):
        stage = decode_stage(config, served, batch)
        captured.append(Captured(rows=stage.rows, collectives=stage.collectives, totals=stage.totals, batch=batch))
    return Profile(
        name=name or default_name(config, served),
        summary=_summary(config, served),
        source=_source(config, served),
        engine=served.engine,
        batch=served.batch,
        decode=decode,
        prefill=prefill_stage(config, served),
        captured=tuple(captured),
        step=step,
        notes=(*notes, *_notes(config, served)),
    )


def default_name(config: ModelConfig, served: Served) -> str:
    """Model and split in words a file can be named by: llama-tp2, qwen3_moe-tp2-pp2."""
    named = config.top.get("_name_or_path")
    model = PurePath(named).name if isinstance(named, str) and named else config.model_type or "model"
    clean = re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip("-.")[:MAX_NAME].lower() or "model"
    split = f"-tp{served.tp}" + "".join(f"-{key}{n}" for key, n in (("pp", served.pp), ("dp", served.dp)) if n > 1)
    return clean + split


def _summary(config: ModelConfig, served: Served) -> str:
    splits = [f"{key.upper()}{n}" for key, n in (("tp", served.tp), ("pp", served.pp), ("dp", served.dp)) if n > 1]
    split = " ".join(splits) or "one rank"
    experts = " + EP" if served.ep and config.experts else ""
    kind = draft_kind(served, config)
    drafting = {"mtp": "MTP with ", "eagle": "an EAGLE head with ", "none": ""}[kind]
    speculation = f", {drafting}{served.spec_tokens} speculated tokens" if served.spec_tokens else ""
    model = config.model_type or "a model of unknown type"
    return (
        f"{model} on {ENGINE_NAMES[served.engine]}, {split}{experts}{speculation}, batch {served.batch}; "
        f"prefill chunk {served.chunk_rows}"
    )


def _source(config: ModelConfig, served: Served) -> str:
    family = family_of(config)
    said = f" {WORKS_FOR[served.engine]}" if served.engine in WORKS_FOR else ""
    how = f"by the rules of {ENGINE_NAMES[served.engine]}{said} for {family.name} models"
    if not family.known:
        how = f"as a normal decoder on {ENGINE_NAMES[served.engine]}, which is assumed"
    return (
        f"Derived from {config.where} {how}: {config.layers} layers, hidden {config.hidden}, vocabulary "
        f"{config.vocabulary}, {config.dtype}. Not traced."
    )


def _notes(config: ModelConfig, served: Served) -> tuple[str, ...]:
    found = [family_of(config).note(config), _mtp_note(config, served), _draft_note(config, served)]
    rows = served.batch * served.window
    if padded_rows(served, served.batch) != rows:
        found.append(f"{rows} rows run in the captured graph of {padded_rows(served, served.batch)}")
    if served.tp * served.pp * served.dp > 1 and not any(spans_nodes(group, served) for group in ("tp", "pp", "dp")):
        found.append(f"every group stays inside a node of {served.gpus_per_node} GPUs: nothing crosses the fabric")
    if not served.chunk:
        found.append(f"prefill chunk of {served.chunk_rows} rows assumed: name yours with --chunk")
    if served.dp > 1 and not config.experts:
        found.append("replicas of a dense model send nothing to each other: these are the collectives of one")
    if served.ep and not config.experts:
        found.append("the model has no experts: --ep changes nothing")
    if config.multimodal:
        found.append("images or sound add their encoder's own calls to a prefill chunk; these are not counted")
    if served.rocenante:
        found.append("RoCEnante carries the messages it takes over: no NCCL variable changes those")
    return tuple(note for note in found if note)


def _mtp_note(config: ModelConfig, served: Served) -> str:
    if not config.mtp_layers or served.spec_tokens:
        return ""
    return f"the config has {config.mtp_layers} MTP layer(s); none counted without --spec-tokens"


def _draft_note(config: ModelConfig, served: Served) -> str:
    kind = draft_kind(served, config)
    if (kind == "mtp" and config.model_type not in KNOWN) or kind == "eagle":
        calls = len(draft_parts(served, config))
        return f"{calls} collectives a draft pass are assumed for this drafter; a COLL trace tells"
    return ""
