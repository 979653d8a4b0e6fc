"""What avahi-browse prints becomes peers of the fabric's own netdevs; without it nobody is announced."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.transport import announced
from fabricdoc.transport.announced import BROWSE, announced_peers
from fabricdoc.transport.command import Said
from fabricdoc.transport.peers import MAX_PEERS, Peer
from tests.unit.transport.clients import Clients

pytestmark = pytest.mark.unit

# as avahi-browse 0.8 prints it: `+` found, `=` resolved; its escapes are decimal
SAID = """+;enp1s0f0np0;IPv4;spark-2;_ssh._tcp;local
=;enp1s0f0np0;IPv6;spark-2;_ssh._tcp;local;spark-2.local;fe80::4ebb:47ff:fe00:2;22;"a=b"
=;enp1s0f0np0;IPv4;spark\\0322;_ssh._tcp;local;spark-2.local;169.254.7.2;22;
=;enp1s0f0np0;IPv4;odd;_ssh._tcp;local;odd.local;169.254.7.3;2222;
=;wlan0;IPv4;printer;_ssh._tcp;local;printer.local;192.168.1.9;22;
=;enp1s0f0np0;IPv4;short
"""
ON = "announced by mDNS on enp1s0f0np0"


def test_who_is_announced_on_a_fabric_port_is_a_peer(clients: Clients) -> None:
    (clients.folder / "said").write_text(SAID)
    log = clients.folder / "avahi-browse.words"
    words = f"printf '%s\\0' \"$@\" >>{log}; printf '\\n' >>{log}"
    clients.write("avahi-browse", f"#!/bin/sh\n{words}\ncat {clients.folder}/said\n")
    assert announced_peers({"enp1s0f0np0", "enp1s0f1np1"}) == (
        Peer("169.254.7.2", ON),
        Peer("169.254.7.3:2222", ON),
        Peer("[fe80::4ebb:47ff:fe00:2%enp1s0f0np0]", ON),
    )
    assert clients.calls("avahi-browse") == [list(BROWSE[1:])]


def test_where_there_is_no_avahi_or_no_port_nobody_is_announced(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert announced_peers(()) == ()
    monkeypatch.setenv("PATH", str(clients.folder))
    assert announced_peers({"p0"}) == ()


@pytest.mark.long
def test_an_avahi_that_does_not_answer_costs_its_deadline(clients: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announced, "DEADLINE_S", 0.3)
    clients.write("avahi-browse", "#!/bin/sh\nexec sleep 60\n")
    begun = time.monotonic()
    assert announced_peers({"p0"}) == ()
    assert time.monotonic() - begun < 5


@given(st.lists(st.text(alphabet="=;p0IPv46fe80:.22a%'\"$ \n", max_size=60), max_size=10), st.integers(0, 600))
def test_any_text_gives_a_bounded_number_of_single_line_targets(lines: list[str], many: int) -> None:
    flood = [f"=;p0;IPv4;n;_ssh._tcp;local;n.local;10.0.{number // 250}.{number % 250};22;" for number in range(many)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(announced, "output_of", lambda *_args, **_more: Said(0, "\n".join([*lines, *flood]), ""))
        peers = announced_peers({"p0"})
    assert min(many, MAX_PEERS) <= len(peers) <= MAX_PEERS
    assert all(len(peer.target.splitlines()) <= 1 for peer in peers)
