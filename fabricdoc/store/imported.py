"""Output of nccl-tests, text or JSON, as a run: one launch per file, so that it can be listed, exported and compared.

Read as nccl-tests 2.19 writes it (src/util.cu: the table of `writeResultHeader`, with the columns of -I or without;
the JSON of -J, version 1 and 2). Its times are means over the calls of a loop, or of graph replays with -G: they stand
in the views "throughput" and "graph", with p95 and p99 only where -I and -J gave them, else equal to the mean. Only the
numbers, the shapes and what ran where are kept: the environment in the JSON may hold secrets and is not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabricdoc.errors import InputError
from fabricdoc.files import read_text
from fabricdoc.model.documents import Unknown, utc_now
from fabricdoc.model.run import Candidate, Cell, Estimate, Launch, NodeContext, Plan, Rank, Run
from fabricdoc.store.runs import RunStore

OPS = {
    "all_reduce": "all_reduce", "all_gather": "all_gather", "reduce_scatter": "reduce_scatter",
    "broadcast": "broadcast", "alltoall": "all_to_all", "sendrecv": "send_recv",
}  # fmt: skip
TYPES = {"half": "float16", "float": "float32", "bfloat16": "bfloat16", "int32": "int32"}
MOST_ROWS = 10_000
ROW = re.compile(r"\s*(?P<size>\d+)\s+\d+\s+(?P<dtype>[a-z][a-z0-9_]*)\s+\S+\s+-?\d+\s+(?P<rest>[-+0-9.eN/Ana\s]+)$")
STARTED = re.compile(r"# Collective test starting: (?:\S*/)?(\w+?)(?:_perf)?\s*$")
SETUP = re.compile(r"# nThread .*? iters: (\d+) agg iters.*?(?: graph: (\d+))?(?: unalign.*)?$")
LIBRARY = re.compile(r"# nccl-tests version (\S+) .*nccl-library=(\d+)")
RANK = re.compile(r"#\s+Rank\s+(\d+) .* on\s+(\S+) device\s+(\d+) \[[^\]]*\] (.{1,120})$")
NOTE = "imported from nccl-tests: each time is a mean over the calls of a launch"


@dataclass
class Output:
    """What one file holds. `graph` and `calls` as nccl-tests was told; `ranks` are (rank, host, device, GPU)."""

    op: str = ""
    calls: int = 1
    graph: bool = False
    library: str = ""
    ranks: list[tuple[int, str, int, str]] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)


def read_nccl_tests(paths: Sequence[Path], run_id: str) -> Run:
    """The run that these files are, one launch each, in the order given.

    Raises InputError for a file that is no output of nccl-tests, of an op that fabricdoc has no name for, without any
    result, or of other ranks than the files before it.
    """
    outputs = [_read(path) for path in paths]
    if not outputs:
        raise InputError("no file to import", fix="name the output of nccl-tests: text, or the JSON of its -J")
    for path, output in zip(paths, outputs, strict=True):
        if [rank[:3] for rank in output.ranks] != [rank[:3] for rank in outputs[0].ranks]:
            raise InputError(f"{path} was measured on other ranks than {paths[0]}", fix="import it as a run of its own")
    launches = [_launch(number, path, one) for number, (path, one) in enumerate(zip(paths, outputs, strict=True), 1)]
    first = outputs[0]
    return Run(
        id=run_id, status="complete", reason=NOTE, plan=_plan(outputs), nodes=_nodes(first), launches=tuple(launches),
        links=Unknown(unknown="nccl-tests knows no links"),
    )  # fmt: skip


def keep_imported(store: RunStore, run: Run) -> None:
    """Store an imported run whole. Raises StoreError."""
    store.begin(run.model_copy(update={"status": "running", "launches": ()}))
    for launch in run.launches:
        store.append_launch(run.id, launch, {})
    store.finish(run.id, "complete", run.reason)


def _read(path: Path) -> Output:
    text = read_text(path, str(path), fix="name a file that nccl-tests wrote")
    output = _from_json(text, path) if text.lstrip().startswith("{") else _from_text(text)
    if output.op not in OPS:
        known = ", ".join(OPS)
        what = f"is of {output.op!r}" if output.op else "says nowhere which collective it is of"
        raise InputError(f"{path} {what}: no output of nccl-tests that can be imported", fix=f"known are {known}")
    if not output.cells:
        raise InputError(f"{path} holds no result", fix="name the whole output of a test that came to its end")
    return output


def _from_text(text: str) -> Output:
    output, view = Output(), "throughput"
    for line in text.splitlines():
        if found := STARTED.match(line):
            output.op = found[1]
        elif found := SETUP.match(line):
            output.calls, output.graph = max(1, int(found[1])), int(found[2] or 0) > 0
            view = "graph" if output.graph else "throughput"
        elif found := LIBRARY.match(line):
            output.library = _release(int(found[2]))
        elif found := RANK.match(line):
            output.ranks.append((int(found[1]), found[2], int(found[3]), found[4].strip()))
        elif (found := ROW.match(line)) and len(output.cells) < MOST_ROWS:
            output.cells += _row(found, view, output)
    return output


def _row(found: re.Match[str], view: str, output: Output) -> Iterator[Cell]:
    """The two halves of a row: out of place, then in place, each of time, algbw, busbw, #wrong (and four of -I)."""
    words = found["rest"].split()
    half = 8 if len(words) >= 16 else 4
    for in_place in (False, True):
        part = words[half * in_place : half * (in_place + 1)]
        if len(part) == half and (time := _number(part[0])) is not None:
            tail = {"max_us": _number(part[5]), "p99_us": _number(part[6])} if half == 8 else {}
            yield _cell(view, output, int(found["size"]), found["dtype"], in_place, time, _number(part[3]), tail)


