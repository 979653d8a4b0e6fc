"""The wire: marked lines of JSON out, messages in; stray prints, noise, cut lines and a controller that is gone."""

from __future__ import annotations

import contextlib
import json
import os
import select
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import wire as wires
from fabricdoc.probes.wire import MARK, Wire

pytestmark = pytest.mark.unit

NONCE = "n0nce"


class Ends:
    """A wire with the controller's ends of both pipes."""

    def __init__(self) -> None:
        self.read_end, self.to_probe = os.pipe()
        self.from_probe, self.write_end = os.pipe()
        self.wire = Wire(NONCE, self.read_end, self.write_end)

    def descriptors(self) -> tuple[int, ...]:
        return self.read_end, self.write_end, self.to_probe, self.from_probe, self.wire._out

    def say(self, data: bytes) -> None:
        os.write(self.to_probe, data)

    def heard(self) -> bytes:
        assert select.select([self.from_probe], [], [], 5)[0]
        return os.read(self.from_probe, 1 << 16)


@pytest.fixture
def ends() -> Iterator[Ends]:
    made = Ends()
    yield made
    for fd in made.descriptors():
        with contextlib.suppress(OSError):
            os.close(fd)


def test_every_line_of_ours_is_marked(ends: Ends) -> None:
    ends.wire.write({"event": "ready", "n": 1})
    assert ends.heard() == f'{MARK}{NONCE} {{"event":"ready","n":1}}\n'.encode()


def test_a_stray_print_goes_to_stderr_and_not_between_the_messages() -> None:
    errors, stderr = os.pipe()
    before = os.dup(2)
    os.dup2(stderr, 2)
    try:
        made = Ends()
    finally:
        os.dup2(before, 2)
    os.write(made.write_end, b"a library's banner\n")
    made.wire.write({"event": "x"})
    assert made.heard() == f'{MARK}{NONCE} {{"event":"x"}}\n'.encode()
    assert os.read(errors, 100) == b"a library's banner\n"
    for fd in (errors, stderr, before, *made.descriptors()):
        os.close(fd)


def test_the_descriptor_of_ours_does_not_leak_into_children(ends: Ends) -> None:
    assert not os.get_inheritable(ends.wire._out)


def test_messages_come_one_at_a_time_in_order(ends: Ends) -> None:
    ends.say(b'{"do": "a"}\n\n{"do": "b"}\n')
    assert ends.wire.read(5) == {"do": "a"}
    assert ends.wire.read(0) == {"do": "b"}, "what was read already needs no waiting"


def test_a_message_in_pieces_is_put_together(ends: Ends) -> None:
    ends.say(b'{"do":')
    assert ends.wire.pump() == []
    ends.say(b' "a"}\n{"d')
    assert ends.wire.pump() == [{"do": "a"}]
    ends.say(b'o": 1}\n')
    assert ends.wire.read(5) == {"do": 1}


def test_nothing_in_time_is_none_and_not_the_end(ends: Ends) -> None:
    begun = time.monotonic()
    assert ends.wire.read(0.05) is None
    assert 0.04 < time.monotonic() - begun < 5 and not ends.wire.closed


def test_the_end_of_stdin_closes_the_wire(ends: Ends) -> None:
    os.close(ends.to_probe)
    assert ends.wire.read(5) is None
    assert ends.wire.closed
    assert ends.wire.read(5) is None


def test_a_controller_that_is_gone_closes_the_wire_instead_of_raising(ends: Ends) -> None:
    os.close(ends.from_probe)
    ends.wire.write({"event": "x" * 100})
    assert ends.wire.closed


def test_a_message_without_end_is_refused(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wires, "MAX_LINE", 10)
    ends.say(b"x" * 11)
    with pytest.raises(ValueError, match="longer than 10"):
        ends.wire.pump()


def test_what_is_no_json_is_an_error_and_not_a_message(ends: Ends) -> None:
    ends.say(b"hello\n")
    with pytest.raises(ValueError):
        ends.wire.pump()


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=20) | st.integers() | st.none(), max_size=4))
def test_any_message_is_one_line_that_comes_back_equal(message: dict[str, Any]) -> None:
    made = Ends()
    made.wire.write(message)
    line = made.heard()
    for fd in made.descriptors():
        os.close(fd)
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert json.loads(line[len(MARK + NONCE) :]) == message
