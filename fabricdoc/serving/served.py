"""How a model is served: ranks and groups, engine, speculation, batches, chunk. What a launch line says, checked.

Numbers only; what they cost on the fabric is worked out by `stages`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from fabricdoc.errors import UsageError
from fabricdoc.serving.config import ModelConfig
from fabricdoc.serving.parts import padded_vocabulary

Engine = Literal["vllm", "sglang", "trtllm"]
Draft = Literal["auto", "mtp", "eagle", "none"]
Graph = Literal["full", "piecewise", "none"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
DRAFTS: tuple[Draft, ...] = get_args(Draft)
GRAPHS: tuple[Graph, ...] = get_args(Graph)

CHUNKS: dict[Engine, int] = {"vllm": 2048, "sglang": 8192, "trtllm": 8192}
"""Tokens of a prefill chunk where nobody says: vLLM 0.33's max_num_batched_tokens on GB10 and other small GPUs;
SGLang 0.5.23's chunked_prefill_size from 60 GB of GPU memory on; TensorRT-LLM's max_num_tokens."""

MOST = {
    "tp": 256,
    "pp": 64,
    "dp": 256,
    "ep": 65536,
    "spec_tokens": 64,
    "batch": 65536,
    "chunk": 1 << 20,
    "max_num_seqs": 65536,
}
MOST_GPUS, MOST_RANKS, MOST_CAPTURES, LARGEST_CAPTURE = 64, 4096, 1024, 1 << 20


@dataclass(frozen=True, slots=True)
class Served:
    """One way to serve. `ep` is the number of ranks experts are spread over (0: not spread).

    `graph` is how decode runs; `captures` the rows (vLLM) or batches (others) it captures, empty where the engine's
    own list is meant; `max_num_seqs` the most requests a step may have, 0 where nobody says. `gpus_per_node` decides
    which groups span nodes. `local_argmax`: the drafter gathers two numbers a row instead of logits. `float32_head`:
    logits are gathered in 4 bytes. `ngram_local`: an n-gram table is whole on every rank. `sync_token_ids`: SGLang
    also reduces the sampled ids. `rocenante`, `symm_mem`,
    `deepep`, `custom_ar`: what carries traffic beside NCCL.
    """

    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 0
    engine: Engine = "vllm"
    spec_tokens: int = 0
    draft: Draft = "auto"
    batch: int = 1
    chunk: int = 0
    graph: Graph = "full"
    captures: tuple[int, ...] = ()
    max_num_seqs: int = 0
    gpus_per_node: int = 1
    local_argmax: bool = False
    float32_head: bool = False
    custom_ar: bool = True
    rocenante: bool = False
    symm_mem: bool = False
    deepep: bool = False
    ngram_local: bool = False
    sync_token_ids: bool = False

    @property
    def ranks(self) -> int:
        """All rank processes of the server."""
        return self.tp * self.pp * self.dp

    @property
    def window(self) -> int:
        """Rows of one request in a decode step: the token and its speculated ones."""
        return self.spec_tokens + 1

    @property
    def chunk_rows(self) -> int:
        """Rows of a prefill chunk: as said, else the engine's own."""
        return self.chunk or CHUNKS[self.engine]


def check_served(served: Served) -> None:
    """Refuse numbers no server has. UsageError naming the option."""
    for name, most in MOST.items():
        least = 1 if name in ("tp", "pp", "dp", "batch") else 0
        if not least <= getattr(served, name) <= most:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} is {getattr(served, name)}, wanted {least} to {most}", id="wrong-number")
    if served.ranks > MOST_RANKS:
        raise UsageError(f"TP x PP x DP is {served.ranks} ranks, more than {MOST_RANKS}", id="wrong-number")
    if not 1 <= served.gpus_per_node <= MOST_GPUS:
        raise UsageError(f"--gpus-per-node is {served.gpus_per_node}, wanted 1 to {MOST_GPUS}", id="wrong-number")
    if len(served.captures) > MOST_CAPTURES or any(not 0 < size <= LARGEST_CAPTURE for size in served.captures):
        raise UsageError(
            f"captured sizes are 1 to {LARGEST_CAPTURE}, at most {MOST_CAPTURES} of them", id="wrong-number"
        )
    if served.max_num_seqs and served.batch > served.max_num_seqs:
        raise UsageError(
            f"--batch {served.batch} is more than --max-num-seqs {served.max_num_seqs} lets into a step",
            fix="name a batch the server can run",
            id="wrong-number",
        )
    if served.ep > 1 and served.ep not in (served.tp * served.dp, served.tp):
        raise UsageError(
            f"--ep {served.ep} is neither TP ({served.tp}) nor TP x DP ({served.tp * served.dp})",
            fix="experts are spread over all ranks of a stage: give --ep that number, or --ep alone",
            id="wrong-ep",
        )


HEADS: tuple[tuple[str, ...], ...] = (
    ("num_attention_heads",),
    ("linear_num_key_heads",),
    ("linear_num_value_heads",),
    ("mamba_num_heads", "mamba_n_heads"),
)
"""Heads that are split over the ranks of a TP group, whatever the engine."""


def check_fits(served: Served, config: ModelConfig) -> None:
    """Whether this model can be split so. UsageError naming the field that does not divide."""
    for keys in HEADS:
        count = config.number(*keys)
        if count % served.tp:
            raise _split(served, config, f"{count} {next(key for key in keys if config.value(key) is not None)}")
    shared = config.number("num_key_value_heads")
    if shared and shared % served.tp and served.tp % shared:
        raise _split(served, config, f"{shared} num_key_value_heads")
    if padded_vocabulary(config.vocabulary) % served.tp:
        raise _split(served, config, f"a vocabulary of {padded_vocabulary(config.vocabulary)}")
    if served.pp > config.layers:
        raise UsageError(f"--pp {served.pp} is more than the {config.layers} layers of {config.where}", id="wrong-pp")


def _split(served: Served, config: ModelConfig, what: str) -> UsageError:
    heads = config.number("num_attention_heads")
    fitting = [n for n in (1, 2, 4, 8, 16) if n != served.tp and heads and heads % n == 0]
    hint = f"--tp {' or '.join(map(str, fitting))} divides the attention heads" if fitting else "name another --tp"
    return UsageError(f"--tp {served.tp} does not split {what} of {config.where}", fix=hint, id="wrong-tp")
