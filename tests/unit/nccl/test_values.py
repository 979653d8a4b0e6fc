"""Single values: names, types, ranges, versions; what is right is never complained of."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.complaints import SEVERITIES, Complaint
from fabricdoc.nccl.values import Nccl, check_value, in_range, shown
from fabricdoc.nccl.variables import catalogue
from fabricdoc.nccl.versions import Release

pytestmark = pytest.mark.unit

V28: Release = (2, 28, 9)


def ids(name: str, value: str, release: Release | None = None) -> list[str]:
    return [complaint.id for complaint in check_value(name, value, release)]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("NCCL_IB_HCAS", "mlx5_0", ["unknown-variable"]),
        ("NCLL_DEBUG", "WARN", ["unknown-variable"]),
        ("NCCLDEBUG", "WARN", ["unknown-variable"]),
        ("nccl_debug", "WARN", ["unknown-variable"]),
        ("GLOO_SOCKET_IFNAMES", "eth0", ["unknown-variable"]),
        ("CUDA_LAUNCH_BLOCKING", "0", ["cuda-launch-blocking-set"]),
        ("NCCL_NET", " IB", ["bad-value"]),
        ("NCCL_NET", "I\0B", ["bad-value"]),
        ("NCCL_SOCKET_IFNAME", "='eth0'", ["env-file-quotes-kept"]),
        ("NCCL_DEBUG_SUBSYS", "INIT,NETT", ["bad-value"]),
        ("NCCL_SOKET_IFNAME", "eth0", ["unknown-variable"]),
        ("NCCL_EXCLUDE_IB_HCA", "mlx5_0", ["does-nothing"]),
        ("NCCL_IB_AUTO_DETECT", "1", ["does-nothing"]),
        ("NCCL_BLOCKING_WAIT", "1", ["removed-variable"]),
        ("NCCL_IB_CUDA_SUPPORT", "1", ["removed-variable"]),
        ("NCCL_IB_TIMEOUT", "", ["empty-value"]),
        ("NCCL_IB_TIMEOUT", "22ms", ["bad-value"]),
        ("NCCL_IB_TIMEOUT", "twenty", ["bad-value"]),
        ("NCCL_IB_TIMEOUT", "022", ["bad-value"]),
        ("NCCL_IB_TIMEOUT", "99", ["out-of-range"]),
        ("NCCL_IB_TIMEOUT", '"22"', ["env-file-quotes-kept"]),
        ("NCCL_IB_DISABLE", "true", ["bad-value"]),
        ("NCCL_IB_DISABLE", "2", ["out-of-range"]),
        ("NCCL_CROSS_NIC", "3", ["out-of-range"]),
        ("NCCL_IB_SL", "16", ["out-of-range"]),
        ("NCCL_IB_TC", "256", ["out-of-range"]),
        ("NCCL_DEBUG", "DEBUG", ["bad-value"]),
        ("NCCL_DEBUG", "INFO", ["debug-left-on"]),
        ("NCCL_DEBUG", "trace", ["debug-left-on"]),
        ("NCCL_IB_ADDR_FAMILY", "ipv6", ["bad-value"]),
        ("NCCL_NET_MERGE_POLICY", "SOME", ["bad-value"]),
        ("NCCL_CHECKS_DISABLE", "1", ["dangerous-value"]),
        ("NCCL_NTHREADS", "-5", ["out-of-range"]),
    ],
)
def test_what_is_wrong(name: str, value: str, expected: list[str]) -> None:
    assert ids(name, value) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_IB_TIMEOUT", "22"),
        ("NCCL_IB_TIMEOUT", "0x16"),
        ("NCCL_IB_TC", "106"),
        ("NCCL_IB_TC", "-1"),
        ("NCCL_IB_DISABLE", "0"),
        ("NCCL_CROSS_NIC", "1"),
        ("NCCL_DEBUG", "WARN"),
        ("NCCL_DEBUG", "version"),
        ("NCCL_IB_ADDR_FAMILY", "AF_INET6"),
        ("NCCL_BUFFSIZE", "8388608"),
        ("NCCL_NET", "IB"),
        ("NCCL_NET", "AWS Libfabric"),
        ("NCCL_HOSTID", "node a"),
        ("NCCL_DEBUG_FILE", "/tmp/nccl.%h.%p"),
        ("NCCL_CHECKS_DISABLE", "0"),
        ("TORCH_NCCL_BLOCKING_WAIT", "true"),
        ("NCCL_VERSION", "2.28.9-1"),
        ("NCCL_UCX_TLS", "all"),
        ("NCCL_FASTRAK_IFNAME", "eth1"),
        ("UCX_NET_DEVICES", "anything"),
        ("PATH", ""),
        ("GLOO_SOMETHING", "1"),
        ("TORCH_NCCL_CUDA_EVENT_CACHE", "1"),
        ("NCL_PLANNER", "1"),
        ("NCCL_DEBUG_SUBSYS", "^COLL,net"),
    ],
)
def test_what_is_right_or_not_ours(name: str, value: str) -> None:
    assert check_value(name, value, V28) == ()


@pytest.mark.parametrize(
    ("name", "release", "expected"),
    [
        ("NCCL_IB_SUBNET_AWARE_ROUTING", (2, 28, 9), ["not-yet-in-this-version"]),
        ("NCCL_IB_SUBNET_AWARE_ROUTING", (2, 30, 7), []),
        ("NCCL_IB_SUBNET_AWARE_ROUTING", None, []),
        ("NCCL_WORK_FIFO_DEPTH", (2, 21, 5), []),
        ("NCCL_WORK_FIFO_DEPTH", (2, 22, 3), ["removed-variable"]),
        ("NCCL_WORK_FIFO_DEPTH", None, ["removed-variable"]),
        ("NCCL_NET_GDR_C2C", (2, 24, 3), ["not-yet-in-this-version"]),
    ],
)
def test_what_a_release_reads(name: str, release: Release | None, expected: list[str]) -> None:
    assert ids(name, "1", release) == expected


WITH_NAMES = Nccl((2, 28, 9), frozenset({"NCCL_IB_HCA", "NCCL_NEW_THING", "NCCL_IB_GDR_LEVEL"}), "libnccl.so.2")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("NCCL_IB_HCA", "=mlx5_0", []),
        ("NCCL_IB_TIMEOUT", "22", ["does-nothing"]),
        ("NCCL_NEW_THING", "1", []),
        ("NCCL_IB_GDR_LEVEL", "2", []),
        ("NCCL_OTHER_THING", "1", ["unknown-variable"]),
        ("NCCL_IB_SUBNET_AWARE_ROUTING", "1", ["not-yet-in-this-version"]),
        ("NCCL_TUNER_CONFIG_FILE", "/x", []),
        ("GLOO_SOCKET_IFNAME", "eth0", []),
    ],
)
def test_the_names_in_a_library_that_is_there_count(name: str, value: str, expected: list[str]) -> None:
    """A name it holds is read whatever the catalogue says, one of NCCL's own that it lacks does nothing."""
    found = check_value(name, value, nccl=WITH_NAMES)
    assert [complaint.id for complaint in found] == expected
    assert all("libnccl.so.2" in one.message for one in found if one.id == "does-nothing")


