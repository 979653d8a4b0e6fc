"""Candidates from ssh's own files: near hosts only, each once, whatever else those files hold."""

from __future__ import annotations

import socket
from ipaddress import ip_network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.transport.grammar import parse_target
from fabricdoc.transport.peers import MAX_PEERS, Peer, hosts_of, is_near, known_peers

pytestmark = pytest.mark.unit

CONFIG = """# my machines
Host spark1 spark2
  User me
Host head
  HostName 10.0.0.9
host=quoted
  HostName "192.168.1.4"
Host gh
  HostName github.com
Host *.lan !bad ?x
  User you
Host far.example.com
Host same
  HostName %h.lan
Match host other
  HostName 10.9.9.9
Include extra/*.conf
"""
KNOWN = """# comment
github.com ssh-ed25519 AAAA
spark3,192.168.1.7 ssh-ed25519 AAAA
[spark4.local]:2222 ssh-ed25519 AAAA
fe80::1%eth0 ssh-rsa AAAA
|1|abc=|def= ssh-ed25519 AAAA
@cert-authority *.lan ssh-ed25519 AAAA
8.8.8.8 ssh-rsa AAAA
spark1 ssh-ed25519 AAAA
*.lan ssh-ed25519 AAAA
short
"""


def test_near_hosts_of_both_files_the_configurations_first(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(CONFIG)
    (tmp_path / "known_hosts").write_text(KNOWN)
    (tmp_path / "extra").mkdir()
    (tmp_path / "extra" / "a.conf").write_text("Host rack1\n")
    assert known_peers(tmp_path) == (
        *(Peer(name, "config of ssh") for name in ("spark1", "spark2", "head", "quoted", "same")),
        Peer("rack1", "a.conf of ssh"),
        *(Peer(name, "known_hosts") for name in ("spark3", "192.168.1.7", "spark4.local:2222", "[fe80::1%eth0]")),
    )


@pytest.mark.parametrize(
    ("host", "near"),
    [
        ("spark1", True),
        ("spark1.local", True),
        ("Spark1.LAN.", True),
        ("10.1.2.3", True),
        ("169.254.7.1", True),
        ("fd00::1", True),
        ("fe80::1%eth0", True),
        ("localhost", False),
        ("127.0.0.1", False),
        ("::1", False),
        ("0.0.0.0", False),
        ("8.8.8.8", False),
        ("2606:4700::1", False),
        ("github.com", False),
        ("local.example.com", False),
    ],
)
def test_what_may_stand_beside_this_machine(host: str, near: bool) -> None:
    assert is_near(host) is near


def test_this_machines_own_domain_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "login.cluster.example.com")
    assert is_near("node1.cluster.example.com")
    assert not is_near("node1.example.com")


def test_without_the_files_there_is_nobody(tmp_path: Path) -> None:
    assert known_peers(tmp_path / "absent") == ()
    (tmp_path / "known_hosts").write_bytes(b"\xff\xfe spark1 key")
    assert known_peers(tmp_path) == ()


def test_their_number_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "known_hosts").write_text("".join(f"n{number} ssh-rsa A\n" for number in range(MAX_PEERS + 50)))
    assert len(known_peers(tmp_path)) == MAX_PEERS


def test_an_include_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "ssh").mkdir()
    (tmp_path / "other").write_text("Host secret\n")
    (tmp_path / "ssh" / "config").write_text(f"Include ../other\nInclude {tmp_path}/other\nInclude ~/other\n")
    assert known_peers(tmp_path / "ssh") == ()


HOSTS = """127.0.0.1 localhost
10.77.0.2\tspark2 spark2.lan  # the other one
10.77.0.3 spark3
10.77.0.4
fd00::2 spark6
192.168.1.9 nas
10.77.0.5 -oProxyCommand=x
10.77.0.6 a;b
no-address host
10.77.0.2 again
"""


def test_names_of_a_hosts_file_count_in_the_fabrics_networks_alone(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text(HOSTS)
    networks = [ip_network("10.77.0.0/24"), ip_network("fd00::/64")]
    assert hosts_of(tmp_path / "hosts", networks) == tuple(
        Peer(name, "hosts") for name in ("spark2", "spark3", "spark6", "again")
    )
    assert hosts_of(tmp_path / "hosts", []) == ()
    assert hosts_of(tmp_path / "absent", networks) == ()
    (tmp_path / "hosts").write_text("".join(f"10.77.0.9 n{number}\n" for number in range(MAX_PEERS + 9)))
    assert len(hosts_of(tmp_path / "hosts", networks)) == MAX_PEERS


def test_the_machines_own_list_of_keys_comes_last(tmp_path: Path) -> None:
    (tmp_path / "known_hosts").write_text("spark1 ssh-rsa A\n")
    (tmp_path / "ssh_known_hosts").write_text("spark1 ssh-rsa A\nspark2 ssh-rsa A\nfar.example.com ssh-rsa A\n")
    assert known_peers(tmp_path, tmp_path / "ssh_known_hosts") == (
        Peer("spark1", "known_hosts"),
        Peer("spark2", "ssh_known_hosts"),
    )


@given(st.text(max_size=200), st.text(alphabet="abn1.,[]:|@*%- \n", max_size=120))
def test_any_text_gives_targets_that_can_be_used(
    tmp_path_factory: pytest.TempPathFactory, config: str, known: str
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "config").write_text(f"Host {config}", "utf-8", "surrogatepass")
    (folder / "known_hosts").write_text(known)
    for peer in known_peers(folder):
        assert parse_target(peer.target).kind == "ssh"
