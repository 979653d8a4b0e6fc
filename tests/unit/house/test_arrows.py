"""Arrows point one way: a room imports only the rooms it may, and only by their front door."""

from __future__ import annotations

import pytest

from tests.unit.house.house import TREE, imported, module_name, rooms

pytestmark = pytest.mark.unit

# Room -> the rooms it may import, besides itself. Drawn downwards: everything may use LEAVES.
LEAVES = {"model", "errors", "doors", "files", "sudo", "near", "__init__"}
BELOW = {"transport", "presets"}
ARROWS: dict[str, set[str]] = {
    "__init__": set(),
    "errors": set(),
    "doors": set(),
    "files": {"errors"},
    "sudo": set(),
    "near": set(),
    "model": {"__init__"},
    "probes": set(),
    "presets": set(),
    "transport": LEAVES | {"probes"},
    "checks": LEAVES | BELOW | {"nccl"},
    "store": LEAVES,
    "nccl": LEAVES | BELOW | {"probes"},  # what a library's file says is read in one place
    "serving": LEAVES | BELOW,
    "lab": LEAVES | BELOW,
    "export": LEAVES | BELOW,
    "data": LEAVES | {"store"},
    "report": LEAVES,
    "fabric": LEAVES | BELOW | {"checks", "nccl"},
    "dumps": LEAVES | {"fabric"},
    "explain": LEAVES | BELOW | {"dumps", "nccl"},
    "bench": LEAVES | BELOW | {"nccl", "store", "serving", "fabric"},
    "tuning": LEAVES | BELOW | {"bench"},
    "gate": LEAVES | BELOW | {"checks", "nccl", "fabric", "export"},
}
JOBS = set(ARROWS) - {"__init__", "probes"}
ARROWS["workflow"] = JOBS | {"__init__"}
ARROWS["demo"] = ARROWS["workflow"] | {"workflow"}
ARROWS["cli"] = ARROWS["demo"] | {"demo"}
ARROWS["__main__"] = {"cli"}

# Modules behind the front door that others may name, by room.
SIDE_DOORS = {"fabricdoc.bench.statistics"}
# What each of these rooms may use of another one, where that is less than its front door.
NARROW = {("tuning", "bench"): {"fabricdoc.bench.statistics"}}


def complaints(room: str, path_name: str, line: int, module: str) -> str | None:
    """What is wrong with `room` importing `module`, or None."""
    parts = module.split(".")
    if parts[0] != "fabricdoc":
        return f"{path_name}:{line}: {module} is not importable once installed" if parts[0] in TOP_FOLDERS else None
    target = parts[1] if len(parts) > 1 else "__init__"
    if target == room:
        return None
    if target not in ARROWS[room]:
        return f"{path_name}:{line}: {room} may not import {target} ({module})"
    doors = NARROW.get((room, target), {f"fabricdoc.{target}", *SIDE_DOORS})
    if target not in ("model", "probes", "presets", "__init__") and module not in doors:
        return f"{path_name}:{line}: {module} is behind the door of {target}"
    return None


TOP_FOLDERS = {"probes", "presets", "tests", "tools"}


def test_every_room_has_its_arrows() -> None:
    assert set(rooms()) == set(ARROWS)


@pytest.mark.parametrize("room", sorted(ARROWS))
def test_imports_follow_the_arrows(room: str) -> None:
    wrong = [
        complaint
        for path in rooms()[room]
        for line, module in imported(path)
        if (complaint := complaints(room, str(path.relative_to(TREE)), line, module))
    ]
    assert not wrong, "\n".join(wrong)


def test_the_arrows_have_no_circle() -> None:
    left = {room: set(targets) - {room} for room, targets in ARROWS.items()}
    while left:
        free = {room for room, targets in left.items() if not targets & set(left)}
        assert free, f"a circle among {sorted(left)}"
        left = {room: targets for room, targets in left.items() if room not in free}


@pytest.mark.parametrize(
    ("room", "module", "word"),
    [
        ("report", "fabricdoc.store", "may not import"),
        ("model", "fabricdoc.errors", "may not import"),
        ("gate", "fabricdoc.fabric.cables", "behind the door"),
        ("tuning", "fabricdoc.bench", "behind the door"),
        ("cli", "probes.wire", "not importable"),
        ("probes", "fabricdoc.errors", "may not import"),
    ],
)
def test_a_wrong_arrow_is_seen(room: str, module: str, word: str) -> None:
    assert word in (complaints(room, "x.py", 1, module) or "")


@pytest.mark.parametrize(
    ("room", "module"),
    [
        ("gate", "fabricdoc.fabric"),
        ("tuning", "fabricdoc.bench.statistics"),
        ("bench", "fabricdoc.model.run"),
        ("bench", "fabricdoc.bench.plan"),
        ("bench", "json"),
    ],
)
def test_a_right_arrow_passes(room: str, module: str) -> None:
    assert complaints(room, "x.py", 1, module) is None


def test_relative_and_nested_imports_are_read() -> None:
    path = TREE / "probes" / "__main__.py"
    assert "fabricdoc.probes.wire" in [module for _, module in imported(path)]
    assert module_name(path) == "fabricdoc.probes.__main__"
    commands = TREE / "fabricdoc" / "cli" / "commands" / "demo.py"
    assert "fabricdoc.demo" in [module for _, module in imported(commands)]
