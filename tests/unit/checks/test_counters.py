"""The counter table: totals, growth, rates and shares, on a cable and on a switch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.checks import load_catalogue
from fabricdoc.checks.counters import check_counters, rules
from fabricdoc.checks.limits import checks_data
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Counters, Fabric
from tests.fabrics.altering import changed
from tests.fabrics.parts import lossless
from tests.fabrics.recorded import RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_pair, spark_switch
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit

HCA, PORT = "rocep1s0f0/1", "enp1s0f0np0"
PAIR = spark_pair("one", heard="pairs")
SUBJECTS = {"port": HCA, "hw": HCA, "ethtool": PORT}


def counted(
    source: str,
    name: str,
    delta: int = 0,
    total: int = 0,
    *,
    fabric: Fabric | None = None,
    seconds: float = 10.0,
    subject: str = "",
) -> Fabric:
    """spark-a of a direct pair (or of `fabric`) with one counter."""
    found = Counters(
        subject=subject or SUBJECTS[source],
        source=source,
        values={name: total or delta} if total or delta else {},
        deltas={name: delta} if delta else {},
        names=30,
    )
    base = fabric or PAIR
    return changed(base, "spark-a", "node", counters=(found,), watched_s=seconds if delta else 0.0)


def told(fabric: Fabric) -> list[tuple[str, str]]:
    return [(id, severity) for id, severity, _subject in ids(check_counters, fabric)]


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_fabrics_are_silent(name: str) -> None:
    assert told(RECORDED[name]()) == []


def test_the_table_is_whole() -> None:
    said = checks_data("counters")["finding"]
    for (source, name), rule in rules().items():
        assert source in SUBJECTS and "{" not in name
        assert rule.rule in ("any", "growth", "rate", "share") and rule.direct in ("", "any", "growth", "rate")
        assert rule.finding in said and rule.finding in load_catalogue(), name
        assert (rule.rule == "rate") == (rule.per_second > 0) and (rule.rule == "share") == (rule.share > 0)
    assert {rule.finding for rule in rules().values()} == set(said)


@pytest.mark.parametrize("number", range(8))
def test_counters_of_a_priority_are_written_out(number: int) -> None:
    assert rules()["ethtool", f"rx_prio{number}_discards"].priority == number


@pytest.mark.parametrize(
    ("source", "name", "delta", "wanted"),
    [
        ("port", "link_downed", 1, ("link-flap", "error")),
        ("ethtool", "link_down_events_phy", 1, ("link-flap", "error")),
        ("port", "symbol_error", 100, ("link-bit-errors", "warning")),
        ("port", "symbol_error", 99, None),  # below 10 a second
        ("port", "link_error_recovery", 2, ("link-bit-errors", "warning")),
        ("port", "link_error_recovery", 1, None),
        ("port", "port_rcv_errors", 100, ("link-bit-errors", "warning")),
        ("ethtool", "rx_pcs_symbol_err_phy", 100, ("link-bit-errors", "warning")),
        ("ethtool", "rx_corrected_bits_phy", 10**9, None),  # FEC at work
        ("port", "excessive_buffer_overrun_errors", 1, ("port-discards", "warning")),
        ("hw", "req_transport_retries_exceeded", 1, ("qp-retries-exceeded", "error")),
        ("hw", "rnr_nak_retry_err", 1, ("receiver-not-ready", "warning")),
        ("hw", "packet_seq_err", 1, ("roce-packet-loss", "warning")),
        ("hw", "implied_nak_seq_err", 1, ("roce-packet-loss", "warning")),
        ("hw", "duplicate_request", 1, ("roce-packet-loss", "warning")),
        ("hw", "roce_adp_retrans", 1, ("roce-packet-loss", "warning")),
        ("hw", "roce_adp_retrans_to", 1, ("roce-packet-loss", "warning")),
        ("hw", "out_of_sequence", 1, ("roce-packet-loss", "warning")),
        ("hw", "roce_slow_restart", 100, ("roce-slow-restarts", "warning")),
        ("hw", "roce_slow_restart_cnps", 99, None),
        ("hw", "np_ecn_marked_roce_packets", 10**6, None),  # congestion control at work
        ("hw", "rp_cnp_handled", 10**6, None),
        ("hw", "out_of_buffer", 10, ("receive-starved", "warning")),
        ("hw", "out_of_buffer", 9, None),
        ("ethtool", "rx_out_of_buffer", 10, ("receive-starved", "warning")),
        ("ethtool", "rx_discards_phy", 1, ("port-discards", "warning")),
        ("ethtool", "outbound_pci_buffer_overflow", 1, ("pcie-backpressure", "warning")),
        ("ethtool", "rx_prio3_pause_duration", 500_001, ("pause-heavy", "warning")),
        ("ethtool", "rx_prio3_pause_duration", 500_000, None),  # 5 % of 10 s
        ("ethtool", "rx_global_pause_duration", 600_000, ("pause-heavy", "warning")),
        ("ethtool", "rx_prio3_packets", 10**9, None),
        ("port", "port_xmit_data", 10**12, None),
        ("hw", "link_downed", 1, None),  # that name from another source is another counter
    ],
)
def test_growth_while_watched(source: str, name: str, delta: int, wanted: tuple[str, str] | None) -> None:
    assert told(counted(source, name, delta)) == ([wanted] if wanted else [])


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("port", "link_downed"),
        ("hw", "packet_seq_err"),
        ("hw", "req_transport_retries_exceeded"),
        ("port", "symbol_error"),
    ],
)
def test_totals_of_the_past_prove_nothing(source: str, name: str) -> None:
    assert told(counted(source, name, total=4000)) == []


@pytest.mark.parametrize(
    ("source", "name", "wanted"),
    [
        ("port", "local_link_integrity_errors", ("link-bit-errors", "warning")),
        ("hw", "rp_cnp_ignored", ("ecn-ignored", "warning")),
        ("hw", "rx_icrc_encapsulated", ("payload-corrupt", "error")),
        ("ethtool", "tx_pause_storm_error_events", ("pause-storm", "error")),
    ],
)
def test_some_are_bad_at_any_total(source: str, name: str, wanted: tuple[str, str]) -> None:
    assert told(counted(source, name, total=1)) == [wanted]
    assert told(counted(source, name)) == []


@pytest.mark.parametrize(("delta", "cable", "switch"), [(1, True, False), (9, True, False), (10, True, True)])
def test_a_direct_cable_is_judged_harder_than_a_switch(delta: int, cable: bool, switch: bool) -> None:
    wanted = [("roce-packet-loss", "warning")]
    assert told(counted("hw", "local_ack_timeout_err", delta)) == (wanted if cable else [])
    fabric = counted("hw", "local_ack_timeout_err", delta, fabric=spark_switch())
    assert told(fabric) == (wanted if switch else [])


def test_the_cause_differs_between_cable_and_switch() -> None:
    direct = only(check_counters, counted("hw", "packet_seq_err", 7), "roce-packet-loss")
    assert "direct cable" in direct.cause and "mlnx_qos" not in " ".join(direct.fix)
    assert direct.subject == f"spark-a/{PORT}"
    assert texts(direct) == [f"{HCA} packet_seq_err grew by 7 in 10 s, bad from 1"]
    switched = only(check_counters, counted("hw", "packet_seq_err", 7, fabric=spark_switch()), "roce-packet-loss")
    assert "PFC" in switched.cause and f"mlnx_qos -i {PORT}" in switched.fix


def test_order_alone_is_weak_on_a_switch() -> None:
    alone = only(check_counters, counted("hw", "out_of_sequence", 7, fabric=spark_switch()), "roce-packet-loss")
    assert alone.confidence == "possible"
    assert only(check_counters, counted("hw", "out_of_sequence", 7), "roce-packet-loss").confidence == "likely"


def test_a_lossy_rail_is_one_finding_with_all_its_counters() -> None:
    found = only(check_counters, eight_rail_servers(bad_rail=5, fault="lossy"), "roce-packet-loss")
    assert (found.severity, found.confidence) == ("warning", "likely")
    assert [text.split()[1] for text in texts(found)] == ["out_of_sequence", "packet_seq_err", "roce_adp_retrans"]


@pytest.mark.parametrize(("pfc", "number", "told_of"), [(True, 3, True), (True, 2, False), (False, 3, False)])
def test_discards_of_a_priority_count_where_pfc_protects_it(pfc: bool, number: int, told_of: bool) -> None:
    fabric = counted("ethtool", f"rx_prio{number}_discards", 5)
    fabric = changed(fabric, "spark-a", "netdev", PORT, qos=lossless() if pfc else Unknown(unknown="x"))
    assert told(fabric) == ([("port-discards", "warning")] if told_of else [])


def test_interfaces_that_carry_no_rdma_are_not_judged() -> None:
    assert told(counted("ethtool", "rx_discards_phy", 5, subject="enP7s7")) == []
    assert told(counted("hw", "packet_seq_err", 5, subject="mlx5_9/1")) == []


def test_a_port_whose_interface_is_elsewhere_is_told_by_its_own_name() -> None:
    fabric = changed(counted("hw", "packet_seq_err", 5), "spark-a", "port", "*", netdev=Unknown(unknown="elsewhere"))
    assert ids(check_counters, fabric) == [("roce-packet-loss", "warning", f"spark-a/{HCA}")]


def test_unread_counters_say_nothing() -> None:
    assert told(changed(spark_pair("one"), "*", "node", counters=Unknown(unknown="no sysfs"))) == []


@pytest.mark.long
@settings(max_examples=40)
@given(
    st.dictionaries(st.sampled_from(sorted(name for _source, name in rules())) | st.text(max_size=40), st.integers()),
    st.floats(0, 1e6),
    st.sampled_from(["port", "hw", "ethtool", "other"]),
)
def test_any_counters_are_judged_without_failing(deltas: dict[str, int], seconds: float, source: Any) -> None:
    one = Counters(subject=HCA, source=source, values=deltas, deltas=deltas)
    fabric = changed(PAIR, "spark-a", "node", counters=(one,), watched_s=seconds)
    for found in check_counters(fabric):
        assert found.id in load_catalogue()


def test_a_zero_that_a_dump_lists_is_no_total() -> None:
    one = Counters(subject=HCA, source="hw", values={"rx_icrc_encapsulated": 0, "rp_cnp_ignored": 0})
    assert told(changed(PAIR, "spark-a", "node", counters=(one,))) == []
