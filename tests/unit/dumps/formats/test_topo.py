"""nvidia-smi topo -m: paths from GPUs to HCAs by name."""

from __future__ import annotations

import pytest

from tests.unit.dumps.texts import facts, fixture, tools

pytestmark = pytest.mark.unit

TEXT = fixture("topo.txt")


def paths(text: str) -> dict[tuple[object, ...], object]:
    return {path[1:]: value for path, value in facts(text).items() if path[0] == "path"}


def test_numbers_get_their_names_from_the_legend() -> None:
    assert paths(TEXT) == {(0, "rocep1s0f0"): "NODE", (0, "rocep1s0f1"): "SYS"}
    assert facts(TEXT)[("hca", "rocep1s0f1", "name")] == "rocep1s0f1"


def test_older_tools_head_columns_with_the_name() -> None:
    text = (
        "\tGPU0\tGPU1\tmlx5_0\tmlx5_1\tCPU Affinity\nGPU0\t X \tNV18\tPIX\tSYS\t0-31\nGPU1\tNV18\t X \tSYS\tPXB\t0-31\n"
    )
    assert paths(text) == {(0, "mlx5_0"): "PIX", (0, "mlx5_1"): "SYS", (1, "mlx5_0"): "SYS", (1, "mlx5_1"): "PXB"}


def test_without_the_legend_a_number_names_nobody() -> None:
    assert paths(TEXT[: TEXT.index("NIC Legend")]) == {}


def test_underlined_and_whole() -> None:
    assert [tool for tool, _first, _last in tools(TEXT)] == ["nvidia-smi topo"]
