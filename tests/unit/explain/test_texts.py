"""Short texts: settings, results, signs and facts, told by their lines and not by their names."""

from __future__ import annotations

import pytest

from fabricdoc.explain.seen import Material
from fabricdoc.explain.texts import MOST_OF_A_SIGN, read_short, sign_rows
from tests.excerpts import gids, log, material

pytestmark = pytest.mark.unit


def read(text: str, name: str = "x.txt") -> Material:
    made = Material(name)
    read_short(made, text)
    return made


@pytest.mark.parametrize(
    ("name", "text", "pair"),
    [
        ("nccl.env", "NCCL_IB_HCA==mlx5_0\n", ("NCCL_IB_HCA", "=mlx5_0")),
        ("run.sh", "#!/bin/sh\nexport NCCL_IB_TC='106'\n", ("NCCL_IB_TC", "106")),
        ("nccl.conf", "NCCL_SOCKET_IFNAME=lo\n", ("NCCL_SOCKET_IFNAME", "lo")),
        ("cmd.txt", "docker run -e NCCL_DEBUG=INFO image\n", ("NCCL_DEBUG", "INFO")),
        ("cmd.txt", "mpirun -x NCCL_IB_TC=106 -np 2 ./all_reduce_perf\n", ("NCCL_IB_TC", "106")),
        ("pod.yaml", 'env:\n- name: NCCL_IB_TC\n  value: "106"\n', ("NCCL_IB_TC", "106")),
    ],
)
def test_settings_are_read_in_their_format(name: str, text: str, pair: tuple[str, str]) -> None:
    assert pair in [(one.name, one.value) for one in read(text, name).sets]


def test_an_nccl_log_is_no_file_of_settings() -> None:
    made = material("a.log", log("alpha", "NCCL_IB_TC set by environment to 106.") + "later NCCL_IB_TC=3\n")
    assert [one.by for one in made.sets] == ["log"]


def test_other_programs_variables_are_left_out() -> None:
    assert [one.name for one in read("NCCL_DEBUG=INFO\nHOME=/root\nPS1=x\n", "a.env").sets] == ["NCCL_DEBUG"]


@pytest.mark.parametrize(
    ("line", "size", "busbw", "wrong"),
    [
        (
            "  1048576  262144  float  sum  -1  61.40  17.08  17.08  16  60.88  17.22  17.22  0",
            1048576,
            (17.08, 17.22),
            16,
        ),
        (
            "  1048576  262144  float  sum      61.40  17.08  17.08  4e-07  60.88  17.22  17.22  4e-07",
            1048576,
            (17.08, 17.22),
            None,
        ),
        (
            "  1048576  262144  float  none -1  61.40  17.08  17.08  N/A  60.88  17.22  17.22  N/A",
            1048576,
            (17.08, 17.22),
            None,
        ),
    ],
)
def test_a_row_of_nccl_tests(line: str, size: int, busbw: tuple[float, ...], wrong: int | None) -> None:
    (row,) = read(line + "\n").rows
    assert (row.size, row.busbw, row.wrong, row.spot.line) == (size, busbw, wrong, 1)


@pytest.mark.parametrize("line", ["1 2 3", "12:30:01 up 3 days", "10.1.0.5 dev eno1", "1048576 . . . . . . . ."])
def test_other_rows_of_numbers_are_none(line: str) -> None:
    assert read(line + "\n").rows == []


def test_facts_of_dumps_stand_on_their_lines() -> None:
    made = read(gids(("mlx5_0", 3, "10.1.0.5", "v2")), "show_gids.txt")
    (gid,) = [fact for fact in made.facts if fact.path == ("gid", "mlx5_0", 1, 3, "gid")]
    assert (gid.spot.line, made.kinds) == (3, ["show_gids"])


def test_a_prompt_names_the_node_of_a_paste() -> None:
    made = read("me@spark9:~$ show_gids\n" + gids(("mlx5_0", 3, "10.1.0.5", "v2")), "paste.txt")
    assert {fact.spot.node for fact in made.facts} == {"spark9"}


def test_a_sign_has_its_line_and_groups() -> None:
    (sign, *_more) = [
        one for one in read("\n[1.0] NVRM: Xid (PCI:0000:01:00): 79, gone\n").signs if one.id == "gpu-xid"
    ]
    assert (sign.spot.line, sign.groups) == (2, {"xid": "79"})


def test_signs_are_bounded_and_in_order() -> None:
    made = read("mlx5_core 0000:01:00.0 eno1: Link down\n" * 500)
    assert len([one for one in made.signs if one.id == "kernel-link-down"]) <= 2 * MOST_OF_A_SIGN
    assert [one.spot.line for one in made.signs] == sorted(one.spot.line for one in made.signs)


def test_every_sign_is_used_by_a_rule_or_explains_one() -> None:
    from tests.unit.house.house import TREE

    code = "".join(path.read_text() for path in (TREE / "fabricdoc" / "explain").rglob("*.py"))
    assert [row.id for row in sign_rows() if f'"{row.id}"' not in code] == []


@pytest.mark.parametrize("row", sign_rows(), ids=lambda row: f"{row.id}:{row.needle}")
def test_a_needle_is_not_empty_and_its_regex_has_no_backtracking_trap(row: object) -> None:
    import time

    assert row.needle  # type: ignore[attr-defined]
    for text in ("a" * 2000, " " * 2000, "0" * 2000, (row.needle + " ") * 200):  # type: ignore[attr-defined]
        began = time.process_time()
        row.regex.search(text[:2000])  # type: ignore[attr-defined]
        assert time.process_time() - began < 0.5


ROW = "  1048576  262144  float  sum  -1  61.40  17.08  17.08  16  60.88  17.22  17.22  0"


@pytest.mark.parametrize(
    "front",
    ["[1,0]<stdout>:", "0: ", "launcher-1  | ", "(worker pid=7, ip=10.0.0.2) ", "2026-03-01T10:11:00Z ", "\x1b[36m"],
)
def test_a_row_behind_a_launchers_front(front: str) -> None:
    (row,) = read(f"{front}{ROW}\n").rows
    assert (row.size, row.busbw, row.wrong) == (1048576, (17.08, 17.22), 16)


@pytest.mark.parametrize("line", [f"busbw was: {ROW[:40]}", "note: 1 2 float 3", "a:1:2 [0] NCCL INFO 8 8 float sum"])
def test_a_sentence_with_numbers_is_no_row(line: str) -> None:
    assert read(line + "\n").rows == []
