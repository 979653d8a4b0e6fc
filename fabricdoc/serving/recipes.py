"""A recipe's .env as users have it: the variables that become the server's options, with the recipe's own defaults.

MiaAI-Lab's Dual DGX Spark recipes (the vLLM and the SGLang one) and eugr/spark-vllm-docker's CONTAINER_ lines are
known; other files give what their variables' names say plainly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fabricdoc.serving.launch import find_launch, whole
from fabricdoc.serving.launched import Found, from_launch, with_environment
from fabricdoc.serving.served import Served
from fabricdoc.serving.shell import words_of

CONTAINER = "CONTAINER_"
NUMBERS = {
    "TENSOR_PARALLEL_SIZE": "tp",
    "TP_SIZE": "tp",
    "PIPELINE_PARALLEL_SIZE": "pp",
    "PP_SIZE": "pp",
    "DATA_PARALLEL_SIZE": "dp",
    "MAX_NUM_SEQS": "max_num_seqs",
    "MAX_RUNNING_REQUESTS": "max_num_seqs",
    "MAX_NUM_BATCHED_TOKENS": "chunk",
    "CHUNKED_PREFILL_SIZE": "chunk",
    "MTP_NUM_SPECULATIVE_TOKENS": "spec_tokens",
    "NUM_SPECULATIVE_TOKENS": "spec_tokens",
    "SPEC_STEPS": "spec_tokens",
}
MODELS = ("MODEL_ID", "MODEL_PATH", "MODEL")
SGLANG = ("SPEC_STEPS", "MAX_RUNNING_REQUESTS", "CHUNKED_PREFILL_SIZE", "MEM_FRACTION_STATIC")
EXTRA = {"EXTRA_VLLM_ARGS": ("vllm", "serve", "MODEL"), "EXTRA_ARGS": ("sglang", "serve")}
DUAL_SPARK = ("HEAD_IP", "WORKER_IP", "IFACE", "IB_HCA", "TENSOR_PARALLEL_SIZE", "MAX_NUM_BATCHED_TOKENS")
"""What start.sh of the vLLM recipe insists on: a file with all of these is its .env."""
DUAL_SPARK_DEFAULTS = {"ENABLE_EXPERT_PARALLEL": "true", "MTP_NUM_SPECULATIVE_TOKENS": "3"}
"""What that start.sh takes where the .env is silent (start.sh, "Validate required variables")."""
TWO_NODES = ("WORKER_IP", "WORKER_HOST", "WORKER_CX7_IP", "WORKER_SSH")


def is_recipe(values: Mapping[str, str]) -> bool:
    """Whether these variables say how a model is served at all."""
    return any(name in values for name in (*NUMBERS, *MODELS))


def from_recipe(values: Mapping[str, str]) -> Found:
    """What the recipe serves. UsageError naming the variable whose value can't be read."""
    given = {**values, **{name.removeprefix(CONTAINER): value for name, value in values.items()}}
    dual = all(name in given for name in DUAL_SPARK)
    if dual:
        given = DUAL_SPARK_DEFAULTS | {name: value for name, value in given.items() if value}
    served = _numbers(_extra(given), given)
    if served.tp == 1 and any(given.get(name) for name in TWO_NODES) and not any(n in given for n in _named("tp")):
        served = replace(served, tp=2)  # one rank on each of the two nodes, as those recipes launch
    if _on(given, "ENABLE_EXPERT_PARALLEL"):
        served = replace(served, ep=served.tp * served.dp)
    served = replace(
        served,
        local_argmax=served.local_argmax or bool(given.get("MTP_DRAFT_VOCAB")),
        ngram_local=served.ngram_local or _on(given, "PLE_OFFLOAD"),
        draft="mtp" if served.spec_tokens and served.draft == "auto" and _is_mtp(given) else served.draft,
    )
    model = next((given[name] for name in MODELS if given.get(name)), "")
    notes = ("what the .env leaves out is taken as start.sh does: experts spread, 3 MTP tokens",) if dual else ()
    return Found(with_environment(served, given), model, notes)


def _extra(given: Mapping[str, str]) -> Served:
    """The engine, and what the free-form arguments say."""
    for name, lead in EXTRA.items():
        launch = find_launch([*lead, *words_of(given[name])]) if given.get(name) else None
        if launch is not None:
            return from_launch(launch, {}).served
    return Served(engine="sglang" if any(name in given for name in SGLANG) else "vllm")


def _numbers(served: Served, given: Mapping[str, str]) -> Served:
    numbers = {key: whole(given[name], name) for name, key in NUMBERS.items() if given.get(name)}
    captures = given.get("CUDA_GRAPH_BS", "").replace(",", " ").split()
    if captures:
        served = replace(served, captures=tuple(sorted({whole(word, "CUDA_GRAPH_BS") for word in captures} - {0})))
    return replace(served, **{key: value for key, value in numbers.items() if value})  # type: ignore[arg-type]


def _named(key: str) -> list[str]:
    return [name for name, number in NUMBERS.items() if number == key]


def _on(given: Mapping[str, str], name: str) -> bool:
    return given.get(name, "").lower() in ("1", "true", "yes", "on")


def _is_mtp(given: Mapping[str, str]) -> bool:
    return any(name in given for name in ("MTP_NUM_SPECULATIVE_TOKENS", "SPEC_STEPS"))
