"""What outlives a reboot: each system's files, patterns, leases, unreadable files, and what names nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import network_files, persistence
from tests.sysfs import write

pytestmark = pytest.mark.unit

NETPLAN = """
network:
  version: 2
  ethernets:
    enp1s0f0np0:      # left cage
      mtu: 9000
      addresses: [192.168.100.1/24]
    enP2p1s0f0np0:
      dhcp4: no
      addresses:
        - 192.168.101.1/24
"""
NOT_FOUND = "not found in netplan, systemd-networkd, NetworkManager, ifupdown, ifcfg"


@pytest.fixture(autouse=True)
def no_container(monkeypatch: pytest.MonkeyPatch) -> None:
    """The container these tests may run in is not the recorded machine's."""
    for name in ("KUBERNETES_SERVICE_HOST", "SLURM_CONTAINER", "container"):
        monkeypatch.delenv(name, raising=False)


def port(*ips: str, **changed: Any) -> dict[str, Any]:
    addresses = [{"ip": ip, "prefix": 24, "family": "ipv4", "scope": "global"} for ip in ips or ("192.168.100.1",)]
    return {
        "name": "enp1s0f0np0",
        "altnames": [],
        "mac": "4e:bc:ea:00:00:01",
        "driver": "mlx5_core",
        "addresses": addresses,
    } | changed


def found(root: Path, interface: dict[str, Any] | None = None, leased: bool = False) -> Any:
    return persistence.persistence(interface or port(), leased, network_files.read_sources(str(root)))


def test_netplan_holds_the_address(tmp_path: Path) -> None:
    write(tmp_path, {"etc/netplan/40-cx7.yaml": NETPLAN})
    assert found(tmp_path) == "/etc/netplan/40-cx7.yaml holds 192.168.100.1"
    assert found(tmp_path, port("192.168.101.1", name="enP2p1s0f0np0")).endswith("holds 192.168.101.1")


def test_an_address_set_by_hand_is_not_in_the_file(tmp_path: Path) -> None:
    write(tmp_path, {"etc/netplan/40-cx7.yaml": NETPLAN})
    assert found(tmp_path, port("10.0.0.7")) == "/etc/netplan/40-cx7.yaml names it, without its address"
    both = found(tmp_path, port("192.168.100.1", "10.0.0.7"))
    assert both == "/etc/netplan/40-cx7.yaml holds 192.168.100.1, not 10.0.0.7"
    assert found(tmp_path, port("192.168.100.10")).endswith("without its address")


def test_a_name_in_another_case_is_another_name(tmp_path: Path) -> None:
    write(tmp_path, {"etc/netplan/40-cx7.yaml": NETPLAN})
    assert found(tmp_path, port("192.168.101.1", name="enp2p1s0f0np0")) == NOT_FOUND


