"""The error family: stable ids, one exit status each."""

from __future__ import annotations

import sys

import pytest

from fabricdoc import errors
from fabricdoc.errors import ExitStatus, FabricdocError, pip_line

pytestmark = pytest.mark.unit


def test_a_package_is_put_into_the_python_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pip_line("pyarrow", "pandas") == f"{sys.executable} -m pip install pyarrow pandas"
    monkeypatch.setattr(sys, "executable", "/home/a b/bin/python")
    assert pip_line("ClusterShell") == "'/home/a b/bin/python' -m pip install ClusterShell"


@pytest.mark.parametrize(
    ("kind", "status", "id_"),
    [
        (errors.UsageError, 2, "usage"),
        (errors.InputError, 2, "input"),
        (errors.InconclusiveError, 3, "inconclusive"),
        (errors.NodeError, 4, "node"),
        (errors.ToolError, 4, "tool"),
        (errors.StoreError, 4, "store"),
        (errors.StoppedError, 130, "stopped"),
    ],
)
def test_each_kind_has_its_status_and_id(kind: type[FabricdocError], status: int, id_: str) -> None:
    error = kind("what happened", fix="what to do")
    assert (int(error.status), error.id, error.message, error.fix) == (status, id_, "what happened", "what to do")
    assert str(error) == "what happened"
    assert kind("x", id="mine").id == "mine"


def test_every_error_of_the_family_is_listed_here() -> None:
    kinds = {x for x in vars(errors).values() if isinstance(x, type) and issubclass(x, FabricdocError)}
    assert len(kinds) == 8


def test_exit_statuses_are_those_that_scripts_rely_on() -> None:
    assert {status.name: int(status) for status in ExitStatus} == {
        "FIT": 0,
        "NOT_FIT": 1,
        "USAGE": 2,
        "INCONCLUSIVE": 3,
        "FAILED": 4,
        "INTERRUPTED": 130,
    }
