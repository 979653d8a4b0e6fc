"""The job that a gate is asked about: the variables it will have on each node, and its ports.

From the preset's lines, files of variables (env files, compose, Kubernetes, units, nccl.conf), images' own variables
and the launch line, whose profile is `gate_contrary`'s. Reads files here, looks at no node.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from fabricdoc.errors import InputError
from fabricdoc.files import read_text
from fabricdoc.model.delivery import Arrival, Delivery
from fabricdoc.model.fabric import Fabric, Node, ServerImage
from fabricdoc.model.preset import Line, NodePreset, Preset
from fabricdoc.transport import NodeSpec

if TYPE_CHECKING:
    from fabricdoc.workflow.checking import Asked

Variables = Mapping[str, Mapping[str, str]]
MAX_FILE = 1 << 20
PORT_OPTIONS = ("--master-port", "--master_port", "--port", "--nccl-port", "--data-parallel-rpc-port", "--rdzv-port")
PLACE_OPTIONS = ("--dist-init-addr", "--nccl-init-addr", "--rdzv-endpoint", "--rdzv_endpoint")
ASSIGNED = re.compile(r"MASTER_PORT=(\d{1,5})")


def variables_of(asked: Asked, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """By node: the preset's lines; without a preset what --env holds. InputError for a file that can't be read."""
    if asked.preset is not None:
        return {node.name: {line.name: line.value for line in node.lines} for node in asked.preset.nodes}
    return {name: file_values(asked, name) for name in names if asked.env}


def file_values(asked: Asked, node: str) -> dict[str, str]:
    """What the files of --env say for a node, the last one first. UsageError for a node that was not named."""
    found: dict[str, str] = {}
    for name, path in asked.env:
        if name in ("", node):
            from fabricdoc.nccl import settings_of

            text = read_text(path, str(path), limit=MAX_FILE)
            try:
                found |= {one.name: one.value for one in settings_of(path.name, text)}
            except ValueError as error:
                raise InputError(f"{path}: {error}", fix="name an env file, a compose or Kubernetes file") from error
    return found


def delivery_of(asked: Asked, preset: Preset, fabric: Fabric) -> Delivery:
    """What a process of each node would get: --env's files, else the preset as written, over what its image sets."""
    from fabricdoc.export import judge_delivery

    arrivals = [_arrival(asked, preset, node) for node in fabric.nodes if _has(preset, node.name)]
    return judge_delivery(preset, arrivals, {})


def _has(preset: Preset, name: str) -> bool:
    return any(node.name == name for node in preset.nodes)


def _arrival(asked: Asked, preset: Preset, node: Node) -> Arrival:
    image = node.image if isinstance(node.image, ServerImage) else None
    lines = next({line.name: line.value for line in one.lines} for one in preset.nodes if one.name == node.name)
    files = [str(path) for name, path in asked.env if name in ("", node.name)]
    given = file_values(asked, node.name) if files else lines
    conf = image.nccl_conf if image is not None else node.host.nccl_conf
    sources = [*(files or ["the preset"]), *([f"image {image.name}"] if image else [])]
    return Arrival(
        node=node.name,
        name="to be started",
        source=", ".join(sources),
        library=None,
        environ=(dict(image.environment) if image else {}) | given,
        files=conf if isinstance(conf, tuple) else (),
        echoed={},
    )


def stand_in(specs: Sequence[NodeSpec], variables: Variables) -> Preset:
    """A preset of --env's variables, by which a running server is judged where nothing was measured."""
    nodes = tuple(
        NodePreset(
            name=spec.name,
            target=spec.target,
            lines=tuple(
                Line(name=name, value=value, kind="placed", evidence="--env")
                for name, value in variables.get(spec.name, {}).items()
            ),
        )
        for spec in specs
    )
    words = dict.fromkeys(("name", "run", "objective", "profile", "choice", "reason", "exercised"), "")
    return Preset.model_validate({**words, "backend": "nccl", "nodes": nodes})


def ports_of(asked: Asked) -> tuple[int, ...]:
    """The ports of --port, else those the launch line names, else torch's. UsageError for what is no port."""
    from fabricdoc.fabric import check_ports

    return check_ports(asked.ports or tuple(dict.fromkeys(_named_ports(asked.launch))))


def _named_ports(words: Sequence[str]) -> Iterator[int]:
    """Ports in the words of a launch line, as the engines and torchrun write them."""
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        value = value if equals else words[at + 1] if at + 1 < len(words) else ""
        number = value if option in PORT_OPTIONS else value.rpartition(":")[2] if option in PLACE_OPTIONS else ""
        assigned = ASSIGNED.fullmatch(word)
        number = assigned[1] if assigned else number
        if number.isascii() and number.isdecimal() and 0 < int(number[:6]) < 65536:
            yield int(number)
