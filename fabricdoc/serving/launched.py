"""From a launch line and its environment to one way to serve: the three engines' options under one set of names.

What an option's absence means is the engine's default where it is known; what is not in the line at all (where ranks
sit) becomes a note.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fabricdoc.serving.launch import Launch, whole
from fabricdoc.serving.served import Draft, Served

TP = ("--tensor-parallel-size", "--tp-size", "--tp")
PP = ("--pipeline-parallel-size", "--pp-size", "--pp")
DP = ("--data-parallel-size", "--dp-size", "--dp")
EP_SIZE = ("--expert-parallel-size", "--ep-size", "--ep")
CHUNK = {
    "vllm": ("--max-num-batched-tokens",),
    "sglang": ("--chunked-prefill-size",),
    "trtllm": ("--max-num-tokens",),
}
SEQUENCES = {
    "vllm": ("--max-num-seqs",),
    "sglang": ("--max-running-requests", "--cuda-graph-max-bs"),
    "trtllm": ("--max-batch-size",),
}
MODEL = ("--model", "--model-path", "--hf-config-path")
EAGER = ("--enforce-eager", "--disable-cuda-graph")
CAPTURES = ("--cudagraph-capture-sizes", "--cuda-graph-sizes", "--cuda-graph-bs", "--cuda-graph-bs-decode")
FILES = ("--config", "--extra-llm-api-options", "--config-file")
NO_DRAFTER = ("ngram", "suffix", "lookahead")
NEEDS_MODEL = "--speculative-draft-model-path"


@dataclass(frozen=True, slots=True)
class Found:
    """How a server is started, as far as its own words say: `model` a path or a name, "" where none is named."""

    served: Served
    model: str = ""
    notes: tuple[str, ...] = ()


def from_launch(launch: Launch, environ: Mapping[str, str]) -> Found:
    """What this launch says. UsageError for an option whose value can't be read."""
    tp, pp, dp = (launch.number(*names) or 1 for names in (TP, PP, DP))
    if launch.engine == "sglang" and dp > 1:
        tp, dp, replicas = _sglang_replicas(launch, tp, dp)
    else:
        replicas = ()
    served = Served(
        tp=tp,
        pp=pp,
        dp=dp,
        engine=launch.engine,
        ep=_experts(launch, tp * dp),
        chunk=max(0, _number(launch, CHUNK[launch.engine])),
        max_num_seqs=_number(launch, SEQUENCES[launch.engine]),
        graph="none" if launch.has(*EAGER) else "full",
        captures=tuple(sorted({whole(word, CAPTURES[0]) for word in _capture_words(launch)} - {0})),
        custom_ar=not launch.has("--disable-custom-all-reduce"),
        float32_head=launch.has("--enable-fp32-lm-head"),
        symm_mem=launch.has("--enable-symm-mem"),
        deepep=_is_deepep(launch),
    )
    served = _speculation(launch, _compiled(launch, served))
    served, notes = _nodes(launch, served)
    notes = (*notes, *(f"{name} names a file that is not read here" for name in FILES if name in launch.options))
    if not served.max_num_seqs:
        notes = (*notes, f"no {SEQUENCES[launch.engine][0]} in the launch line: captured batches are not counted")
    model = launch.first(*MODEL) or next(iter(launch.positional), "")
    return Found(with_environment(served, environ), model, (*replicas, *notes))


def with_environment(served: Served, environ: Mapping[str, str]) -> Served:
    """`served` with what the engines' own variables switch on."""
    backend = environ.get("VLLM_ALL2ALL_BACKEND", "")
    return replace(
        served,
        rocenante=served.rocenante or environ.get("VLLM_ENABLE_ROCE_ALLREDUCE") == "1",
        symm_mem=served.symm_mem or environ.get("VLLM_USE_NCCL_SYMM_MEM") == "1",
        deepep=served.deepep or "deepep" in backend,
        sync_token_ids=served.engine == "sglang"
        and environ.get("SYNC_TOKEN_IDS_ACROSS_TP", "").lower() in ("1", "true", "yes"),
    )


def _number(launch: Launch, names: tuple[str, ...]) -> int:
    word = launch.first(*names)
    return 0 if word in (None, "", "-1", "auto") else launch.number(*names) or 0


def _sglang_replicas(launch: Launch, tp: int, dp: int) -> tuple[int, int, tuple[str, ...]]:
    """SGLang's --dp: with DP attention the TP ranks are divided into it, without it replicas have nothing in common."""
    if launch.has("--enable-dp-attention") and tp % dp == 0:
        return tp // dp, dp, ()
    return tp, 1, (f"{dp} independent replicas: these are the collectives of one",)


