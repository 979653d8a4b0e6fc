"""`scan` and `cables`: look at nodes or at files, prove the links. Read-only on every node."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fabricdoc.cli.options import Hostfile, Json, Nodes, Ports, Python, Slurm, resolve_nodes
from fabricdoc.cli.terminal import screen

if TYPE_CHECKING:
    from fabricdoc.fabric import Question
    from fabricdoc.model.fabric import Fabric
    from fabricdoc.transport import NodeSpec

Watch = Annotated[
    str, typer.Option("--watch", metavar="TIME", help="Read counters twice, this far apart (10s, 1m), and show growth.")
]
Lldp = Annotated[
    bool,
    typer.Option("--lldp", help="Also listen for LLDP for 30 s on every node (needs CAP_NET_RAW); sends nothing."),
]
Save = Annotated[
    Path | None,
    typer.Option("--save", metavar="DIR", help="Also write what was read as a folder that --from reads again."),
]
Anonymize = Annotated[
    bool, typer.Option("--anonymize", help="With --save: replace names, addresses, GUIDs and ids in what is written.")
]
Matched = Annotated[
    list[str],
    typer.Option(
        "--match",
        metavar="VALUE",
        help="Say what this value of NCCL_IB_HCA would take on every node, and whom those ports meet; repeatable. "
        "NCCL_SOCKET_IFNAME=VALUE asks about interfaces.",
    ),
]
Port = Annotated[
    list[int],
    typer.Option(
        "--port",
        metavar="N",
        help="A TCP port that your launcher uses (MASTER_PORT and the like), tried both ways besides one of the "
        "ephemeral range; repeatable; default: 29500.",
    ),
]
FORMATS = ("text", "dot", "mermaid")
Format = Annotated[
    str,
    typer.Option(
        "--format", metavar="FORMAT", help="text (a drawing), dot (Graphviz) or mermaid; a graph goes to stdout alone."
    ),
]
From = Annotated[
    list[Path],
    typer.Option(
        "--from",
        metavar="PATH",
        help="Ask no node, read files instead: folders of --save, and text of ibv_devinfo, show_gids, rdma, ip, "
        "ethtool, mlnx_qos, lspci, nvidia-smi and others. More PATHs may follow.",
    ),
]
More = Annotated[list[Path], typer.Argument(metavar="[PATH]...", help="More files and folders, after --from.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the program."""
    app.command("scan", short_help="Look at nodes; with two or more, prove the cables.")(scan)
    app.command("cables", short_help="Prove which port meets which.")(cables)


def scan(
    nodes: Nodes = [],  # noqa: B006
    hostfile: Hostfile = None,
    slurm: Slurm = False,
    ports: Ports = [],  # noqa: B006
    python: Python = "",
    watch: Watch = "",
    lldp: Lldp = False,
    port: Port = [],  # noqa: B006
    save: Save = None,
    anonymize: Anonymize = False,
    files: From = [],  # noqa: B006
    more: More = [],  # noqa: B006
    as_json: Json = False,
) -> int:
    """Look at the nodes: HCAs, ports, addresses, MTU, GPUs, host; with two or more nodes also the cables.

    With --from no node is asked: the same checks run on saved scans and on the output of other tools.
    """
    asks_nodes = bool(nodes or hostfile or slurm or ports or python or watch or lldp or port)
    _check_files(files, more, asks_nodes=asks_nodes)
    if anonymize and save is None:
        raise typer.BadParameter("--anonymize changes what --save writes: name a folder with --save")
    if files:
        return _replay([*files, *more], as_json, save, anonymize)
    specs = resolve_nodes(nodes, ports, python, hostfile, slurm=slurm)
    return _look(specs, as_json, "all", save, anonymize, _seconds(watch), lldp=lldp, tcp_ports=port)


def cables(
    nodes: Nodes = [],  # noqa: B006
    hostfile: Hostfile = None,
    slurm: Slurm = False,
    ports: Ports = [],  # noqa: B006
    python: Python = "",
    lldp: Lldp = False,
    port: Port = [],  # noqa: B006
    form: Format = "text",
    match: Matched = [],  # noqa: B006
    files: From = [],  # noqa: B006
    more: More = [],  # noqa: B006
    as_json: Json = False,
) -> int:
    """Prove which port meets which, with a few layer-2 frames from RDMA-backed or listed ports.

    Draws the map, and writes for each node the selectors that its proven ports give, ready to paste. With --from no
    node is asked: the map is that of saved scans.
    """
    _check_form(form, match, as_json=as_json)
    _check_files(files, more, asks_nodes=bool(nodes or hostfile or slurm or ports or python or lldp or port))
    from fabricdoc.errors import UsageError
    from fabricdoc.fabric import questions

    asked = questions(match)
    if files:
        return _replay([*files, *more], as_json, part="links", form=form, asked=asked)
    specs = resolve_nodes(nodes, ports, python, hostfile, slurm=slurm)
    if len(specs) < 2 and not asked:
        raise UsageError("cables join at least two nodes", fix=f"fabricdoc cables --nodes {specs[0].target},OTHER_HOST")
    if form != "text":
        return _draw(specs, form, lldp=lldp, tcp_ports=port)
    return _look(specs, as_json, "links", lldp=lldp, tcp_ports=port, asked=asked)