def _number(word: object) -> float | None:
    try:
        value = float(str(word))
    except ValueError:
        return None
    return value if 0.0 <= value < 1e15 else None


def _cell(
    view: str, output: Output, size: int, dtype: str, in_place: bool, time: float, wrong: float | None,
    tail: Mapping[str, float | None],
) -> Cell:  # fmt: skip
    known = {name: value for name, value in tail.items() if value is not None}
    quantiles = {"p95_us": time, "p99_us": time, "max_us": time} | known
    return Cell(
        view=view, op=OPS.get(output.op, "all_reduce"), size=size, dtype=TYPES.get(dtype, dtype), in_place=in_place,  # type: ignore[arg-type]
        calls=output.calls, median_us=time, correct=not wrong, **quantiles,
    )  # fmt: skip


def _from_json(text: str, path: Path) -> Output:
    try:
        content: Any = json.loads(text)
        program = STARTED.match(f"# Collective test starting: {content['args'][0]}")
        config = content["config"]
        output = Output(
            op=program[1] if program else "",
            calls=max(1, int(config["iterations"])),
            graph=int(config.get("graph") or 0) > 0,
            library=_release(int(content["nccl_version"])),
            ranks=[
                (int(one["rank"]), str(one["hostname"])[:120], int(one["device"]), str(one["device_info"])[:120])
                for one in config["devices"]
            ],
        )
        view = "graph" if output.graph else "throughput"
        for row in content["results"][:MOST_ROWS]:
            output.cells += _json_row(row, view, output)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path} is no JSON of nccl-tests: {type(error).__name__} {error}", fix="name a file its -J wrote"
        ) from error
    return output


def _json_row(row: Mapping[str, Any], view: str, output: Output) -> Iterator[Cell]:
    for name, in_place in (("out_of_place", False), ("in_place", True)):
        part = row.get(name)
        if not part:
            continue
        time = _number(part["time"] if "time" in part else part["cpu_time"])
        per_call = row.get(f"{name}_per_iter") or {}
        tail = {f"{one}_us": _number(per_call.get(f"{one}_us")) for one in ("p95", "p99", "max")}
        if time is not None:
            yield _cell(view, output, int(row["size"]), str(row["type"]), in_place, time, _number(part["nwrong"]), tail)


def _release(code: int) -> str:
    """NCCL's version code as text: 22809 is 2.28.9 (NCCL_VERSION in nccl.h.in)."""
    if code < 10_000:
        return f"{code // 1000}.{code // 100 % 10}.{code % 100}"
    return f"{code // 10_000}.{code // 100 % 100}.{code % 100}"


def _launch(number: int, path: Path, output: Output) -> Launch:
    wrong = [cell for cell in output.cells if not cell.correct]
    return Launch(
        number=number, round="search", block=number, position=0, candidate="base",
        status="incorrect" if wrong else "ok", reason=f"{len(wrong)} results were wrong" if wrong else "",
        seconds=0.0, started=utc_now(), cells=tuple(output.cells), log_tail=(path.name[:200],),
    )  # fmt: skip


def _hosts(output: Output) -> list[str]:
    return list(dict.fromkeys(host for _, host, _, _ in output.ranks)) or ["unknown"]


def _plan(outputs: Sequence[Output]) -> Plan:
    first = outputs[0]
    ranks = [Rank(rank=rank, node=host, local_rank=device) for rank, host, device, _ in first.ranks]
    return Plan(
        backend="nccl", ranks=tuple(ranks) or (Rank(rank=0, node="unknown", local_rank=0),),
        candidates=(Candidate(name="base", role="base", why="as nccl-tests was started", on_base=False),),
        shapes=(), views=tuple(dict.fromkeys(cell.view for one in outputs for cell in one.cells)), blocks=len(outputs),
        seed=0, launch_deadline_s=0.0, profile="", objective="mix",
        estimate=Estimate(launches=len(outputs), seconds=0.0, bytes_per_link=0, memory_per_node=0),
    )  # fmt: skip


def _nodes(output: Output) -> tuple[NodeContext, ...]:
    unknown = Unknown(unknown="nccl-tests does not say")
    return tuple(
        NodeContext(
            name=host, target=host, hostname=host, kernel=unknown, torch=Unknown(unknown="nccl-tests uses no torch"),
            nccl=output.library or unknown, nvidia_driver=unknown,
            gpus=tuple(gpu for _, where, _, gpu in output.ranks if where == host),
        )
        for host in _hosts(output)
    )  # fmt: skip
