"""lldpd's neighbours by its own lldpcli: asked only where its socket is, bounded, and unknown with lldpcli's words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.dumps.formats import lldp as dumped
from fabricdoc.model.fabric import LldpNeighbour
from fabricdoc.probes import lldpd, scan
from tests.lldp import json0
from tests.unit.dumps.texts import fixture

pytestmark = pytest.mark.unit

BETA = {"name": "p0", "chassis": "0a:0b:0c:03:22:10", "port": "0a:0b:0c:03:22:11", "system": "beta", "descr": "p1"}


def node(folder: Path, script: str = "", *, running: bool = True) -> str:
    """A root folder with lldpd's socket (any file will do) and an lldpcli."""
    (folder / "run").mkdir()
    (folder / "usr" / "sbin").mkdir(parents=True)
    if running:
        (folder / "run" / "lldpd.socket").touch()
    if script:
        program = folder / "usr" / "sbin" / "lldpcli"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    return str(folder)


def asked(root: str, **how: Any) -> Any:
    said: dict[str, Any] = {}
    lldpd.ask(said.update, root, **how)
    return lldpd.from_said(said, "")


def test_the_neighbours_of_lldpd(tmp_path: Path) -> None:
    text = json0(BETA, {**BETA, "name": "p1", "system": "leaf", "port": "Ethernet1/1", "bridge": True})
    (tmp_path / "told").write_text(text)
    root = node(tmp_path, f'[ "$*" = "-f json0 show neighbors" ] && cat {tmp_path}/told')
    assert lldpd.is_there(root)
    found = [LldpNeighbour.model_validate(one, strict=True) for one in asked(root)]
    assert [(one.netdev, one.system, one.port, one.bridge) for one in found] == [
        ("p0", "beta", "0a:0b:0c:03:22:11", False),
        ("p1", "leaf", "Ethernet1/1", True),
    ]
    assert found[0].port_description == "p1"


def test_without_its_socket_nobody_is_asked(tmp_path: Path) -> None:
    root = node(tmp_path, "touch /nonexistent/never", running=False)
    assert not lldpd.is_there(root)
    found = scan.scan(5.0, root)["lldp"]
    assert "no lldpd runs here" in found["unknown"]
    assert "--lldp" in found["unknown"]


@pytest.mark.long
def test_the_scan_asks_in_a_child_and_reports(tmp_path: Path) -> None:
    (tmp_path / "told").write_text(json0(BETA))
    report = scan.scan(5.0, node(tmp_path, f"cat {tmp_path}/told"))
    assert [one["system"] for one in report["lldp"]] == ["beta"]
    assert "lldp" in report["timings_ms"]


def test_no_right_to_ask_is_told_in_lldpclis_words(tmp_path: Path) -> None:
    root = node(tmp_path, "echo 'unable to connect to socket /run/lldpd.socket: Permission denied' >&2; exit 1")
    assert asked(root) == {
        "unknown": "lldpcli ended with 1: unable to connect to socket /run/lldpd.socket: Permission denied"
    }


def test_no_lldpcli(tmp_path: Path) -> None:
    assert asked(node(tmp_path)) == {"unknown": "lldpd runs, but there is no lldpcli to ask it with"}


def test_a_hanging_lldpcli_is_ended(tmp_path: Path) -> None:
    root = node(tmp_path, "exec sleep 600")
    assert asked(root, limit_s=0.7) == {"unknown": "lldpcli gave no answer within 0.2 s"}


@pytest.mark.long
def test_noise_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Expecting value"):
        asked(node(tmp_path, "echo hello"))
    assert "Expecting value" in scan.scan(5.0, str(tmp_path))["lldp"]["unknown"]


def test_too_much_and_too_deep_are_refused() -> None:
    assert "bytes" in lldpd.neighbours(b" " * (lldpd.MAX_JSON + 1))["unknown"]
    many = lldpd.neighbours(json0(*[{**BETA, "name": f"p{i}"} for i in range(2000)]).encode())
    assert len(many) == lldpd.MAX_NEIGHBOURS
    deep = lldpd.neighbours(b"[" * 200_000 + b"]" * 200_000)
    assert deep == [] or "deeply" in deep["unknown"]


def test_terminal_codes_are_taken_out() -> None:
    (one,) = lldpd.neighbours(json0({**BETA, "system": "be\x1b[31mta" + "x" * 400}).encode())
    assert one["system"].startswith("be[31mta")
    assert len(one["system"]) == 255


def test_who_does_not_name_itself_is_left_out() -> None:
    assert lldpd.neighbours(json0({**BETA, "chassis": ""}, {**BETA, "port": ""}, {**BETA, "name": ""}).encode()) == []


REAL = Path(__file__).resolve().parents[2] / "fixtures" / "lldp"


def test_what_lldpd_1_0_16_really_prints() -> None:
    """Printed by Debian 12's lldpcli in one of two namespaces with crossed veth rails, each with its own lldpd."""
    found = lldpd.neighbours((REAL / "lldpcli-1.0.16.json0").read_bytes())
    assert [(one["netdev"], one["port"], one["port_description"]) for one in found] == [
        ("enp1s0f0np0", "06:32:6a:1d:7c:b9", "enp1s0f1np1"),
        ("enp1s0f1np1", "fe:53:d4:da:eb:e1", "enp1s0f0np0"),
    ]
    assert {(one["chassis"], one["system"], one["bridge"]) for one in found} == {("06:32:6a:1d:7c:b9", "beta", False)}
    assert lldpd.neighbours((REAL / "lldpcli-1.0.16-nobody.json0").read_bytes()) == []


def test_nobody_heard() -> None:
    assert lldpd.neighbours(b'{"lldp": [{}]}') == []
    assert lldpd.neighbours(b"{}") == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["interface", "name", "chassis", "port", "id", "value", "descr"]), inner)
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_gives_neighbours(value: Any) -> None:
    for document in (value, {"lldp": value}, {"lldp": [{"interface": [value]}]}):
        for one in lldpd.neighbours(json.dumps(document).encode()):
            LldpNeighbour.model_validate(one, strict=True)


def test_a_dump_of_the_same_text_means_the_same() -> None:
    """One text, one meaning: the reader of dumps (which takes plain json too) and this one agree on json0."""
    texts = [fixture("lldp.json0"), json0({**BETA, "bridge": True}, {**BETA, "name": "p1", "system": ""})]
    for whole in texts:
        told: dict[tuple[str, int], dict[str, Any]] = {}
        for one in dumped.read(json.loads(whole), 1):
            _kind, netdev, index, what = one.path
            told.setdefault((str(netdev), int(index)), {})[str(what)] = one.value
        mine = lldpd.neighbours(whole.encode())
        assert [{key: value for key, value in one.items() if value and key != "netdev"} for one in mine] == [
            {key: value for key, value in one.items() if value} for one in told.values()
        ]
