"""Rules of the side channel: interfaces and TCP connections; each with what only looks like it."""

from __future__ import annotations

import pytest

from tests.excerpts import addresses, log, told, using, version, warn

pytestmark = pytest.mark.unit

Files = dict[str, str]
SOCKETS = "Using network Socket"
IFNAME = "NCCL_SOCKET_IFNAME set by environment to {}"


def refused(peer: str, why: str = "Connection refused") -> str:
    return warn("include/socket.h:403", f"Connect to {peer}<41234> failed : {why}")


NOT_FOUND = {
    "with the interfaces": {
        "a.log": log("alpha", IFNAME.format("eth7"), warn("bootstrap.cc:115", "Bootstrap : no socket interface found")),
        "ip_addr.txt": addresses(("enp3s0", "10.1.0.5/24")),
    },
    "log alone": {
        "a.log": log("alpha", IFNAME.format("eth7"), warn("bootstrap.cc:45", "Bootstrap : no socket interface found"))
    },
    "told by the env file": {
        "a.log": log("alpha", warn("bootstrap.cc:45", "Bootstrap : no socket interface found")),
        "nccl.env": "NCCL_SOCKET_IFNAME=ib9\n",
    },
}
VIRTUAL = {
    "the failing peer is its address": {
        "alpha.log": log("alpha", "Bootstrap : Using docker0:172.17.0.1<0>", SOCKETS),
        "bravo.log": log("bravo", "Bootstrap : Using eno1:10.1.0.6<0>", refused("172.17.0.1")),
    },
    "both have the same": {
        "alpha.log": log("alpha", "Bootstrap: Using docker0:172.17.0.1<0>"),
        "bravo.log": log("bravo", "Bootstrap: Using docker0:172.17.0.1<0>"),
    },
    "newer words": {
        "alpha.log": log(
            "alpha",
            "Bootstrap: Using tailscale0:100.64.0.3<0>",
            warn(
                "misc/socket.cc:500", "socketStartConnect: Connect to 100.64.0.9<41234> failed : Connection timed out"
            ),
        ),
    },
    "a link-local peer": {
        "alpha.log": log(
            "alpha",
            "Bootstrap : Using [0]eno1:10.1.0.5<0> [1]vethab12:fe80::1%vethab12<0>",
            refused("fe80::9%5", "Network is unreachable"),
        ),
    },
}
LOOPBACK = {
    "both meet at lo": {
        "alpha.log": log("alpha", IFNAME.format("lo"), "Bootstrap : Using lo:127.0.0.1<0>"),
        "bravo.log": log("bravo", "Bootstrap : Using lo:127.0.0.1<0>", refused("127.0.0.1")),
    },
    "a file sets it": {
        "alpha.log": log(
            "alpha",
            "Bootstrap: Using lo:127.0.0.1<0>",
            warn(
                "misc/socket.cc:480",
                "socketPollConnect: connect to 127.0.0.1<33557> returned Connection refused, "
                "exceeded error retry count after 35 attempts",
            ),
        ),
        "nccl.conf": "NCCL_SOCKET_IFNAME=lo\n",
    },
}
ALONE = {
    "alpha.log": log("alpha", "Bootstrap: Using lo:127.0.0.1<0>"),
    "bravo.log": log("bravo", "Bootstrap: Using lo:127.0.0.1<0>"),
}
FIREWALL = {
    "rejected in the subnet": {
        "a.log": log("alpha", "Bootstrap : Using eno1:10.1.0.5<0>", SOCKETS, refused("10.1.0.6", "No route to host"))
    },
    "newer words": {
        "a.log": log(
            "alpha",
            "Bootstrap: Using eno1:10.1.0.5<0>",
            warn(
                "misc/socket.cc:480",
                "socketPollConnect: connect to 10.1.0.6<33557> returned No route to host, "
                "exceeded error retry count after 35 attempts",
            ),
        )
    },
    "its rules": {
        "a.log": log("alpha", "Bootstrap: Using eno1:10.1.0.5<0>", refused("10.1.0.6", "Connection timed out")),
        "bravo_iptables.txt": "-A INPUT -j REJECT --reject-with icmp-host-prohibited\n",
    },
}