def test_a_comment_names_nothing(tmp_path: Path) -> None:
    text = "# enp1s0f0np0 had 192.168.100.1\n  eno1: {} # not enp1s0f0np0\n;enp1s0f0np0"
    write(tmp_path, {"etc/netplan/01.yaml": text, "etc/network/interfaces": text})
    assert found(tmp_path) == NOT_FOUND


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("etc/systemd/network/10-cx7.network", "[Match]\nName=enp1s0f0*\n[Network]\nAddress=192.168.100.1/24"),
        ("etc/systemd/network/10-cx7.network", "[Match]\nName=eno[0-9] enp[0-9]s0f0np0\nAddress=192.168.100.1/24"),
        ("etc/systemd/network/10-cx7.network", "[Match]\nMACAddress=4E:BC:EA:00:00:01\nAddress=192.168.100.1/24"),
        ("etc/systemd/network/10-cx7.network", "[Match]\nDriver=mlx5_*\n[Address]\nAddress=192.168.100.1/24"),
        ("etc/netplan/1.yaml", "left:\n  match: {name: enp1s0f0*}\n  addresses: ['192.168.100.1/24']"),
        ("etc/netplan/1.yaml", 'left:\n  match:\n    macaddress: "4e:bc:ea:00:00:01"\n  addresses: [192.168.100.1/24]'),
        ("etc/NetworkManager/system-connections/cx7.nmconnection",
         "[connection]\ninterface-name=enp1s0f0np0\n[ipv4]\nmethod=manual\naddress1=192.168.100.1/24,192.168.100.254"),
        ("run/NetworkManager/system-connections/netplan-enp1s0f0np0.nmconnection", "[ipv4]\naddress1=192.168.100.1/24"),
        ("etc/network/interfaces", "auto enp1s0f0np0\niface enp1s0f0np0 inet static\n  address 192.168.100.1"),
        ("etc/network/interfaces.d/cx7", "iface enp1s0f0np0 inet static\n  address 192.168.100.1/24"),
        ("etc/sysconfig/network-scripts/ifcfg-enp1s0f0np0", 'BOOTPROTO=none\nIPADDR="192.168.100.1"'),
    ],
)  # fmt: skip
def test_every_system_is_searched(tmp_path: Path, path: str, text: str) -> None:
    write(tmp_path, {path: text})
    assert found(tmp_path) == f"/{path} holds 192.168.100.1"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("etc/systemd/network/80.network", "[Match]\nName=* !enp1s0f0np0\nAddress=192.168.100.1/24"),
        ("etc/systemd/network/80.network", "[Match]\nName=eno*\nAddress=192.168.100.1/24"),
        ("etc/systemd/network/80.netdev", "[NetDev]\nName=enp1s0f0np0"),
        ("etc/netplan/40-cx7.yaml.bak", NETPLAN),
        ("etc/sysconfig/network-scripts/route-enp1s0f0np0", "10.0.0.0/8 via 192.168.100.1"),
    ],
)
def test_other_interfaces_and_other_files_do_not_count(tmp_path: Path, path: str, text: str) -> None:
    write(tmp_path, {path: text})
    assert found(tmp_path) == NOT_FOUND


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("etc/netplan/1.yaml", "enp1s0f0np0:\n  dhcp4: true"),
        ("etc/systemd/network/1.network", "[Match]\nName=enp1s0f0np0\n[Network]\nDHCP=ipv4"),
        ("etc/NetworkManager/system-connections/a", "interface-name=enp1s0f0np0\n[ipv4]\nmethod=auto"),
        ("etc/network/interfaces", "iface enp1s0f0np0 inet dhcp"),
        ("etc/sysconfig/network-scripts/ifcfg-enp1s0f0np0", 'BOOTPROTO="dhcp"'),
    ],
)
def test_a_lease_comes_back_by_itself(tmp_path: Path, path: str, text: str) -> None:
    write(tmp_path, {path: text})
    assert found(tmp_path) == f"/{path} asks for a lease (DHCP)"


def test_a_link_local_address_is_made_again(tmp_path: Path) -> None:
    write(tmp_path, {"etc/netplan/40-cx7.yaml": "enp1s0f0np0:\n  link-local: [ ipv4 ]"})
    assert found(tmp_path, port("169.254.7.9")) == "/etc/netplan/40-cx7.yaml gives it a link-local address"
    assert found(tmp_path, port("10.0.0.9")).endswith("without its address")


def test_the_best_of_several_files_is_told(tmp_path: Path) -> None:
    write(tmp_path, {"etc/netplan/00.yaml": "bonds: {interfaces: [enp1s0f0np0]}", "etc/netplan/40-cx7.yaml": NETPLAN})
    assert found(tmp_path) == "/etc/netplan/40-cx7.yaml holds 192.168.100.1"


def test_what_is_only_below_run_ends_with_the_boot(tmp_path: Path) -> None:
    path = "run/NetworkManager/system-connections/temporary.nmconnection"
    write(tmp_path, {path: "interface-name=enp1s0f0np0\naddress1=192.168.100.1/24"})
    assert found(tmp_path) == f"{NOT_FOUND}; /{path} ends with the boot"


def test_a_file_that_may_not_be_read_makes_the_answer_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"etc/netplan/40-cx7.yaml": NETPLAN, "etc/network/interfaces": "auto lo"})
    locked(monkeypatch, tmp_path / "etc/netplan/40-cx7.yaml")
    assert found(tmp_path) == {"unknown": "/etc/netplan/40-cx7.yaml: Permission denied"}
    write(tmp_path, {"etc/network/interfaces.d/a": "iface enp1s0f0np0 inet static\naddress 192.168.100.1"})
    assert found(tmp_path) == "/etc/network/interfaces.d/a holds 192.168.100.1"


def test_a_locked_file_that_netplan_named_after_the_interface_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "run/systemd/network/10-netplan-enp1s0f0np0.network"
    write(tmp_path, {path: "", "etc/netplan/40-cx7.yaml": NETPLAN})
    locked(monkeypatch, tmp_path / path, tmp_path / "etc/netplan/40-cx7.yaml")
    assert found(tmp_path) == f"/{path} is named after it and may not be read"


