"""`profile`: what a served model sends per step. Derive it from a config, count it from a log, list and show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from fabricdoc.cli.options import Json, Presets
from fabricdoc.cli.terminal import screen

Config = Annotated[
    Path | None, typer.Argument(metavar="[CONFIG]", help="The model's config.json, or the folder that has it.")
]


class _BareEp(TyperCommand):
    """`--ep` without a number means: over all ranks (as vLLM's flag is); with one, over that many (as SGLang's)."""

    bare = frozenset({"--ep"})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_ep_number(args))


def with_ep_number(args: Sequence[str]) -> list[str]:
    """The words with every bare `--ep` followed by a number: -1, all ranks."""
    made: list[str] = []
    for place, word in enumerate(args):
        following = args[place + 1] if place + 1 < len(args) else ""
        made.append("--ep=-1" if word == "--ep" and not following.isdecimal() else word)
    return made


def register(app: typer.Typer) -> None:
    """Add the group to the program."""
    group = typer.Typer(
        help="What a served model sends: derive, trace, list or show.", no_args_is_help=True, rich_markup_mode=None
    )
    group.command("derive", cls=_BareEp)(derive)
    group.command("trace")(trace)
    group.command("list")(list_profiles)
    group.command("show")(show)
    app.add_typer(group, name="profile")


def derive(
    config: Config = None,
    tp: Annotated[int | None, typer.Option("--tp", help="Tensor-parallel ranks.")] = None,
    pp: Annotated[int | None, typer.Option("--pp", help="Pipeline stages.")] = None,
    dp: Annotated[int | None, typer.Option("--dp", help="Data-parallel replicas (of the attention).")] = None,
    ep: Annotated[int | None, typer.Option("--ep", help="Spread experts: alone over all ranks, or how many.")] = None,
    engine: Annotated[str | None, typer.Option("--engine", help="vllm, sglang or trtllm.")] = None,
    spec_tokens: Annotated[int | None, typer.Option("--spec-tokens", help="Speculated tokens a request.")] = None,
    draft: Annotated[str | None, typer.Option("--draft", help="Who drafts: mtp, eagle or none (ngram).")] = None,
    batch: Annotated[int | None, typer.Option("--batch", help="Requests in a decode step.")] = None,
    chunk: Annotated[int | None, typer.Option("--chunk", help="Tokens of a prefill chunk.")] = None,
    graph: Annotated[str | None, typer.Option("--graph", help="How decode runs: full, piecewise or none.")] = None,
    max_num_seqs: Annotated[
        int | None, typer.Option("--max-num-seqs", help="Most requests in a step: score every captured batch to it.")
    ] = None,
    capture_sizes: Annotated[
        list[str], typer.Option("--capture-sizes", help="Captured sizes where they aren't the engine's own (1,2,4,8).")
    ] = [],  # noqa: B006
    gpus_per_node: Annotated[
        int | None, typer.Option("--gpus-per-node", help="Ranks on each node: a group inside one crosses nothing.")
    ] = None,
    sources: Annotated[
        list[str],
        typer.Option(
            "--from",
            help="How it is served: a launch line, a script or .env with one, pid:N, container:NAME. "
            "Options win over it.",
        ),
    ] = [],  # noqa: B006
    step_ms: Annotated[
        float | None, typer.Option("--step-ms", help="A decode step's time without communication, if you know it.")
    ] = None,
    tokens_per_step: Annotated[
        float | None, typer.Option("--tokens-per-step", help="Tokens a step gives (default: one a request).")
    ] = None,
    name: Annotated[str, typer.Option("--name", help="The profile's name.")] = "",
    as_json: Json = False,
) -> int:
    """Derive what one decode step and one prefill chunk send, from the model's config and how it is served."""
    from fabricdoc.serving import Asked
    from fabricdoc.serving import derive as derived

    numbers = {
        "tp": tp, "pp": pp, "dp": dp, "ep": ep, "spec_tokens": spec_tokens, "batch": batch, "chunk": chunk,
        "max_num_seqs": max_num_seqs, "gpus_per_node": gpus_per_node,
    }  # fmt: skip
    asked = Asked(
        config=config,
        numbers={key: value for key, value in numbers.items() if value is not None},
        words={key: value for key, value in (("engine", engine), ("draft", draft), ("graph", graph)) if value},
        captures=capture_sizes,
        sources=sources,
        step_ms=step_ms,
        tokens=tokens_per_step,
        name=name,
    )
    screen(as_json=as_json).document(derived(asked))
    return 0


def trace(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="COLL logs, or a folder of them.")],
    config: Annotated[
        Path | None, typer.Option("--config", help="The model's config.json: names the calls, checks the rules.")
    ] = None,
    tp: Annotated[int | None, typer.Option("--tp", help="Tensor-parallel ranks, with --config.")] = None,
    engine: Annotated[str | None, typer.Option("--engine", help="vllm, sglang or trtllm, with --config.")] = None,
    spec_tokens: Annotated[int | None, typer.Option("--spec-tokens", help="Speculated tokens, with --config.")] = None,
    batch: Annotated[int | None, typer.Option("--batch", help="The captured batch, with --config.")] = None,
    chunk: Annotated[int | None, typer.Option("--chunk", help="Tokens of the traced chunk, with --config.")] = None,
    sources: Annotated[list[str], typer.Option("--from", help="How it is served, as for derive.")] = [],  # noqa: B006
    steps: Annotated[int, typer.Option("--steps", min=0, help="Decode steps in the log, if you know.")] = 0,
    chunks: Annotated[int, typer.Option("--chunks", min=0, help="Prefill chunks in the log, if you know.")] = 0,
    prefill_from: Annotated[
        int, typer.Option("--prefill-from", min=1, help="Bytes of an all-reduce that is a prefill chunk's.")
    ] = 1 << 20,
    step_ms: Annotated[float | None, typer.Option("--step-ms", help="A step's time without communication.")] = None,
    name: Annotated[str, typer.Option("--name", help="The profile's name.")] = "",
    as_json: Json = False,
) -> int:
    """Count what a server really sends, from a log taken with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL."""
    from fabricdoc.serving import Asked, Trace
    from fabricdoc.serving import trace as traced

    numbers = {"tp": tp, "spec_tokens": spec_tokens, "batch": batch, "chunk": chunk}
    asked = Asked(
        config=config,
        numbers={key: value for key, value in numbers.items() if value is not None},
        words={"engine": engine} if engine else {},
        sources=sources,
        step_ms=step_ms,
        name=name,
    )
    how = Trace(steps=steps, chunks=chunks, prefill_from=prefill_from)
    screen(as_json=as_json).document(traced(logs, how, asked))
    return 0


def list_profiles(presets: Presets = [], as_json: Json = False) -> int:  # noqa: B006
    """List the profiles that are known by name."""
    from fabricdoc import workflow
    from fabricdoc.serving import list_profiles as listed
    from fabricdoc.serving import load_profile

    folders = workflow.read_folders(presets)
    screen(as_json=as_json).profiles([load_profile(name, folders) for name in listed(folders)])
    return 0


def show(
    profile: Annotated[str, typer.Argument(metavar="PROFILE", help="A profile's name or file.")],
    presets: Presets = [],  # noqa: B006
    as_json: Json = False,
) -> int:
    """Show a profile: every collective of a step and of a chunk, with the source of the counts."""
    from fabricdoc import workflow
    from fabricdoc.serving import load_profile

    screen(as_json=as_json).document(load_profile(profile, workflow.read_folders(presets)))
    return 0