def rows(table: dict[str, Files]) -> list[object]:
    return [pytest.param(files, id=name) for name, files in table.items()]


@pytest.mark.parametrize("files", rows(NOT_FOUND))
def test_a_name_that_is_not_there_is_told(files: Files) -> None:
    assert told(files).verdict == "socket-ifname-not-found"


def test_an_interface_that_is_there_is_in_the_fix() -> None:
    assert any("NCCL_SOCKET_IFNAME==enp3s0" in line for line in told(NOT_FOUND["with the interfaces"]).findings[0].fix)


def test_no_interface_without_a_filter_is_not_explained() -> None:
    document = told({"a.log": log("alpha", warn("bootstrap.cc:45", "Bootstrap : no socket interface found"))})
    assert document.verdict == "unknown"
    assert "socket-ifname-not-found" in [one.id for one in document.considered]


@pytest.mark.parametrize("files", rows(VIRTUAL))
def test_a_virtual_interface_that_fails_is_told(files: Files) -> None:
    assert told(files).verdict == "virtual-interface-selected"


def test_a_virtual_interface_that_works_is_nothing_wrong() -> None:
    files = {
        "a.log": log(
            "alpha",
            "Bootstrap: Using br-fabric:10.1.0.5<0>",
            using("mlx5_0"),
            "Using network IB",
            "Connected all rings",
        )
    }
    assert told(files).verdict == "none"


@pytest.mark.parametrize("files", rows(LOOPBACK))
def test_loopback_between_hosts_is_told(files: Files) -> None:
    assert told(files).verdict == "loopback-selected"


def test_loopback_within_a_host_is_nothing_wrong() -> None:
    files = {
        "a.log": log("alpha", IFNAME.format("lo"), "Bootstrap: Using lo:127.0.0.1<0>", SOCKETS, "Connected all rings")
    }
    assert told(files).verdict == "none"


def test_a_peer_that_went_away_over_loopback_is_no_wrong_interface() -> None:
    line = warn("misc/socket.cc:72", "socketProgress: Connection closed by remote peer localhost<58116>")
    assert told({"a.log": log("alpha", "Bootstrap: Using lo:127.0.0.1<0>", SOCKETS, line)}).verdict == "unknown"


@pytest.mark.parametrize("files", rows(FIREWALL))
def test_a_rejected_neighbour_is_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "host-firewall"
    assert any("10.1.0.6" in line for line in document.findings[0].fix)


def test_a_refused_connection_alone_is_no_firewall() -> None:
    document = told(
        {"a.log": log("alpha", version("2.10.3"), "Bootstrap : Using eno1:10.1.0.5<0>", refused("10.1.0.6"))}
    )
    assert document.verdict == "unknown"
    assert document.collect


def test_two_hosts_at_lo_that_never_meet_are_told() -> None:
    document = told(ALONE)
    assert document.verdict == "loopback-selected"
    assert document.findings[0].confidence == "likely"


BRIDGED = log(
    "3f2a",
    "Bootstrap : Using eth0:172.17.0.2<0>",
    warn(
        "misc/socket.cc:480",
        "socketStartConnect: Connect to 172.17.0.2<38847> failed : Software caused connection abort",
    ),
)


def test_a_container_on_dockers_bridge_meets_itself() -> None:
    document = told({"a.log": BRIDGED, "run.sh": "docker run --gpus all -p 1777:1777 -it image\n"})
    assert (document.verdict, document.findings[0].confidence) == ("virtual-interface-selected", "certain")


def test_a_network_of_that_number_alone_is_no_bridge() -> None:
    text = BRIDGED.replace("Connect to 172.17.0.2<", "Connect to 172.17.0.9<")
    assert told({"a.log": text, "run.sh": "docker run --network host image\n"}).verdict != "virtual-interface-selected"
    assert (
        told({"a.log": log("alpha", "Bootstrap : Using eth0:172.17.0.2<0>", "Using network Socket")}).verdict == "none"
    )


FAMILY = "ncclSocketInit: connecting to address  with family 59936 is neither AF_INET(2) nor AF_INET6(10)"


