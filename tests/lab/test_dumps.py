"""Real nodes saved and read again: the same document, and the same links when nobody is named any more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.cli import main
from fabricdoc.lab import Lab

pytestmark = pytest.mark.lab


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    status = main(["scan", *words, "--json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return status, document


def test_a_lab_saved_is_the_lab_read_again(lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = ",".join(f"{node.name}={node.target}" for node in lab.nodes)
    ports = ",".join(lab.nodes[0].ports)
    status, live = answer(capsys, "--nodes", nodes, "--ports", ports, "--save", str(tmp_path / "dump"))
    assert status == 0
    assert answer(capsys, "--from", str(tmp_path / "dump")) == (0, live)
    status, again = answer(capsys, "--from", str(tmp_path / "dump"), "--save", str(tmp_path / "other"), "--anonymize")
    assert (status, again) == (0, live)
    status, other = answer(capsys, "--from", str(tmp_path / "other"))
    assert status == 0
    assert [one["kind"] for one in other["links"]] == ["cable", "cable"]
    assert [one["id"] for one in other["findings"]] == [one["id"] for one in live["findings"]]
    told = json.dumps(other)
    mine = [address["ip"] for node in live["nodes"] for port in node["netdevs"] for address in port["addresses"]]
    assert mine
    targets = {node.target for node in lab.nodes}
    for secret in {ip for ip in mine if ip not in ("127.0.0.1", "::1")} | {"alpha", "beta"} | targets:
        assert f'"{secret}' not in told
