"""The table of export formats: each is a module of `writers` that holds its reader's rules and their source.

A module is loaded when its format is named. Nothing is quoted here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Literal, cast

from fabricdoc.errors import UsageError
from fabricdoc.export.content import Content
from fabricdoc.export.rules import has_name

Scope = Literal["node", "common", "all"]


@dataclass(frozen=True)
class Format:
    """One export format.

    `readers` are those it was made for. `scope` says what one text holds: a node's values, what all nodes share, or
    all nodes' values side by side. `refuse(name, value)` gives the reason a value can't be carried, or "". `write`
    makes the text. `file` is a whole name ("nccl-k8s.yaml"), or what follows the node's ("." in front). `left_out`
    are names a text can't hold though nothing is wrong with them, `elsewhere` says how they get there.
    """

    name: str
    readers: tuple[str, ...]
    scope: Scope
    file: str
    refuse: Callable[[str, str], str]
    write: Callable[[Content], str]
    runs: bool = False
    with_common: bool = False
    left_out: Callable[[Content], tuple[str, ...]] = lambda _: ()
    elsewhere: str = ""


MODULES = {
    "env": "env",
    "docker-env": "docker_env",
    "docker": "docker",
    "bash": "bash",
    "fish": "fish",
    "nccl-conf": "nccl_conf",
    "systemd": "systemd",
    "compose": "compose",
    "k8s": "k8s",
    "k8s-configmap": "k8s_configmap",
    "slurm": "slurm",
    "slurm-prolog": "slurm_prolog",
    "mpirun": "mpirun",
    "mpirun-wrapper": "mpirun_wrapper",
    "ray": "ray",
    "ray-start": "ray_start",
    "json": "json_document",
    "miaai": "miaai",
    "eugr": "eugr",
    "sparkrun": "sparkrun",
    "vllm": "vllm",
    "sglang": "sglang",
    "trtllm": "trtllm",
}
"""Format -> module of `writers`, in the order they are told."""

FAMILIES = {
    "k8s": ("k8s", "k8s-configmap"),
    "slurm": ("slurm", "slurm-prolog"),
    "mpirun": ("mpirun", "mpirun-wrapper"),
    "ray": ("ray", "ray-start"),
    "miaai": ("miaai", "nccl-conf"),
}
"""Formats whose files are of use together: all of them are written into a folder."""

FORMATS = tuple(MODULES)


def format_named(name: str) -> Format:
    """The format, or UsageError with the names there are."""
    if name not in MODULES:
        raise UsageError(f"there is no export format {name!r}", fix=f"use one of: {', '.join(MODULES)}", id="format")
    return cast(Format, import_module(f"fabricdoc.export.writers.{MODULES[name]}").FORMAT)


def check_value(wanted: Format, name: str, value: str) -> None:
    """UsageError unless the value survives every reader of the format; the fix names the formats that carry it."""
    if not has_name(name):
        raise UsageError(
            f"{name[:80]!r} is not the name of a variable", fix="use letters, digits and _ only", id="variable-name"
        )
    if reason := wanted.refuse(name, value):
        able = carriers(name, value)
        fix = f"these can carry it: --format {', '.join(able)}" if able else "take the variable out of the preset"
        readers = ", ".join(wanted.readers)
        raise UsageError(f"{name} can't be written for {readers}: its value {reason}", fix=fix, id="value-refused")


def carriers(name: str, value: str) -> list[str]:
    """The formats that can carry the value."""
    return [one for one in MODULES if not format_named(one).refuse(name, value)]


def format_list() -> tuple[tuple[str, str, str], ...]:
    """Every format: its name, what one text of it holds, and its readers."""
    scopes = {"node": "one node's values", "common": "what all nodes share", "all": "all nodes' values"}
    known = [format_named(name) for name in MODULES]
    return tuple((one.name, scopes[one.scope], ", ".join(one.readers)) for one in known)