def test_a_filter_without_an_interface_and_an_empty_address_are_told() -> None:
    lines = ("NCCL_SOCKET_IFNAME set by environment to eth2", warn("misc/socket.cc:1", FAMILY))
    document = told({"a.log": log("alpha", *lines)})
    assert (document.verdict, document.findings[0].confidence) == ("socket-ifname-not-found", "likely")


def test_an_empty_address_where_an_interface_is_in_use_is_not_explained() -> None:
    lines = (
        "NCCL_SOCKET_IFNAME set by environment to eth2",
        "Bootstrap : Using eth2:10.1.0.5<0>",
        warn("misc/socket.cc:1", FAMILY),
    )
    assert told({"a.log": log("alpha", *lines)}).verdict == "unknown"


def test_a_peer_that_gave_a_link_local_address_is_told() -> None:
    failed = warn(
        "misc/socket.cc:484", "socketStartConnect: Connect to 169.254.20.10<43369> failed : Connection refused"
    )
    document = told({"a.log": log("alpha", "Bootstrap : Using bond0:10.1.0.5<0>", failed)})
    assert (document.verdict, document.findings[0].confidence) == ("virtual-interface-selected", "likely")
    both = told({"a.log": log("alpha", "Bootstrap : Using enp1s0f0np0:169.254.20.9<0>", failed)})
    assert both.verdict != "virtual-interface-selected"


OLD = "NET : Using interface {}:{}<0>"


def test_the_oldest_releases_list_virtual_interfaces_line_by_line() -> None:
    lines = [OLD.format("enp3s0", "10.1.0.5"), OLD.format("br-4e5f60905511", "172.18.0.1")]
    files = {"a.log": log("alpha", *lines, warn("include/socket.h:360", "Call to connect failed : Connection refused"))}
    document = told(files)
    assert document.verdict == "virtual-interface-selected"
    assert "br-4e5f60905511" in document.findings[0].cause


def test_the_oldest_releases_meet_at_loopback() -> None:
    lines = [OLD.format("lo", "127.0.0.1"), OLD.format("eth0", "10.1.0.5")]
    broken = warn("include/socket.h:361", "Call to connect timeout : Connection refused")
    files = {"a.log": log("alpha", *lines, "rank 0 nranks 2") + log("bravo", "rank 1 nranks 2", broken)}
    assert told(files).verdict == "loopback-selected"


def test_the_oldest_releases_may_list_a_bridge_that_nothing_fails_on() -> None:
    lines = [OLD.format("enp3s0", "10.1.0.5"), OLD.format("virbr0", "192.168.122.1"), SOCKETS]
    assert told({"a.log": log("alpha", *lines)}).verdict == "none"


INTERFACES = """1: lo: <LOOPBACK,UP> mtu 65536 qdisc noqueue state UNKNOWN group default
    inet 127.0.0.1/8 scope host lo
2: {name}: <BROADCAST,UP> mtu 1500 qdisc mq state UP group default
    inet {address}/24 scope global {name}
"""


@pytest.mark.parametrize(
    ("value", "verdict"),
    [("ens9", "socket-ifname-not-found"), ("=eno", "socket-ifname-not-found"), ("eno", "none"), ("^docker0", "none")],
)
def test_without_a_log_a_filter_is_held_against_its_own_nodes_interfaces(value: str, verdict: str) -> None:
    files = {
        "alpha.env": f"NCCL_SOCKET_IFNAME={value}\n",
        "alpha_ip_addr.txt": INTERFACES.format(name="eno1", address="10.1.0.5"),
        "bravo_ip_addr.txt": INTERFACES.format(name="ens9", address="10.1.0.6"),
    }
    document = told(files)
    assert document.verdict == verdict
    if verdict != "none":
        assert "NCCL_SOCKET_IFNAME==eno1" in document.findings[0].fix[0]


def test_without_a_log_some_interfaces_say_nothing_of_others() -> None:
    some = INTERFACES.format(name="eno1", address="10.1.0.5").partition("2: ")[2]
    assert told({"alpha.env": "NCCL_SOCKET_IFNAME=ens9\n", "alpha_ip_addr.txt": f"2: {some}"}).verdict == "none"
