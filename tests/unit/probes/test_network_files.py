"""The files that configure interfaces: where they are, what their words are, which name an interface, its stanza."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import network_files
from tests.sysfs import write

pytestmark = pytest.mark.unit

PORT = {"name": "enp1s0f0np0", "altnames": ["spark-left"], "mac": "4e:bc:ea:00:00:01", "driver": "mlx5_core"}
NETPLAN = """network:
  ethernets:
    "enp1s0f0np0":
      mtu: 9000

      addresses:
      - 192.168.100.1/24
      # dhcp4: true
    enp1s0f1np1: {dhcp4: true}
  bonds:
    bond0:
      interfaces: [enp1s0f0np0]
"""
INTERFACES = """
auto lo enp1s0f0np0
iface lo inet loopback
iface enp1s0f0np0 inet static
    address 192.168.100.1/24
iface enp1s0f0np0 inet6 auto
source-directory interfaces.d
iface eno1 inet dhcp
"""


@pytest.fixture(autouse=True)
def no_container(monkeypatch: pytest.MonkeyPatch) -> None:
    """The container these tests may run in is not the recorded machine's."""
    for name in ("KUBERNETES_SERVICE_HOST", "SLURM_CONTAINER", "container"):
        monkeypatch.delenv(name, raising=False)


def paths(root: Path) -> list[str]:
    return [source.path for source in network_files.read_sources(str(root))]


def named(text: str, interface: dict[str, Any] = PORT, path: str = "/etc/systemd/network/x.network") -> bool:
    return network_files.names_it(network_files.source(path, text), interface)


def test_only_files_that_the_systems_read_are_taken(tmp_path: Path) -> None:
    taken = [
        "etc/network/interfaces",
        "etc/netplan/40-cx7.yaml",
        "etc/systemd/network/10.network",
        "etc/NetworkManager/system-connections/cx7",
        "etc/sysconfig/network/ifcfg-eth0",
    ]
    left = ["etc/netplan/40-cx7.yaml.bak", "etc/systemd/network/10.link", "etc/sysconfig/network/config", "etc/hosts"]
    write(tmp_path, dict.fromkeys([*taken, *left], "x"))
    assert paths(tmp_path) == [f"/{path}" for path in taken]


def test_a_machine_without_any_has_none(tmp_path: Path) -> None:
    assert network_files.read_sources(str(tmp_path)) == []


def test_a_folder_full_of_files_is_bounded(tmp_path: Path) -> None:
    write(tmp_path, {f"etc/network/interfaces.d/{number:03}": "auto x" for number in range(100)})
    assert len(paths(tmp_path)) == network_files.MAX_FILES


def test_a_dangling_link_is_no_file_and_a_folder_in_a_files_place_is_a_reason(tmp_path: Path) -> None:
    (tmp_path / "etc/netplan/a.yaml").mkdir(parents=True)
    (tmp_path / "etc/netplan/b.yaml").symlink_to(tmp_path / "nowhere")
    (only,) = network_files.read_sources(str(tmp_path))
    assert (only.path, only.reason) == ("/etc/netplan/a.yaml", "/etc/netplan/a.yaml: Is a directory")


def test_a_container_speaks_of_another_machine(tmp_path: Path) -> None:
    write(tmp_path, {"run/.containerenv": "", "etc/netplan/40-cx7.yaml": NETPLAN})
    assert network_files.read_sources(str(tmp_path)) == {
        "unknown": "inside a container (podman): the host's files are not seen"
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("enp1s0f0np0:", {"enp1s0f0np0"}),
        ("addresses: [10.0.0.1/24, '10.0.0.2/24']", {"addresses", "10.0.0.1/24", "10.0.0.2/24"}),
        ("address1=10.0.0.1/24,10.0.0.254", {"address1", "10.0.0.1/24", "10.0.0.254"}),
        ('IPADDR="10.0.0.1"', {"IPADDR", "10.0.0.1"}),
        (" : :: ", set()),
    ],
)
def test_words_are_free_of_punctuation(text: str, words: set[str]) -> None:
    assert network_files.words_of(text) == words


def test_comments_are_gone_and_a_macs_case_does_not_matter() -> None:
    source = network_files.source("/etc/netplan/a.yaml", "a # b\n#c\n  ;d\nmac: 4E:BC:EA:00:00:01 x#y")
    assert {"b", "c", "d"}.isdisjoint(source.words)
    assert {"a", "4e:bc:ea:00:00:01", "x#y"} <= source.words


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/etc/sysconfig/network-scripts/ifcfg-eth0", "eth0"),
        ("/run/systemd/network/10-netplan-enp1s0f0np0.network", "enp1s0f0np0"),
        ("/run/NetworkManager/system-connections/netplan-br.100.nmconnection", "br.100"),
    ],
)
def test_a_files_name_names_an_interface(path: str, name: str) -> None:
    assert network_files.source(path, "").words == {name}


@pytest.mark.parametrize(
    "text",
    [
        "Name=enp1s0f0np0",
        "Name=enp1s0f?np*",
        "Name=eno1 enp[0-9]s0f0np0",
        "interface-name=spark-*",
        "Driver=mlx*",
        "MACAddress=4E:BC:EA:00:00:01",
        "  match: {name: 'enp1*'}",
        "iface spark-left",
    ],
)
def test_an_interface_is_named_in_many_ways(text: str) -> None:
    assert named(text)


@pytest.mark.parametrize("text", ["Name=enp1s0f0", "Name=en[z-a]*", "Name=* !enp1s0*", "Driver=ice", "Kind=enp*", ""])
def test_what_does_not_fit_does_not_name_it(text: str) -> None:
    assert not named(text)


def test_an_interface_whose_mac_and_driver_are_not_known_is_named_by_its_name() -> None:
    unsure = {**PORT, "mac": {"unknown": "x"}, "driver": {"unknown": "x"}}
    assert named("Name=enp*", unsure)
    assert not named("Driver=*", unsure)


def test_a_netplan_stanza_is_what_is_indented_below_its_name() -> None:
    source = network_files.source("/etc/netplan/40-cx7.yaml", NETPLAN)
    stanza = network_files.part_for(source, "enp1s0f0np0")
    assert stanza.split() == ['"enp1s0f0np0":', "mtu:", "9000", "addresses:", "-", "192.168.100.1/24"]
    assert network_files.part_for(source, "enp1s0f1np1").strip() == "enp1s0f1np1: {dhcp4: true}"
    assert network_files.part_for(source, "left") == source.text


def test_ifupdown_stanzas_end_where_the_next_begins() -> None:
    source = network_files.source("/etc/network/interfaces", INTERFACES)
    part = network_files.part_for(source, "enp1s0f0np0")
    assert "address 192.168.100.1/24" in part
    assert "inet6 auto" in part
    assert "dhcp" not in part
    assert network_files.part_for(source, "eno9") == source.text


def test_other_files_are_about_one_interface_as_a_whole() -> None:
    source = network_files.source("/etc/systemd/network/a.network", "[Match]\nName=enp1s0f0np0")
    assert network_files.part_for(source, "enp1s0f0np0") == source.text


@given(st.text(max_size=300), st.sampled_from(["/etc/netplan/a.yaml", "/etc/network/interfaces", "/x"]))
def test_any_text_is_searched(text: str, path: str) -> None:
    source = network_files.source(path, f"Name={text}")
    assert network_files.names_it(source, PORT) in (True, False)
    part = network_files.part_for(source, "enp1s0f0np0")
    assert network_files.words_of(part) <= {*source.words, *network_files.words_of(source.text)}
