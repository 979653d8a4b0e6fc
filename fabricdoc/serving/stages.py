"""From the parts of a pass to the collectives of one decode step and one prefill chunk, in bytes.

Rows and ranks meet widths here. Knows how each engine runs a step (graph or eager); knows no family.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fabricdoc.model.profile import Collective, Stage
from fabricdoc.serving.captures import captured_rows, padded_rows
from fabricdoc.serving.config import ModelConfig
from fabricdoc.serving.drafts import draft_parts, head_dtype
from fabricdoc.serving.exchange import boundary_parts, with_expert_exchange
from fabricdoc.serving.families import family_of
from fabricdoc.serving.groups import bypass_of, size_of, spans_nodes
from fabricdoc.serving.parts import ITEM_BYTES, Part, merged, padded_vocabulary
from fabricdoc.serving.reading import totals
from fabricdoc.serving.served import Served


@dataclass(frozen=True, slots=True)
class Pass:
    """One run of parts: `rows` tokens, `logits` rows of logits; `graphed` where decode graphs hold it."""

    rows: int
    logits: int
    graphed: bool
    suffix: str = ""


def decode_stage(config: ModelConfig, served: Served, batch: int) -> Stage:
    """One decode step of `batch` requests: the target's pass, then each pass of the drafter."""
    rows = padded_rows(served, batch)
    graphed = bool(captured_rows(served)) and rows <= captured_rows(served)[-1]
    requests = -(-rows // served.window)
    exact = batch * served.window if served.engine == "vllm" else rows  # vLLM gathers logits behind the graph
    target = _collectives(_target_parts(config, served), Pass(rows, exact, graphed), config, served)
    drafts: list[Collective] = []
    parts = draft_parts(served, config)
    if parts:
        logits = batch if served.engine == "vllm" else requests
        drafts += _collectives(parts, Pass(rows, logits, graphed, ", pass 1"), config, served)
    for number in range(2, served.spec_tokens + 1 if parts else 0):
        later = Pass(requests, batch if served.engine == "vllm" else requests, graphed, f", pass {number}")
        drafts += _collectives(parts, later, config, served)
    return _stage(rows, (*target, *joined(drafts)))


def prefill_stage(config: ModelConfig, served: Served) -> Stage:
    """One prefill chunk that finishes one prompt; a drafter runs the chunk once."""
    rows = served.chunk_rows
    captured = captured_rows(served)
    graphed = served.graph == "piecewise" and bool(captured) and rows <= captured[-1]
    one = Pass(rows, 1, graphed)
    parts = (*_target_parts(config, served), *draft_parts(served, config))
    return _stage(rows, _collectives(parts, one, config, served))


def _target_parts(config: ModelConfig, served: Served) -> list[Part]:
    family = family_of(config)
    sent = [part for part in family.layers(config, served.tp) if part.place != "ngram" or not served.ngram_local]
    layers = with_expert_exchange(sent, config, served)
    parts = [
        Part("embedding", 1, config.hidden, config.dtype, place="embedding"),
        *layers,
        Part("target logits", 1, padded_vocabulary(config.vocabulary), head_dtype(served, config),
             op="all_gather", per="logits", place="logits"),
        *_token_ids(served),
        *boundary_parts(config, served),
    ]  # fmt: skip
    return [replace(part, assumed=part.assumed or not family.known) for part in parts]


def _token_ids(served: Served) -> list[Part]:
    """SGLang 0.5.23 with SYNC_TOKEN_IDS_ACROSS_TP: the sampled ids are reduced, 8 bytes a row (assumed int64)."""
    if not served.sync_token_ids:
        return []
    return [Part("sampled ids", 1, 2, "int32", per="logits", place="sampler", assumed=True)]


def _collectives(parts: Iterable[Part], one: Pass, config: ModelConfig, served: Served) -> list[Collective]:
    return [_collective(part, one, config, served) for part in merged(list(parts)) if size_of(part.group, served) > 1]


def _collective(part: Part, one: Pass, config: ModelConfig, served: Served) -> Collective:
    rows = one.logits if part.per == "logits" else one.rows
    ranks = size_of(part.group, served)
    size = rows * part.width * ITEM_BYTES[part.dtype]
    if part.op in ("all_gather", "reduce_scatter"):
        size = -(-size // ranks) * ranks  # rows are padded until every rank has as many
    return Collective(
        role=part.role + one.suffix,
        op=part.op,
        count=part.count,
        size=size,
        send_bytes=size // ranks if part.op == "all_gather" else size,
        dtype=part.dtype,
        in_graph=one.graphed and _in_graph(part, config, served),
        group=part.group,
        spans_nodes=spans_nodes(part.group, served),
        bypass=bypass_of(part.op, size, part.group, served),
        confidence="assumed" if part.assumed else "derived",
    )


def _in_graph(part: Part, config: ModelConfig, served: Served) -> bool:
    """vLLM: logits come after the graph, and with images or sound the embedding before it; other engines hold all."""
    if part.place == "sampler" or part.op == "send_recv":
        return False
    if served.engine != "vllm":
        return True
    return part.place not in ("logits", "draft logits") and not (part.place == "embedding" and config.multimodal)


def joined(collectives: list[Collective]) -> list[Collective]:
    """Passes of a drafter that send the same as one row each: "draft logits, passes 1 to 3"."""
    runs: dict[tuple[str, Collective], list[Collective]] = {}
    for one in collectives:
        role = one.role.partition(", pass ")[0]
        runs.setdefault((role, one.model_copy(update={"role": "", "count": 0})), []).append(one)
    return [_run(role, some) for (role, _), some in runs.items()]


def _run(role: str, some: list[Collective]) -> Collective:
    first, last = (one.role.rpartition(" ")[2] for one in (some[0], some[-1]))
    span = f"pass {first}" if first == last else f"passes {first} to {last}"
    return some[0].model_copy(update={"role": f"{role}, {span}", "count": sum(one.count for one in some)})


def _stage(rows: int, collectives: Iterable[Collective]) -> Stage:
    listed = tuple(collectives)
    return Stage(rows=rows, collectives=listed, totals=totals(listed))
