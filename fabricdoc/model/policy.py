"""What a preset holds beside what was measured: reasons, what stays unset, diagnostics, its time. Read from data."""

from __future__ import annotations

from typing import ClassVar

from fabricdoc.model.documents import Frozen


class Reason(Frozen):
    """Why a placed line is there; without `value` for any value of that name that begins with `begins`.

    `by_choice`: who writes a node's variables may leave the line out (--no-strict), so that it is no fault where it is
    absent; another value is.
    """

    name: str
    value: str = ""
    begins: str = ""
    by_choice: bool = False
    why: str
    source: str


class Unset(Frozen):
    """What is left unset on purpose, for NCCL releases as `nccl` says."""

    name: str
    nccl: str
    why: str
    source: str


class Ignored(Frozen):
    """A variable that nodes with such GPUs (parts of the name) ignore or do not have."""

    name: str
    gpus: tuple[str, ...]
    why: str
    source: str


class FirstLaunch(Frozen):
    """A line for the first launch alone; `not_for` are formats of engines that do not read it."""

    name: str
    value: str
    why: str
    source: str
    not_for: tuple[str, ...] = ()


class Policy(Frozen):
    """presets/policy.toml; `valid_days` 0 means without an end."""

    place: ClassVar[str] = "policy.toml"

    valid_days: int
    reason: tuple[Reason, ...] = ()
    unset: tuple[Unset, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    first_launch: tuple[FirstLaunch, ...] = ()
