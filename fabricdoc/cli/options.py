"""Options that several commands share, and how they turn into nodes and a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fabricdoc.store import RunStore
    from fabricdoc.transport import Config, NodeSpec

Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Nodes = Annotated[
    list[str],
    typer.Option(
        "--nodes",
        "-n",
        help="Nodes as [NAME=]TARGET, comma separated; TARGET is local, [user@]host[:port], netns:PID, "
        "slurm:NODE, mpirun:NODE, k8s:[NS/]POD[:CONTAINER], docker: or podman:[NODE/]CONTAINER. Sets: node[001-128].",
    ),
]
Hostfile = Annotated[
    Path | None,
    typer.Option(
        "--hostfile",
        metavar="FILE",
        help="The nodes, one a line: [NAME=]TARGET, Open MPI's `host slots=8`, MPICH's `host:8`, plain names.",
    ),
]
Slurm = Annotated[bool, typer.Option("--slurm", help="Every node of the Slurm allocation this runs in, by srun.")]
Ports = Annotated[
    list[str],
    typer.Option(
        "--ports", help="Ports beacons may leave from, comma separated, shell patterns; default: RDMA-backed ports."
    ),
]
Python = Annotated[
    str, typer.Option("--python", help="The python to use on every node (one that has torch, for bench).")
]
Store = Annotated[Path | None, typer.Option("--store", help="The file of runs (default: under the XDG state folder).")]
Presets = Annotated[
    list[Path], typer.Option("--presets", help="A folder with your own candidates and profiles; it wins.")
]
RunArgument = Annotated[str | None, typer.Argument(metavar="[RUN]", help="A run's id; the latest one by default.")]


def split(items: Sequence[str]) -> list[str]:
    """Comma lists and repeated options alike, as one list without empty words."""
    return [word.strip() for item in items for word in item.split(",") if word.strip()]


def resolve_nodes(
    nodes: Sequence[str],
    ports: Sequence[str] = (),
    python: str = "",
    hostfile: Path | None = None,
    *,
    slurm: bool = False,
) -> tuple[NodeSpec, ...]:
    """The nodes meant: one of --nodes, --hostfile and --slurm, else fabric.toml, else this machine.

    --ports and --python beat what the file says of a node.
    """
    from fabricdoc.transport import load_config

    if sum((bool(nodes), hostfile is not None, slurm)) > 1:
        raise typer.BadParameter("--nodes, --hostfile and --slurm each name the nodes: give one of them")
    specs = _named(nodes, load_config(), hostfile, slurm)
    if ports:
        specs = tuple(replace(spec, ports=tuple(split(ports))) for spec in specs)
    if python:
        specs = tuple(replace(spec, python=python) for spec in specs)
    return specs


def nodes_if_named(
    nodes: Sequence[str], python: str = "", hostfile: Path | None = None, *, slurm: bool = False
) -> tuple[NodeSpec, ...]:
    """The nodes that the command line names, () where it names none and the command has nodes of its own to take."""
    return resolve_nodes(nodes, (), python, hostfile, slurm=slurm) if nodes or hostfile or slurm else ()


def _named(nodes: Sequence[str], config: Config, hostfile: Path | None, slurm: bool) -> tuple[NodeSpec, ...]:
    from fabricdoc.transport import allocated_nodes, parse_nodes, read_hostfile

    if slurm:
        return allocated_nodes(config)
    return parse_nodes(nodes, config) if hostfile is None else read_hostfile(hostfile, config)


def open_store(path: Path | None, *, write: bool, make: bool = True) -> RunStore:
    """The run store, opened for reading or writing; without `make` one that isn't there stays so, and is empty."""
    from fabricdoc.store import RunStore

    return RunStore.open(path, write=write, make=make)
