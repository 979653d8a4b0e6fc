"""TCP on the loopback: connected, refused, silent, a stranger, unreachable; and who has the port."""

from __future__ import annotations

import errno
import os
import select
import socket
import time

import pytest

from fabricdoc.probes import dial
from fabricdoc.probes.dial import Call, Listener, calls, listen

pytestmark = pytest.mark.unit

MARK = bytes(range(8))


def has_ipv6() -> bool:
    """Whether the loopback has its IPv6 address."""
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError:
        return False
    return True


def called(port: int, *listeners: Listener, ip: str = "127.0.0.1", limit_s: float = 8.0) -> dict[str, object]:
    """One call made to its end while listeners answer."""
    (call,) = calls([{"ip": ip, "port": port}], MARK)
    end = time.monotonic() + limit_s
    while not call.outcome and time.monotonic() < end:
        reading = [one.socket for one in listeners] + ([] if call.waits_to_write else [call.socket])
        ready, made, _ = select.select(reading, [call.socket] if call.waits_to_write else [], [], 0.05)
        for one in listeners:
            if one.socket in ready:
                one.accept()
        call.advance(call.socket in ready or call.socket in made)
    call.close()
    return call.report()


def test_a_listener_of_this_run_is_connected() -> None:
    (listener,), refused = listen([{"ip": "127.0.0.1", "port": 0}], MARK)
    told = called(listener.port, listener)
    listener.socket.close()
    assert refused == []
    assert (told["outcome"], told["reason"], told["port"]) == ("connected", "", listener_port(told))
    assert isinstance(told["ms"], float)


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_a_listener_of_this_run_is_connected_over_ipv6_and_a_closed_port_refused() -> None:
    (listener,), refused = listen([{"ip": "::1", "port": 0}], MARK)
    port = listener.port
    told = called(port, listener, ip="::1")
    listener.socket.close()
    assert refused == []
    assert (told["outcome"], told["ip"]) == ("connected", "::1")
    assert called(port, ip="::1")["outcome"] == "refused"


def listener_port(told: dict[str, object]) -> object:
    low, high = (int(one) for one in open_range())
    assert isinstance(told["port"], int)
    assert low <= told["port"] <= high
    return told["port"]


def open_range() -> list[str]:
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:  # noqa: PTH123
        return file.read().split()


def test_a_closed_port_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    told = called(port)
    assert (told["outcome"], told["reason"]) == ("refused", f"{os.strerror(errno.ECONNREFUSED)} (errno 111)")


def test_another_server_is_a_stranger() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        call = Call({"ip": "127.0.0.1", "port": server.getsockname()[1]}, MARK)
        select.select([], [call.socket], [], 5)
        call.advance(True)
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"SSH-2.0")
            select.select([call.socket], [], [], 5)
            call.advance(True)
        call.close()
    assert (call.outcome, call.reason) == ("stranger", "something else answered at this address")


def test_a_server_that_hangs_up_without_the_mark_is_a_stranger() -> None:
    (listener,), _ = listen([{"ip": "127.0.0.1", "port": 0}], b"")
    assert called(listener.port, listener)["outcome"] == "stranger"
    listener.socket.close()


def test_silence_after_the_connection_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dial, "DIAL_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert called(server.getsockname()[1])["outcome"] == "silent"


@pytest.mark.long
def test_no_answer_at_all_is_timed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A listener whose queue is full drops SYNs, as a firewall does."""
    monkeypatch.setattr(dial, "DIAL_S", 0.3)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        address = server.getsockname()
        full = [socket.socket() for _ in range(3)]
        for one in full:
            one.setblocking(False)
            one.connect_ex(address)
        told = called(address[1])
        for one in full:
            one.close()
    assert (told["outcome"], told["reason"]) == ("timed-out", "nothing came within 0.3 s")


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (errno.EHOSTUNREACH, "unreachable"),
        (errno.ENETUNREACH, "unreachable"),
        (errno.EACCES, "unreachable"),
        (errno.ECONNREFUSED, "refused"),
        (errno.ETIMEDOUT, "timed-out"),
        (errno.EADDRNOTAVAIL, "failed"),
    ],
)
def test_each_error_of_the_kernel(code: int, outcome: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "connect_ex", lambda *_words: code)
    call = Call({"ip": "127.0.0.1", "port": 9}, MARK)
    call.close()
    assert (call.outcome, call.reason) == (outcome, f"{os.strerror(code)} (errno {code})")


def test_a_port_that_is_taken_names_its_process() -> None:
    with socket.create_server(("0.0.0.0", 0)) as server:
        port = server.getsockname()[1]
        listeners, (refused,) = listen([{"ip": "127.0.0.1", "port": port}], MARK)
    assert listeners == []
    assert (refused["taken"], refused["port"]) == (True, port)
    assert str(refused["owner"]).endswith(f"(pid {os.getpid()})")


def test_an_address_that_is_not_here_is_not_taken() -> None:
    _, (refused,) = listen([{"ip": "192.0.2.1", "port": 0}], MARK)
    assert (refused["taken"], refused["owner"]) == (False, "")
    assert "errno" in str(refused["reason"])


def test_a_port_is_free_again_at_once() -> None:
    (first,), _ = listen([{"ip": "127.0.0.1", "port": 0}], MARK)
    port = first.port
    assert called(port, first)["outcome"] == "connected"
    first.socket.close()
    (second,), refused = listen([{"ip": "127.0.0.1", "port": port}], MARK)
    second.socket.close()
    assert refused == []


def test_accepting_nobody_is_no_error() -> None:
    listener = Listener("127.0.0.1", 0, MARK)
    listener.accept()
    listener.socket.close()
