"""One variable at one process: which place wins, and what NCCL's own word adds."""

from __future__ import annotations

import ctypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.export.arrival import ENVIRONMENT, LOG, judge_variable, number, places, same_as_read, values_in
from fabricdoc.model.delivery import Arrival
from fabricdoc.model.documents import Unknown
from fabricdoc.model.host import ConfFile

pytestmark = pytest.mark.unit

DENIED = Unknown(unknown="/proc/1/environ: Permission denied")
HOME, SYSTEM = "/root/.nccl.conf", "/etc/nccl.conf"


def arrival(
    environ: dict[str, str] | Unknown | None = None,
    home: dict[str, str] | None = None,
    system: dict[str, str] | None = None,
    echoed: dict[str, str] | None = None,
) -> Arrival:
    files = tuple(ConfFile(path=p, values=v) for p, v in ((HOME, home), (SYSTEM, system)) if v is not None)
    found = Arrival(node="alpha", pid=7, environ={} if environ is None else environ, files=files)
    return found if echoed is None else found.model_copy(update={"echoed": echoed})


def outcome(seen: Arrival, name: str = "NCCL_X", wanted: str = "1") -> tuple[str, object, str]:
    found = judge_variable(seen, name, wanted)
    return found.outcome, found.seen, found.by


def test_in_the_environment() -> None:
    assert outcome(arrival({"NCCL_X": "1"})) == ("delivered", "1", ENVIRONMENT)
    assert outcome(arrival({"NCCL_X": "2"})) == ("differs", "2", ENVIRONMENT)
    assert outcome(arrival({})) == ("missing", None, "")


def test_in_a_file_of_nccls() -> None:
    assert outcome(arrival({}, system={"NCCL_X": "1"})) == ("delivered", "1", SYSTEM)
    assert outcome(arrival({}, home={"NCCL_X": "2"})) == ("differs", "2", HOME)


def test_the_first_place_wins_and_is_named_where_it_hides_the_right_value() -> None:
    both = arrival({"NCCL_X": "2"}, system={"NCCL_X": "1"})
    assert outcome(both) == ("overridden", "2", f"{ENVIRONMENT}, which beats {SYSTEM}")
    files = arrival({}, home={"NCCL_X": "2"}, system={"NCCL_X": "1"})
    assert outcome(files) == ("overridden", "2", f"{HOME}, which beats {SYSTEM}")
    right = arrival({"NCCL_X": "1"}, home={"NCCL_X": "2"})
    assert outcome(right) == ("delivered", "1", ENVIRONMENT)


def test_a_file_of_nccls_delivers_to_nccl_alone() -> None:
    seen = arrival({}, system={"GLOO_SOCKET_IFNAME": "p0"})
    assert outcome(seen, "GLOO_SOCKET_IFNAME", "p0") == ("missing", None, "")
    assert places(seen, "GLOO_SOCKET_IFNAME") == []


def test_what_is_to_be_empty_may_be_absent() -> None:
    assert outcome(arrival({}), wanted="") == ("delivered", None, "")
    assert outcome(arrival({"NCCL_X": ""}), wanted="") == ("delivered", "", ENVIRONMENT)
    assert outcome(arrival({"NCCL_X": "2"}), wanted="")[0] == "differs"


def test_what_can_not_be_read_is_unknown() -> None:
    assert outcome(arrival(DENIED)) == ("unknown", DENIED, "")
    seen = arrival({}).model_copy(update={"files": DENIED})
    assert outcome(seen) == ("unknown", DENIED, "")
    assert outcome(seen, "GLOO_X", "1")[0] == "missing"
    assert outcome(arrival({"NCCL_X": "1"}).model_copy(update={"files": DENIED}))[0] == "delivered"


def test_nccls_log_has_the_last_word() -> None:
    assert outcome(arrival(DENIED, echoed={"NCCL_X": "1"})) == ("delivered", "1", LOG)
    assert outcome(arrival(DENIED, echoed={"NCCL_X": "2"})) == ("differs", "2", LOG)
    changed = outcome(arrival({"NCCL_X": "1"}, echoed={"NCCL_X": "2"}))
    assert changed[:2] == ("overridden", "2")
    assert "the program or a plugin" in changed[2]
    hidden = outcome(arrival({"NCCL_X": "2"}, system={"NCCL_X": "1"}, echoed={"NCCL_X": "2"}))
    assert hidden == ("overridden", "2", f"{ENVIRONMENT}, which beats {SYSTEM} ({LOG})")


def test_a_log_that_does_not_name_it_proves_nothing() -> None:
    (said, seen, _) = outcome(arrival(DENIED, echoed={"NCCL_Y": "1"}))
    assert said == "unknown"
    assert isinstance(seen, Unknown)
    assert "does not name it" in seen.unknown
    (_, seen, _) = outcome(arrival(DENIED, echoed={}))
    assert isinstance(seen, Unknown)
    assert "NCCL_DEBUG=INFO" in seen.unknown
    (_, seen, _) = outcome(arrival(DENIED, echoed={"NCCL_Y": "1"}), "GLOO_X")
    assert isinstance(seen, Unknown)
    assert "--pid" in seen.unknown


def test_with_the_environment_a_silent_log_changes_nothing() -> None:
    assert outcome(arrival({"NCCL_X": "1"}, echoed={})) == ("delivered", "1", ENVIRONMENT)
    assert outcome(arrival({}, echoed={"NCCL_Y": "1"})) == ("missing", None, "")


@pytest.mark.parametrize(
    ("wanted", "echoed", "same"),
    [
        ("4", "4", True),
        ("0x10", "16", True),
        ("010", "8", True),
        (" 7x", "7", True),
        ("-1", "-1", True),
        ("word", "0", True),
        ("4", "5", False),
        ("=a,b", "=a,b", True),
        ("=a,b", "=a", False),
        ("IB", "ib", False),
    ],
)
def test_a_value_as_nccl_takes_it(wanted: str, echoed: str, same: bool) -> None:
    assert same_as_read(wanted, echoed) == same


@given(st.from_regex(r"\s{0,2}[+-]?(0[xX]?)?[0-9a-fA-F]{0,12}[ x,]{0,2}", fullmatch=True).filter(str.isascii))
def test_numbers_are_those_of_the_c_library(text: str) -> None:
    libc = ctypes.CDLL(None)
    libc.strtoll.restype = ctypes.c_longlong
    assert number(text) == libc.strtoll(text.encode(), None, 0)


def test_of_nccls_files_the_first_that_has_a_variable_wins() -> None:
    files = (
        ConfFile(path="/root/.nccl.conf", values={"A": "1"}),
        ConfFile(path="/etc/nccl.conf", values={"A": "2", "B": "3"}),
    )
    assert values_in(files) == {"A": "1", "B": "3"}
    assert values_in(Unknown(unknown="Permission denied")) == {}
