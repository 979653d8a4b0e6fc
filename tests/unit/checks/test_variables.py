"""NCCL's variables of a node: who wins, and how numbers are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.checks.variables import variable, variables, whole_number
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import ConfFile, Node
from tests.unit.checks.between import with_host

pytestmark = pytest.mark.unit

HOME = ConfFile(path="/root/.nccl.conf", values={"NCCL_IB_TC": "104", "NCCL_DEBUG": "INFO"})
SYSTEM = ConfFile(path="/etc/nccl.conf", values={"NCCL_IB_TC": "96", "NCCL_IB_HCA": "mlx5"})


def made(environment: dict[str, str], *confs: ConfFile) -> Node:
    return with_host("alpha", environment=environment, nccl_conf=confs)


def test_the_environment_beats_files_and_the_first_file_the_second() -> None:
    both = made({"NCCL_IB_TC": "106"}, HOME, SYSTEM)
    found = variable(both, "NCCL_IB_TC")
    assert found is not None and found.text() == "NCCL_IB_TC=106 (environment)"
    from_file = variable(made({}, HOME, SYSTEM), "NCCL_IB_TC")
    assert from_file is not None and from_file.text() == "NCCL_IB_TC=104 (/root/.nccl.conf)"
    assert {one.text() for one in variables(both).values()} == {
        "NCCL_IB_TC=106 (environment)", "NCCL_DEBUG=INFO (/root/.nccl.conf)", "NCCL_IB_HCA=mlx5 (/etc/nccl.conf)",
    }  # fmt: skip


def test_unset_empty_unread_and_foreign_are_none() -> None:
    assert variable(made({"NCCL_IB_TC": ""}), "NCCL_IB_TC") is None
    assert variable(made({}, ConfFile(path="/etc/nccl.conf", values={"NCCL_IB_TC": ""}), SYSTEM), "NCCL_IB_TC") is None
    assert variable(with_host("alpha", nccl_conf=Unknown(unknown="no")), "NCCL_IB_TC") is None
    assert variables(made({"UCX_TLS": "rc", "NCCL_DEBUG": ""})) == {}


@pytest.mark.parametrize(
    ("text", "number"),
    [("106", 106), ("0x6A", 106), ("010", 8), ("0", 0), ("-1", -1), (" 7x", 7), ("word", 0), ("", 0), ("09", 0)],
)
def test_numbers_are_read_as_c_reads_them(text: str, number: int) -> None:
    assert whole_number(text) == number


@given(st.text(max_size=60))
def test_any_text_is_a_number(text: str) -> None:
    assert isinstance(whole_number(text), int)


@given(st.integers(-(2**40), 2**40))
def test_written_numbers_come_back(number: int) -> None:
    assert whole_number(str(number)) == number
    assert whole_number(hex(number)) == number
