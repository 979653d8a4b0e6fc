"""An ssh that was hung up on is started again, a few times and within the deadline; any other failure is final."""

from __future__ import annotations

import sys
import time

import pytest

from fabricdoc.transport import NodeSpec, ask, channel, open_channels
from tests.unit.transport.clients import Clients

pytestmark = pytest.mark.lab  # whole processes with deadlines: too slow for every check

NODE = NodeSpec("n", "far", python=sys.executable)
HUNG_UP = "kex_exchange_identification: Connection closed by remote host\nConnection closed by UNKNOWN port 65535\n"
# stands for ssh: says `said` and fails as often as asked, then runs the command line as a login shell would
SSH = """#!/bin/sh
echo x >>{folder}/tries
if [ $(wc -l <{folder}/tries) -gt {slow} ]; then exec sleep 60; fi
if [ $(wc -l <{folder}/tries) -le {times} ]; then cat >/dev/null & cat {folder}/said >&2; exit 255; fi
for line in "$@"; do :; done
exec setsid --wait sh -c "$line"
"""


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "AGAIN_S", 0.02)


def put(clients: Clients, times: int, said: str = HUNG_UP, slow: int = 99) -> None:
    (clients.folder / "said").write_text(said)
    clients.write("ssh", SSH.format(folder=clients.folder, times=times, slow=slow))


def tries(clients: Clients) -> int:
    return len((clients.folder / "tries").read_text().splitlines())


def test_what_was_to_be_sent_is_not_lost_with_the_tries_that_failed(clients: Clients, payload: bytes) -> None:
    put(clients, 3)
    (answer,) = ask([NODE], "echo", {"do": "echo", "value": "y" * 200_000}, deadline_s=20, payload=payload)
    assert answer.message == {"event": "echo", "value": "y" * 200_000}, answer.error
    assert tries(clients) == 4


def test_conversations_begin_again_too(clients: Clients, payload: bytes) -> None:
    put(clients, 2)
    with open_channels([NODE, NodeSpec("here", "local")], "echo", payload=payload) as channels:
        channels.broadcast({"do": "echo", "value": 1})
        assert sorted((channels.receive(10) or ("",))[0] for _ in range(2)) == ["here", "n"]
    assert tries(clients) == 3


def test_its_number_is_bounded_and_the_last_words_are_told(clients: Clients, payload: bytes) -> None:
    put(clients, 99)
    (answer,) = ask([NODE], "echo", {}, deadline_s=20, payload=payload)
    assert answer.error is not None
    assert (answer.error.id, tries(clients)) == ("ssh-jump", channel.TRIES)


@pytest.mark.parametrize(
    "said", ["n: Permission denied (publickey).\n", "ssh: connect to host far port 22: Connection refused\n", ""]
)
def test_any_other_failure_is_final(clients: Clients, payload: bytes, said: str) -> None:
    put(clients, 99, said)
    (answer,) = ask([NODE], "echo", {}, deadline_s=20, payload=payload)
    assert answer.error is not None
    assert tries(clients) == 1


def test_the_deadline_ends_the_waiting_as_well(
    clients: Clients, payload: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "AGAIN_S", 30.0)
    put(clients, 99)
    begun = time.monotonic()
    (answer,) = ask([NODE], "echo", {}, deadline_s=1.5, payload=payload)
    assert answer.error is not None
    assert (answer.error.id, tries(clients)) == ("ssh-jump", 1)
    assert time.monotonic() - begun < 6


def test_the_reason_of_the_try_before_is_told_where_the_last_one_hangs(clients: Clients, payload: bytes) -> None:
    put(clients, 99, slow=1)
    (answer,) = ask([NODE], "echo", {}, deadline_s=2, payload=payload)
    assert answer.error is not None
    assert (answer.error.id, tries(clients)) == ("ssh-jump", 2)
