"""What runs on a gateway: one order in, one line for each node out, and nothing left when nobody listens."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.probes.wire import Wire
from fabricdoc.transport import NodeSpec
from fabricdoc.transport import ssh as ssh_module
from fabricdoc.transport.answer import Question
from fabricdoc.transport.carrier import build_carrier
from fabricdoc.transport.relay import BAD_ORDER, main
from fabricdoc.transport.relaying import order_for
from fabricdoc.transport.ssh import ssh_argv

pytestmark = pytest.mark.unit

NONCE = "00ff"


@dataclass
class Line:
    """A gateway's end of the wire in this process: its stdin to write, its stdout to read."""

    wire: Wire
    stdin: int
    stdout: int

    def said(self) -> list[dict[str, Any]]:
        """The lines written so far."""
        os.set_blocking(self.stdout, False)
        try:
            text = os.read(self.stdout, 1 << 20).decode()
        except BlockingIOError:
            return []
        mark = f"\x1e{NONCE} "
        return [json.loads(line.removeprefix(mark)) for line in text.split("\n") if line.startswith(mark)]


@pytest.fixture
def line() -> Iterator[Line]:
    (theirs_in, ours_in), (ours_out, theirs_out) = os.pipe(), os.pipe()
    kept = os.dup(1)
    wire = Wire(NONCE, theirs_in, theirs_out)
    os.dup2(kept, 1)
    yield Line(wire, ours_in, ours_out)
    for fd in {theirs_in, ours_in, ours_out, theirs_out, kept, wire._out}:
        try:
            os.close(fd)
        except OSError:
            continue


@pytest.fixture
def place(payload: bytes, tmp_path: Path) -> str:
    (tmp_path / "carrier").write_bytes(build_carrier(Question("echo", {}, 1.0, payload=payload)))
    return str(tmp_path / "carrier")


def order(request: dict[str, Any], *nodes: NodeSpec, deadline_s: float = 30) -> bytes:
    return json.dumps(order_for(Question("echo", request, deadline_s), nodes)).encode() + b"\n"


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@pytest.mark.long
def test_every_node_is_one_line_as_it_answers(line: Line, place: str) -> None:
    before = children()
    nodes = (NodeSpec("a", "local"), NodeSpec("b", "local", python="/no/python"))
    os.write(line.stdin, order({"do": "echo", "value": 7}, *nodes))
    assert main(line.wire, place) == 0
    said = {words["name"]: words for words in line.said()}
    assert json.loads(said["a"]["message"]) == {"event": "echo", "value": 7} and said["a"]["error"] is None
    assert said["b"]["message"] == "" and said["b"]["error"]["id"] == "python-missing"
    assert children() == before


@pytest.mark.long
def test_it_ends_with_its_stdin_and_takes_its_nodes_along(line: Line, place: str) -> None:
    before = children()
    os.write(line.stdin, order({"do": "hang"}, NodeSpec("a", "local"), deadline_s=100))
    os.close(line.stdin)
    begun = time.monotonic()
    assert main(line.wire, place) == 0
    assert time.monotonic() - begun < 50
    assert (line.said(), children()) == ([], before)


def test_without_an_order_it_does_nothing(line: Line, place: str) -> None:
    os.close(line.stdin)
    assert (main(line.wire, place), line.said()) == (0, [])


@pytest.mark.parametrize("text", ["{}", '{"module": "echo"}', "nonsense", '{"nodes": 7, "ways": []}'])
def test_what_is_no_order_is_said(text: str, line: Line, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    os.write(line.stdin, text.encode() + b"\n")
    assert main(line.wire, place) == BAD_ORDER
    assert "no order: " in capsys.readouterr().err


def test_its_ssh_keeps_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that nothing stays behind on a gateway: neither a process nor a folder."""

    def fail() -> None:
        raise AssertionError("looked for a folder")

    monkeypatch.setattr(ssh_module, "runtime_folder", fail)
    words = ssh_argv(NodeSpec("n1", "n1", lingers=False), ("true",))
    assert "ControlMaster=no" in words and not any("ControlPersist" in word for word in words)
