"""Variables that switch RoCE off, slow it down, or are written wrongly."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.checks import load_catalogue
from fabricdoc.checks.environment import check_environment
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import ConfFile, Fabric
from tests.fabrics.altering import changed
from tests.fabrics.others import laptop
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit


ONE_CABLE = spark_one_cable()


def spark(**environment: str) -> Fabric:
    return changed(ONE_CABLE, "spark-a", "host", environment=environment)


def server(**environment: str) -> Fabric:
    return changed(eight_rail_servers(1), "server-001", "host", environment=environment)


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_fabrics_are_silent(name: str) -> None:
    assert ids(check_environment, RECORDED[name]()) == []


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("NCCL_IB_DISABLE", "1", True),
        ("NCCL_IB_DISABLE", "2", True),
        ("NCCL_IB_DISABLE", "0", False),
        ("NCCL_IB_DISABLE", "", False),
        ("NCCL_NET", "Socket", True),
        ("NCCL_NET", "socket", True),
        ("NCCL_NET", "IB", False),
        ("NCCL_NET_PLUGIN", "none", False),
    ],
)
def test_roce_switched_off(name: str, value: str, told: bool) -> None:
    found = ids(check_environment, spark(**{name: value}))
    assert found == ([("ib-disabled-by-env", "error", f"spark-a: {name}")] if told else [])


def test_where_there_is_no_roce_nothing_is_switched_off() -> None:
    assert ids(check_environment, changed(laptop(), "*", "host", environment={"NCCL_IB_DISABLE": "1"})) == []
    dark = changed(spark(NCCL_IB_DISABLE="1"), "*", "port", "*", state="DOWN")
    assert ids(check_environment, dark) == []


def test_the_file_that_switches_it_off_is_named() -> None:
    conf = (ConfFile(path="/etc/nccl.conf", values={"NCCL_IB_DISABLE": "1"}),)
    fabric = changed(spark_one_cable(), "spark-a", "host", nccl_conf=conf)
    found = only(check_environment, fabric, "ib-disabled-by-env")
    assert texts(found)[0] == "NCCL_IB_DISABLE=1 (/etc/nccl.conf)"
    assert found.fix == ("on spark-a: take NCCL_IB_DISABLE out of /etc/nccl.conf",)


@pytest.mark.parametrize(
    ("value", "id"),
    [
        ("LL128", "ll128-forced-on-unsupported-path"),
        ("ll128,simple", "ll128-forced-on-unsupported-path"),
        ("^LL", "ll128-forced-on-unsupported-path"),
        ("LL", "nccl-proto-ll-forced"),
        ("ll", "nccl-proto-ll-forced"),
        ("LL,Simple", None),
        ("^LL128", None),
        ("Simple", None),
        ("nonsense", None),
    ],
)
def test_protocols_on_gb10(value: str, id: str | None) -> None:
    assert [one[0] for one in ids(check_environment, spark(NCCL_PROTO=value))] == ([id] if id else [])


def test_ll128_may_be_named_where_nccl_uses_it() -> None:
    assert ids(check_environment, server(NCCL_PROTO="LL128")) == []
    assert [one[0] for one in ids(check_environment, server(NCCL_PROTO="LL"))] == ["nccl-proto-ll-forced"]


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("NCCL_IB_TIMEOUT", "1", True),
        ("NCCL_IB_TIMEOUT", "13", True),
        ("NCCL_IB_TIMEOUT", "14", False),
        ("NCCL_IB_TIMEOUT", "22", False),
        ("NCCL_IB_TIMEOUT", "-2", False),
        ("NCCL_IB_TIMEOUT", "0x16", False),
        ("NCCL_IB_RETRY_CNT", "0", True),
        ("NCCL_IB_RETRY_CNT", "2", True),
        ("NCCL_IB_RETRY_CNT", "3", False),
        ("NCCL_IB_RETRY_CNT", "7", False),
    ],
)
def test_timeouts_and_retries(name: str, value: str, told: bool) -> None:
    found = ids(check_environment, server(**{name: value}))
    assert found == ([("ib-timeout-or-retry-too-low", "warning", f"server-001: {name}")] if told else [])


@pytest.mark.parametrize(("value", "told"), [("TRACE", True), ("trace", True), ("INFO", False), ("WARN", False)])
def test_traces(value: str, told: bool) -> None:
    found = ids(check_environment, server(NCCL_DEBUG=value))
    assert found == ([("nccl-trace-left-on", "warning", "server-001: NCCL_DEBUG")] if told else [])


@pytest.mark.parametrize(("value", "told"), [("1", True), ("0", True), ("", False)])
def test_blocking_launches_whatever_the_value(value: str, told: bool) -> None:
    found = ids(check_environment, spark(CUDA_LAUNCH_BLOCKING=value))
    assert found == ([("cuda-launch-blocking-set", "warning", "spark-a: CUDA_LAUNCH_BLOCKING")] if told else [])
    assert ids(check_environment, changed(laptop(), "*", "host", environment={"CUDA_LAUNCH_BLOCKING": "1"})) == []


@pytest.mark.parametrize("name", ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"])
@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("expandable_segments:True", True),
        ("max_split_size_mb:512,expandable_segments: true", True),
        ("expandable_segments:False", False),
        ("max_split_size_mb:512", False),
    ],
)
def test_expandable_segments_on_unified_memory_only(name: str, value: str, told: bool) -> None:
    found = ids(check_environment, spark(**{name: value}))
    assert found == ([("expandable-segments-on-gb10", "warning", f"spark-a: {name}")] if told else [])
    assert ids(check_environment, server(**{name: value})) == []


@pytest.mark.parametrize(
    ("value", "told"),
    [('"enp1s0f0np0"', True), ("'2'", True), ("\"2'", False), ('"', False), ('a"b', False), ("2", False)],
)
def test_quotes_that_were_kept(value: str, told: bool) -> None:
    found = [one[0] for one in ids(check_environment, spark(NCCL_MAX_CTAS=value))]
    assert found == (["env-file-quotes-kept"] if told else [])
    if told:
        fix = only(check_environment, spark(NCCL_MAX_CTAS=value), "env-file-quotes-kept").fix
        assert fix == (f"on spark-a: write NCCL_MAX_CTAS={value[1:-1]} without quotes (environment)",)


def test_two_places_with_two_values_are_information() -> None:
    conf = (
        ConfFile(path="/root/.nccl.conf", values={"NCCL_IB_TC": "106", "NCCL_DEBUG": "INFO"}),
        ConfFile(path="/etc/nccl.conf", values={"NCCL_IB_TC": "104", "NCCL_DEBUG": "INFO"}),
    )
    fabric = changed(spark_one_cable(), "spark-a", "host", nccl_conf=conf)
    found = only(check_environment, fabric, "nccl-setting-shadowed")
    assert (found.severity, found.subject) == ("info", "spark-a: NCCL_IB_TC")
    assert texts(found) == ["NCCL_IB_TC=106 (/root/.nccl.conf)", "NCCL_IB_TC=104 (/etc/nccl.conf) is not used"]
    assert "file /root/.nccl.conf" in found.cause


BOTH = {"NCCL_IB_USE_INLINE": "1", "NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS": "1"}


def test_settings_that_froze_ranks_together() -> None:
    found = only(check_environment, spark(**BOTH), "nccl-setting-risky")
    assert (found.severity, found.subject, found.confidence) == (
        "warning",
        "spark-a: NCCL_IB_USE_INLINE",
        "possible",
    )
    assert len(texts(found)) == 2


@pytest.mark.parametrize("name", BOTH)
def test_each_alone_is_harmless(name: str) -> None:
    assert ids(check_environment, spark(**{name: "1"})) == []
    assert ids(check_environment, spark(**(BOTH | {name: "0"}))) == []


def test_unread_files_shadow_nothing() -> None:
    fabric = changed(spark(NCCL_IB_TC="106"), "spark-a", "host", nccl_conf=Unknown(unknown="x"))
    assert ids(check_environment, fabric) == []


@settings(max_examples=40)
@given(
    st.dictionaries(
        st.sampled_from(["NCCL_IB_DISABLE", "NCCL_PROTO", "NCCL_IB_TIMEOUT", "NCCL_DEBUG", "NCCL_NET", "NCCL_X"]),
        st.text(max_size=40),
    )
)
def test_any_environment_is_judged_without_failing(environment: dict[str, str]) -> None:
    for found in check_environment(spark(**environment)):
        assert found.id in load_catalogue() and found.evidence and found.fix


@pytest.mark.parametrize(("name", "border"), [("NCCL_IB_TIMEOUT", 14), ("NCCL_IB_RETRY_CNT", 3)])
def test_retries_at_their_borders(name: str, border: int) -> None:
    def told(value: object) -> bool:
        return "ib-timeout-or-retry-too-low" in [one[0] for one in ids(check_environment, spark(**{name: str(value)}))]

    assert told(border - 1) and told(0) and told("0x1")
    assert not told(border) and not told(-1) and not told("")


def test_active_hcas_are_named_up_to_sixteen() -> None:
    found = only(check_environment, server(NCCL_IB_DISABLE="1"), "ib-disabled-by-env")
    assert texts(found)[1] == f"active HCAs: {', '.join(f'mlx5_{k}' for k in range(8))}"


@pytest.mark.parametrize("value", ['"', "'", '"x', "x'", "\"x'", ""])
def test_half_a_quotation_is_none(value: str) -> None:
    assert "env-file-quotes-kept" not in [one[0] for one in ids(check_environment, spark(NCCL_DEBUG=value))]


def test_quotes_around_nothing_are_quotes() -> None:
    found = only(check_environment, spark(NCCL_IB_HCA='""'), "env-file-quotes-kept")
    assert "write NCCL_IB_HCA= without quotes (environment)" in found.fix[0]
