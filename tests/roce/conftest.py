"""The RoCE lab for its tests: one boot for all of them, put right again after each scene.

A scene is a file's faults that don't touch one another, made at once: one scan, a test for each fault, and one that
nothing else is found, so that what an earlier scene left behind shows as well.

What can go wrong on such a pair, as it was measured, and which test makes it. `-` marks what no scan can see: only
traffic shows it, so it is the RDMA ping's to find, with errno or the work request's status named (test_rdma_ping;
test_addresses, test_down and test_swapped beside what a scan sees). Datagrams and TCP are test_reach's, LLDP is
test_lldp's.

    empty GID index, on both nodes               test_several    a_pinned_gid_index_that_leads_to_an_empty_slot
    index out of the table                       test_several    ... or_behind_the_table
    index moved, address given again             test_smoke_gate a_gid_that_was_renumbered_is_no_go_...
    IPv4 GID at one end, fe80 at the other       test_addresses  a_rail_without_an_ipv4_address; - errno 22
    fe80 at both ends (works)                    test_hosts      a_rail_without_an_ipv4_address_on_both_nodes
    port f1 to port f1, which no cable joins     test_cabling    every link told; - connecting them: WC 12, or a hang
    the same with arp_ignore 1, arp_announce 2   test_hosts      settings_that_decide_...; - errno 110 after 1 s
    retry count 7: never a status on rxe         -
    IP on the wrong NIC, ping succeeds           test_swapped    addresses_swapped_between_the_rails_of_a_node; - WC 12
    cable rewired straight, ping succeeds        test_rdma_ping  cables_made_straight_at_run_time_...; - WC 12
    link down before connecting                  test_down       a_port_set_down; - errno 101
    link down while messages flow                - WC 2 or 12; afterwards as above
    cable pulled                                 test_down       a_pulled_cable_is_down_at_that_end_only
    MTU 9000 against 1500, path MTU 1024         test_addresses  ends_of_one_rail_with_different_mtu; - it passes
    the same, path MTU 4096: large messages hang - (the two MTUs and both active MTUs are told, as above)
    large frames lost on the way                 test_rdma_ping  whole_packets_lost_on_the_way (by RDMA, datagrams)

Beside that table: cables that lead elsewhere, loop, or end in a switch without VLANs, beacons of another run
(test_cabling), cables that carry one way (test_rdma_ping); one subnet twice, VLANs, routes and rules that lead
elsewhere (test_several), foreign ports and networks (test_addresses); HCAs gone, with an MTU that did not follow,
without rights to lock memory or to send beacons, without device files (test_devices), renamed, bonded, bridged
(test_lists); one address twice, cloned machines, clocks (test_hosts); one machine twice, no port up (test_named_twice);
firewalls, addresses that no file brings back (test_reach); sysfs, device files and /dev/shm withheld, ACS
(test_hidden); flapping carriers, forged lines of the kernel's log, a pinned index that fits some ports (test_traces).
What is healthy, and that the probe knows more of it than the usual tools do: test_healthy, test_healthy_links,
test_healthy_tools.
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
    try:
        yield booted
    finally:
        booted.restore()


@pytest.fixture(scope="module")
def scene(booted: RoceLab) -> Iterator[RoceLab]:
    """The healthy lab for all faults of a module, made at once; undone after its last test."""
    try:
        yield booted
    finally:
        booted.restore()


@pytest.fixture(scope="session")
def healthy(booted: RoceLab) -> Fabric:
    """A scan of the healthy lab, made once."""
    return booted.healthy()