def test_a_folder_that_may_not_be_listed_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "etc/NetworkManager/system-connections"
    folder.mkdir(parents=True)
    listing = network_files.names

    def names(path: str) -> list[str]:
        if path == str(folder):
            raise PermissionError(13, "Permission denied", path)
        return listing(path)

    monkeypatch.setattr(network_files, "names", names)
    assert "system-connections" in found(tmp_path)["unknown"]


def locked(monkeypatch: pytest.MonkeyPatch, *paths: Path) -> None:
    """These files answer as root's do to another user (tests may run as root, whom no mode keeps out)."""
    loading = network_files.load

    def load(path: str) -> str:
        if Path(path) in paths:
            raise PermissionError(13, "Permission denied", path)
        return loading(path)

    monkeypatch.setattr(network_files, "load", load)


def test_a_lease_that_no_file_names_is_no_loss(tmp_path: Path) -> None:
    assert found(tmp_path, leased=True).startswith("its address is a lease (DHCP); not named in")


def test_an_interface_without_an_address_has_nothing_to_lose(tmp_path: Path) -> None:
    loopback = [{"ip": "127.0.0.1", "prefix": 8, "family": "ipv4", "scope": "host"}]
    local = [{"ip": "fe80::1", "prefix": 64, "family": "ipv6", "scope": "link"}]
    for addresses in ([], loopback, local):
        assert found(tmp_path, port(addresses=addresses)) == {"unknown": "it has no address that could get lost"}


def test_a_container_does_not_see_the_hosts_files(tmp_path: Path) -> None:
    write(tmp_path, {".dockerenv": "", "etc/netplan/40-cx7.yaml": NETPLAN})
    assert found(tmp_path) == {"unknown": "inside a container (docker): the host's files are not seen"}


def test_an_alternative_name_counts(tmp_path: Path) -> None:
    write(tmp_path, {"etc/netplan/40-cx7.yaml": NETPLAN.replace("enp1s0f0np0", "spark-left")})
    assert found(tmp_path, port(altnames=["spark-left"])) == "/etc/netplan/40-cx7.yaml holds 192.168.100.1"


def test_the_stanza_of_the_interface_counts_not_its_neighbours(tmp_path: Path) -> None:
    write(tmp_path, {"etc/netplan/50-cloud-init.yaml": "enp7s7:\n  dhcp4: true\nenp1s0f0np0:\n  mtu: 9000"})
    assert found(tmp_path) == "/etc/netplan/50-cloud-init.yaml names it, without its address"
    write(tmp_path, {"etc/netplan/60.yaml": "enp7s7:\n  addresses: [192.168.100.1/24]\nenp1s0f0np0: {dhcp4: true}"})
    assert found(tmp_path) == "/etc/netplan/60.yaml asks for a lease (DHCP)"


def test_an_interface_with_ipv6_alone_is_named(tmp_path: Path) -> None:
    write(tmp_path, {"etc/netplan/40-cx7.yaml": NETPLAN})
    addresses = [{"ip": "fd00::1", "prefix": 64, "family": "ipv6", "scope": "global"}]
    assert found(tmp_path, port(addresses=addresses)) == "/etc/netplan/40-cx7.yaml names it"


def test_a_poor_answer_yields_to_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"etc/netplan/40-cx7.yaml": NETPLAN, "etc/network/interfaces": "allow-hotplug enp1s0f0np0"})
    locked(monkeypatch, tmp_path / "etc/netplan/40-cx7.yaml")
    assert found(tmp_path) == {"unknown": "/etc/netplan/40-cx7.yaml: Permission denied"}


def test_many_files_that_may_not_be_read_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [tmp_path / f"etc/netplan/{number}.yaml" for number in range(5)]
    write(tmp_path, {str(file.relative_to(tmp_path)): "" for file in files})
    locked(monkeypatch, *files)
    assert found(tmp_path)["unknown"].endswith("/etc/netplan/2.yaml: Permission denied; and 2 more")


@given(st.text(max_size=300))
def test_any_text_is_searched(text: str) -> None:
    source = network_files.source("/etc/systemd/network/x.network", f"[Match]\nName={text}")
    answer = persistence.persistence(port(driver={"unknown": "x"}, mac={"unknown": "x"}), False, [source])
    assert answer in (NOT_FOUND, f"{source.path} names it, without its address")