def test_the_search_for_near_names_can_be_left_out() -> None:
    assert check_value("NCCL_IB_HCAS", "a", near=False)[0].fix == "leave NCCL_IB_HCAS out"


def test_a_complaint_names_what_to_write_instead() -> None:
    (typo,) = check_value("NCCL_IB_HCAS", "mlx5_0")
    assert "NCCL_IB_HCA?" in typo.fix
    (word,) = check_value("NCCL_IB_DISABLE", "true")
    assert (word.fix, word.culprit) == (
        "NCCL_IB_DISABLE=0 for what is now, 1 for what the word says",
        "true",
    ) and "as 0" in word.message
    (unit,) = check_value("NCCL_IB_TIMEOUT", "22ms")
    assert (unit.fix, unit.culprit) == ("NCCL_IB_TIMEOUT=22", "ms")
    (quoted,) = check_value("NCCL_SOCKET_IFNAME", "'eth0'")
    assert quoted.fix == "NCCL_SOCKET_IFNAME=eth0"
    (none,) = check_value("NCCL_QQQQQQQQQQ", "1")
    assert "leave NCCL_QQQQQQQQQQ out" in none.fix


def test_no_default_of_the_catalogue_is_complained_of() -> None:
    for name, variable in catalogue().items():
        default = variable.default.split(" ")[0]
        if re.fullmatch(r"-?\d+", default) or default in variable.accepted.split("|"):
            wrong = [
                one
                for one in check_value(name, default)
                if one.id not in ("removed-variable", "gid-index-pinned")
                and name != "NCCL_IGNORE_NET_MISMATCH"  # its default is what hides unequal nodes
            ]
            assert wrong == [], name


def test_ranges_in_the_catalogues_words() -> None:
    variables = catalogue()
    assert in_range(31, variables["NCCL_IB_TIMEOUT"]) and not in_range(32, variables["NCCL_IB_TIMEOUT"])
    assert in_range(0, variables["NCCL_IB_DISABLE"]) and not in_range(-1, variables["NCCL_IB_DISABLE"])
    assert in_range(512, variables["NCCL_NTHREADS"]) and not in_range(1024, variables["NCCL_NTHREADS"])


@given(st.sampled_from(sorted(catalogue())), st.text(max_size=80), st.sampled_from([None, V28, (2, 4, 2), (2, 32, 3)]))
def test_no_value_breaks_it(name: str, value: str, release: Release | None) -> None:
    for complaint in check_value(name, value, release):
        assert complaint.id in SEVERITIES and complaint.name == name
        assert complaint.message.isprintable() or not value.isprintable()
        assert len(complaint.message) < 1000


@given(st.text(max_size=60))
def test_no_name_breaks_it(name: str) -> None:
    assert all(isinstance(complaint, Complaint) for complaint in check_value("NCCL_" + name, "1"))


def test_a_shown_value_is_short_and_printable() -> None:
    assert shown("x" * 500).endswith("...") and len(shown("x" * 500)) < 80
    assert shown("a\x1b[31m").isprintable() and shown(" a") == "' a'"


@pytest.mark.parametrize(
    ("name", "value", "said", "fix", "severity"),
    [
        ("NCCL_IB_DISABLE", "true", "as 0, so it does nothing. With 1: turns the verbs transport off", "0", "error"),
        ("NCCL_P2P_DISABLE", "yes", "as 0, so it does nothing. With 1: disables CUDA P2P between GPUs", "0", "error"),
        ("NCCL_GDR_FLUSH_DISABLE", "on", "With 1: skips the read that flushes GPUDirect writes", "0", "error"),
        ("NCCL_DMABUF_ENABLE", "true", "so it is switched off, which without this line it is not", "1", "error"),
        ("NCCL_IB_DISABLE", "false", "reads false as 0, as is meant here", "0", "warning"),
    ],
)  # fmt: skip
def test_a_word_for_a_number_is_told_with_what_it_does_now_and_what_the_number_would(
    name: str, value: str, said: str, fix: str, severity: str
) -> None:
    (complaint,) = check_value(name, value)
    assert said in complaint.message
    assert complaint.fix.startswith(f"{name}={fix}")
    assert complaint.severity == severity