def _experts(launch: Launch, ranks: int) -> int:
    if launch.has("--enable-expert-parallel", "--enable-ep-moe"):
        return ranks
    size = launch.number(*EP_SIZE) or 0
    return ranks if size > 1 else 0


def _is_deepep(launch: Launch) -> bool:
    backend = launch.first("--all2all-backend", "--moe-a2a-backend") or ""
    return "deepep" in backend or launch.has("--enable-deepep-moe")


def _capture_words(launch: Launch) -> list[str]:
    words = next((launch.options[name] for name in CAPTURES if name in launch.options), ())
    return [part for word in words for part in word.replace(",", " ").split()]


def _compiled(launch: Launch, served: Served) -> Served:
    """vLLM's --compilation-config: its capture sizes and how decode is captured."""
    table = _table(launch, "--compilation-config")
    sizes = table.get("cudagraph_capture_sizes")
    mode = str(table.get("cudagraph_mode", "")).upper()
    if isinstance(sizes, list) and not served.captures:
        good = {size for size in sizes if isinstance(size, int) and not isinstance(size, bool) and 0 < size < 1 << 20}
        served = replace(served, captures=tuple(sorted(good)))
    if mode in ("NONE", "PIECEWISE", "FULL_AND_PIECEWISE") and served.graph != "none":
        served = replace(served, graph="none" if mode == "NONE" else "piecewise")
    return served


def _table(launch: Launch, option: str) -> dict[str, Any]:
    """A JSON option as a table, with its dotted keys (`--speculative-config.num_speculative_tokens 3`) laid over."""
    word = launch.first(option) or ""
    try:
        found = json.loads(word) if word.lstrip().startswith("{") else {}
    except (ValueError, RecursionError):
        found = {}
    dotted = {name[len(option) + 1 :]: words for name, words in launch.options.items() if name.startswith(f"{option}.")}
    return found | {name: _plain(words[0]) for name, words in dotted.items() if words}


def _plain(word: str) -> int | bool | str:
    if word.isdecimal() and len(word) < 10:
        return int(word)
    return {"true": True, "false": False}.get(word.lower(), word)


def _speculation(launch: Launch, served: Served) -> Served:
    if launch.engine == "sglang":
        return _sglang_speculation(launch, served)
    if launch.engine == "trtllm":
        return served
    table = _table(launch, "--speculative-config")
    tokens = table.get("num_speculative_tokens", launch.number("--num-speculative-tokens"))
    if not isinstance(tokens, int) or isinstance(tokens, bool) or not 0 < tokens <= 64:
        return served
    argmax = table.get("use_local_argmax_reduction") is True
    return replace(served, spec_tokens=tokens, draft=_drafter(str(table.get("method", ""))), local_argmax=argmax)


def _drafter(method: str) -> Draft:
    if any(name in method.lower() for name in NO_DRAFTER):
        return "none"
    if "mtp" in method.lower() or method.upper() == "NEXTN":
        return "mtp"
    return "eagle" if method and method.lower() != "auto" else "auto"


def _sglang_speculation(launch: Launch, served: Served) -> Served:
    """EAGLE without a draft model of its own means the checkpoint's MTP layers; the verify window is draft tokens."""
    algorithm = launch.first("--speculative-algorithm", "--speculative-algo")
    if not algorithm or algorithm.upper() == "NONE":
        return served
    steps = launch.number("--speculative-num-steps") or 0
    window = launch.number("--speculative-num-draft-tokens") or 0
    draft = _drafter(algorithm)
    if draft == "eagle" and launch.first(NEEDS_MODEL) is None:
        draft = "auto"
    return replace(served, spec_tokens=min(64, window - 1 if window > 1 else steps or 3), draft=draft)


def _nodes(launch: Launch, served: Served) -> tuple[Served, tuple[str, ...]]:
    """Ranks on each node, by --nnodes or by what trtllm-serve is told; else one, and a note."""
    nodes, per_node = launch.number("--nnodes", "-n"), launch.number("--gpus-per-node")
    if per_node:
        return replace(served, gpus_per_node=min(64, per_node)), ()
    if nodes and served.ranks % nodes == 0 and served.ranks // nodes <= 64:
        return replace(served, gpus_per_node=served.ranks // nodes), ()
    if served.ranks == 1:
        return served, ()
    return served, ("the launch line does not say where ranks sit: one a node is taken (--gpus-per-node)",)
