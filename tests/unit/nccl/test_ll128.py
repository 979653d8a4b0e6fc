"""LL128 in NCCL's own table, and candidates that turn it on against it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.run import Choice, Proof
from fabricdoc.nccl.ll128 import ll128_forced, ll128_in_row
from fabricdoc.nccl.proof import read_proof

pytestmark = pytest.mark.unit

LOGS = Path(__file__).parents[2] / "fixtures" / "nccl_logs"
INFO = "n1:77:77 [0] NCCL INFO "
TABLE = (
    INFO
    + "    AllReduce |     9.3/   9.6 |    18.0/   {} |  22.4/  19.2 |  9.3/   9.6 |    18.0/   {} |    1.0/  9.2 |\n"
)
OFF, ON = TABLE.format("0.0", "0.0"), TABLE.format("0.0", "7.5")


def with_choice(proof: Proof, protocol: str, op: str = "all_reduce") -> Proof:
    choice = Choice(op=op, size=8192, algorithm="RING", protocol=protocol, channels=1)
    return proof.model_copy(update={"choices": (choice,)})


def test_a_tables_rows() -> None:
    assert read_proof(OFF).ll128 == {"all_reduce": False}
    assert read_proof(ON).ll128 == {"all_reduce": True}
    assert read_proof(OFF + ON).ll128 == {"all_reduce": True}, "a function has a row per group of algorithms"
    assert read_proof("").ll128 == {}


def test_real_tables_by_default_and_forced() -> None:
    """Over a path behind the CPU NCCL leaves LL128 off; forced by name its own table shows it on: refused."""
    base, forced = (read_proof((LOGS / name).read_text()) for name in ("socket_ll.log", "socket_ll128.log"))
    ops = {"broadcast", "reduce", "all_gather", "reduce_scatter", "all_reduce"}
    assert base.ll128 == dict.fromkeys(ops, False) and forced.ll128 == dict.fromkeys(ops, True)
    assert "all_reduce ran with LL128" in (ll128_forced(forced, base) or "")
    assert ll128_forced(base, base) is None
    assert set(read_proof((LOGS / "ib_two.rank0.log").read_text()).ll128.values()) == {False}


def test_turned_on_against_bases_table_is_refused() -> None:
    base, mine = read_proof(OFF), read_proof(ON)
    assert "LL128 is on for all_reduce" in (ll128_forced(mine, base) or "")
    assert "all_reduce ran with LL128" in (ll128_forced(with_choice(mine, "LL128"), base) or "")
    assert "all_reduce ran with LL128" in (ll128_forced(with_choice(read_proof(""), "LL128"), base) or "")


def test_what_is_not_refused() -> None:
    base_off, base_on = read_proof(OFF), read_proof(ON)
    assert ll128_forced(base_off, base_off) is None
    assert ll128_forced(with_choice(base_off, "LL"), base_off) is None
    assert ll128_forced(with_choice(base_on, "LL128"), base_on) is None, "where NCCL itself uses it"
    assert ll128_forced(with_choice(base_off, "LL128", "broadcast"), base_off) is None, (
        "base's table says nothing of it"
    )
    assert ll128_forced(base_on, None) is None
    assert ll128_forced(base_on, read_proof("")) is None, "without base's table nothing is known"


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (" 1.0/ 2.0 | 3.0/ 0.0 | 4.0/ 5.0 |", False),
        (" 1.0/ 2.0 | 3.0/ 0.1 | 4.0/ 5.0 |", True),
        (" 1.0/ 2.0 | 3.0/ 0.0 |", None),
        ("", None),
        (" 1.0/ 2.0 | 3.0/ 1.2.3 | 4.0/ 5.0 |", False),
    ],
)
def test_a_row_that_is_not_whole_says_nothing(cells: str, expected: bool | None) -> None:
    assert ll128_in_row(cells) is expected


@given(st.text(alphabet="0123456789./ |", max_size=200))
def test_no_cells_break_it(cells: str) -> None:
    assert ll128_in_row(cells) in (True, False, None)