def _check_form(form: str, match: Sequence[str], *, as_json: bool) -> None:
    if form not in FORMATS:
        raise typer.BadParameter(f"--format is one of {', '.join(FORMATS)}, not {form!r}")
    if as_json and form != "text":
        raise typer.BadParameter("--json and --format each say what stdout holds: give one of them")
    if match and form != "text":
        raise typer.BadParameter("--match answers in text or --json: leave --format out")


def _check_files(files: Sequence[Path], more: Sequence[Path], *, asks_nodes: bool) -> None:
    if more and not files:
        raise typer.BadParameter(f"{more[0]}: files come after --from, nodes after --nodes")
    if files and asks_nodes:
        raise typer.BadParameter(
            "--from reads files and asks no node: leave --nodes, --ports, --port, --watch, --lldp out"
        )


def _look(
    specs: Sequence[NodeSpec],
    as_json: bool,
    part: Literal["all", "links"],
    save: Path | None = None,
    anonymize: bool = False,
    watch_s: float = 0.0,
    *,
    lldp: bool = False,
    tcp_ports: Sequence[int] = (),
    asked: Sequence[Question] = (),
) -> int:
    """Start the probes first: they run while this process loads what reads and shows their reports."""
    from fabricdoc.fabric import begin_scan

    _check_place(save)
    _check_ports(tcp_ports)
    begun = begin_scan(specs, watch_s=watch_s)
    from fabricdoc.report import fabric_status
    from fabricdoc.workflow import look_deeply

    out = screen(as_json=as_json)
    fabric = look_deeply(specs, out.progress, begun, watch_s=watch_s, lldp=lldp, tcp_ports=tcp_ports)
    fabric = _with_matches(fabric, asked)
    out.document(fabric, part=part)
    if save is not None:
        from fabricdoc.workflow import save_fabric

        out.next_command(*save_fabric(fabric, save, anonymize=anonymize))
    return fabric_status(fabric)


def _with_matches(fabric: Fabric, asked: Sequence[Question]) -> Fabric:
    from fabricdoc.fabric import matched

    return matched(fabric, asked) if asked else fabric


def _draw(specs: Sequence[NodeSpec], form: str, *, lldp: bool, tcp_ports: Sequence[int]) -> int:
    """The map as a graph for another program on stdout, and nothing else there."""
    from fabricdoc.fabric import begin_scan

    _check_ports(tcp_ports)
    begun = begin_scan(specs)
    from fabricdoc.report import fabric_status, graph_text
    from fabricdoc.workflow import look

    out = screen(as_json=False)
    fabric = look(specs, out.progress, begun, lldp=lldp, tcp_ports=tcp_ports)
    out.text(graph_text(fabric, form))
    return fabric_status(fabric)


def _seconds(watch: str) -> float:
    """How long counters are watched; only a duration given loads what reads one."""
    if not watch:
        return 0.0
    from fabricdoc.workflow import read_duration

    return read_duration(watch) or 0.0


def _replay(
    paths: Sequence[Path],
    as_json: bool,
    save: Path | None = None,
    anonymize: bool = False,
    *,
    part: Literal["all", "links"] = "all",
    form: str = "text",
    asked: Sequence[Question] = (),
) -> int:
    """The same answer from files; there is no node to look at again, so no next command but for a dump written."""
    from fabricdoc.report import fabric_status, graph_text
    from fabricdoc.workflow import replay_fabric, save_fabric

    _check_place(save)
    out = screen(as_json=as_json)
    fabric = _with_matches(replay_fabric(paths, out.progress), asked)
    if form != "text":
        out.text(graph_text(fabric, form))
    elif as_json:
        out.document(fabric)
    else:
        out.show(fabric, part)
    if save is not None:
        out.next_command(*save_fabric(fabric, save, anonymize=anonymize))
    return fabric_status(fabric)


def _check_ports(tcp_ports: Sequence[int]) -> None:
    """Refuse numbers that are no ports before a node is asked; only ports given load what knows."""
    if tcp_ports:
        from fabricdoc.fabric import check_ports

        check_ports(tcp_ports)


def _check_place(save: Path | None) -> None:
    """Refuse a folder that holds something else before a node is asked."""
    if save is not None:
        from fabricdoc.dumps import check_folder

        check_folder(save)
