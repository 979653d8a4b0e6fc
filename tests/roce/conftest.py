"""The RoCE lab for its tests: one boot for all of them, put right again after each.

What can go wrong on such a pair, as it was measured, and which test makes it. `-` marks what no scan can see: only
traffic shows it, so it is the RDMA ping's to find (test_rdma_ping), with errno or the work request's status named;
datagrams and TCP are test_reach's, LLDP is test_lldp's.

    empty GID index, on both nodes               test_several    a_pinned_gid_index_that_leads_to_an_empty_slot
    index out of the table                       test_several    ... or_behind_the_table
    IPv4 GID at one end, fe80 at the other       test_addresses  a_rail_without_an_ipv4_address
    fe80 at both ends (works)                    test_addresses  a_rail_without_an_ipv4_address_on_both_nodes
    port f1 to port f1, which no cable joins     test_cabling    every link told; - connecting them: WC 12, or a hang
    the same with arp_ignore 1, arp_announce 2   test_hosts      settings_that_decide_...; - errno 110 after 1 s
    retry count 7: never a status on rxe         -
    IP on the wrong NIC, ping succeeds           test_addresses  addresses_swapped_between_the_rails_of_a_node
    cable rewired straight, ping succeeds        test_cabling    cables_straight_instead_of_crossed
    link down before connecting                  test_devices    a_port_set_down; - errno 101
    link down while messages flow                - WC 2 or 12; afterwards as above
    cable pulled                                 test_cabling    a_pulled_cable_is_down_at_that_end_only
    MTU 9000 against 1500, path MTU 1024         test_addresses  ends_of_one_rail_with_different_mtu
    the same, path MTU 4096: large messages hang - (the two MTUs and both active MTUs are told, as above)
    large frames lost on the way                 test_rdma_ping  whole_packets_lost_on_the_way (by RDMA, datagrams)

Beside that table: cables that lead elsewhere, carry one way, loop, or end in a switch without VLANs; foreign frames,
beacons of another run (test_cabling); one subnet or one address twice, VLANs, routes and rules that lead elsewhere,
addresses that no file brings back (test_addresses, test_several); HCAs gone, renamed, bonded, bridged, with an MTU
that did not follow, without rights to lock memory or to send beacons (test_devices); cloned machines, clocks,
firewalls (test_hosts); sysfs, device files and /dev/shm withheld, ACS (test_hidden); flapping carriers and forged
lines of the kernel's log (test_traces). What is healthy, and that the probe knows more of it than the usual tools do:
test_healthy, test_healthy_tools.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator

import pytest

from fabricdoc.model.fabric import Fabric
from tests.labs.lab import RoceLab, missing_tools, open_roce_lab


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly why the lab did not run, whatever the verbosity."""
    reason = why_not()
    if reason and any("tests/roce" in report.nodeid for report in terminalreporter.stats.get("skipped", [])):
        terminalreporter.section("the RoCE lab was NOT run", sep="!")
        terminalreporter.write_line(reason)


def why_not() -> str:
    """Why this machine can't run the lab, or nothing."""
    if platform.machine() != "x86_64":
        return f"its guests are built for x86_64, this machine is {platform.machine()}"
    missing = missing_tools()
    return f"not installed here: {', '.join(missing)}; `make deps` installs them" if missing else ""


@pytest.fixture(scope="session")
def booted() -> Iterator[RoceLab]:
    """Both guests; skipped only where the machine lacks what it takes."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with open_roce_lab() as lab:
        yield lab


@pytest.fixture
def lab(booted: RoceLab) -> Iterator[RoceLab]:
    """The healthy lab; whatever the test does to it is undone."""
    yield booted
    booted.restore()


@pytest.fixture
def healthy(lab: RoceLab) -> Fabric:
    """A scan of the healthy lab, shared while nothing is done to its guests."""
    return lab.healthy()
