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


LEGEND = "NIC Legend:\n\n  NIC0: mlx5_0\n"


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("PIX", "PIX"),
        ("PXB", "PXB"),
        ("PHB", "PHB"),
        ("NODE", "NODE"),
        ("SYS", "SYS"),
        ("NV18", None),
        ("X", None),
        ("?", None),
    ],
)
def test_every_word_of_the_matrix(cell: str, told: str | None) -> None:
    text = f"\tGPU0\tNIC0\tCPU Affinity\nGPU0\t X \t{cell}\t0-19\nNIC0\t{cell}\t X \n\n{LEGEND}"
    assert paths(text).get((0, "mlx5_0")) == told


def test_a_column_beyond_the_row_is_no_path() -> None:
    assert paths(f"\tGPU0\tNIC0\nGPU0\t X \n\n{LEGEND}") == {}


def test_affinities_are_no_columns() -> None:
    text = f"\tGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tPIX\t0-19\t0\t\tN/A\n\n{LEGEND}"
    assert paths(text) == {(0, "mlx5_0"): "PIX"}


@pytest.mark.parametrize("index", [7, 15, 9999])
def test_gpus_of_many_digits(index: int) -> None:
    assert paths(f"\tGPU{index}\tmlx5_0\nGPU{index}\t X \tPIX\n") in ({(index, "mlx5_0"): "PIX"}, {})
    text = f"\tGPU0\tGPU{index}\tmlx5_0\nGPU0\t X \tSYS\tSYS\nGPU{index}\tSYS\t X \tPIX\n"
    assert paths(text)[(index, "mlx5_0")] == "PIX"


def test_a_row_above_the_heading_is_of_no_matrix() -> None:
    assert paths(f"GPU0\t X \tPIX\n\tGPU0\tNIC0\n\n{LEGEND}") == {}
