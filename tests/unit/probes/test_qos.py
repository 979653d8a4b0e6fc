"""QoS of a port: DCB and the vendor driver's files merged, each unknown with its own reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.netdev import Qos
from fabricdoc.probes import dcb, qos
from tests.netlink_messages import dcb_app, dcb_body, ieee_pfc, nest
from tests.sysfs import write

pytestmark = pytest.mark.unit

PORT = {"name": "enp1s0f0np0", "driver": "mlx5_core", "pci": "0000:01:00.0"}
PAUSE = {"pause_rx": True, "pause_tx": False}
NET = "sys/class/net/enp1s0f0np0"
HEADING = "dscp\tprio\n"


@pytest.fixture(autouse=True)
def no_dcb(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, OSError(95, "Operation not supported"))


def answer(monkeypatch: pytest.MonkeyPatch, said: bytes | OSError) -> None:
    """The kernel answers every DCB question with `said`."""

    def ask(_kind: int, _request: bytes) -> list[bytes]:
        if isinstance(said, OSError):
            raise said
        return [said]

    monkeypatch.setattr(dcb, "ask", ask)


def read(root: Path, port: dict[str, Any] = PORT, folder: str | None = None) -> Qos:
    folder = f"{root}/{NET}" if folder is None else folder
    return Qos.model_validate(qos.read_qos(port, PAUSE, folder, str(root)))


def ecn(root: Path, point: str, on: tuple[int, ...]) -> None:
    write(root, {f"{NET}/ecn/{point}/enable/{one}": str(int(one in on)) for one in range(8)})


def test_a_port_of_a_vendor_driver_shows_all_in_sysfs(tmp_path: Path) -> None:
    write(tmp_path, {f"{NET}/qos/trust": "dscp", f"{NET}/ecn/roce_np/cnp_dscp": "48"})
    write(tmp_path, {f"{NET}/qos/dscp2prio": HEADING + "\n".join(f"{dscp}\t{dscp // 8}" for dscp in range(64))})
    ecn(tmp_path, "roce_np", (3,))
    ecn(tmp_path, "roce_rp", (3, 5))
    found = read(tmp_path)
    assert (found.trust, found.cnp_dscp, found.source) == ("dscp", 48, "sysfs")
    assert found.dscp_priority == tuple(dscp // 8 for dscp in range(64))
    assert found.ecn_np == (False, False, False, True, False, False, False, False)
    assert found.ecn_rp == (False, False, False, True, False, True, False, False)
    assert (found.pause_rx, found.pause_tx) == (True, False)
    assert found.model_dump()["pfc"] == {"unknown": "DCB: Operation not supported"}


def test_a_port_of_the_kernels_driver_answers_over_dcb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, dcb_body([(2, ieee_pfc(8)), (3, nest([dcb_app(5, 3, 26)]))]))
    write(tmp_path, {"sys/kernel/debug/mlx5/0000:01:00.0/cc_params/np_cnp_dscp": "48"})
    found = read(tmp_path)
    assert (found.trust, found.source, found.cnp_dscp) == ("dscp", "dcb, sysfs", 48)
    assert isinstance(found.pfc, tuple)
    assert found.pfc[3]
    assert found.model_dump()["ecn_np"] == {
        "unknown": "its driver has no ecn folder in sysfs (MLNX_OFED and DOCA drivers have one)"
    }


def test_files_win_over_dcb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, dcb_body([(2, ieee_pfc(8)), (3, nest([dcb_app(5, 3, 26)]))]))
    write(tmp_path, {f"{NET}/qos/trust": "pcp"})
    found = read(tmp_path)
    assert (found.trust, found.source) == ("pcp", "dcb, sysfs")
    assert isinstance(found.dscp_priority, tuple)
    assert found.dscp_priority[26] == 3


def test_a_port_that_tells_nothing_names_its_reasons_and_no_source(tmp_path: Path) -> None:
    found = qos.read_qos(PORT, PAUSE, f"{tmp_path}/{NET}", str(tmp_path))
    assert {found[name]["unknown"] for name in qos.DCB_FIELDS} == {"DCB: Operation not supported"}
    assert found["cnp_dscp"]["unknown"].startswith("neither sysfs")
    assert found["source"] == ""


def test_sysfs_of_another_namespace_is_not_asked(tmp_path: Path) -> None:
    ecn(tmp_path, "roce_np", (3,))
    write(tmp_path, {f"{NET}/qos/trust": "dscp", f"{NET}/ecn/roce_np/cnp_dscp": "48"})
    found = qos.read_qos(PORT, PAUSE, "", str(tmp_path))
    elsewhere = {"unknown": "sysfs shows another network namespace"}
    assert (found["ecn_np"], found["ecn_rp"]) == (elsewhere, elsewhere)
    assert found["trust"] == {"unknown": "DCB: Operation not supported"}
    assert (found["cnp_dscp"]["unknown"][:7], found["source"]) == ("neither", "")


def test_a_port_that_is_on_no_pci_bus_has_no_debugfs(tmp_path: Path) -> None:
    found = read(tmp_path, {**PORT, "pci": {"unknown": "its device is not on a PCI bus"}, "driver": {"unknown": "x"}})
    assert found.model_dump()["cnp_dscp"]["unknown"].startswith("neither")


def test_a_broken_answer_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, b"\0\0")
    assert read(tmp_path).model_dump()["pfc"]["unknown"].startswith("DCB: ")


def test_a_driver_that_ethtool_got_no_answer_from_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dcb, "ask", lambda _kind, _request: pytest.fail("it was asked"))
    silent = {"unknown": "no answer within 2 s"}
    found = qos.read_qos(PORT, {"pause_rx": silent, "pause_tx": silent}, "", "/nowhere")
    assert found["pfc"] == {"unknown": "DCB was not asked: ethtool got no answer within 2 s"}
    assert found["source"] == ""


def test_one_unreadable_priority_makes_ecn_unknown(tmp_path: Path) -> None:
    ecn(tmp_path, "roce_np", (3,))
    (tmp_path / f"{NET}/ecn/roce_np/enable/5").unlink()
    assert "enable/5: No such file" in read(tmp_path).model_dump()["ecn_np"]["unknown"]


@pytest.mark.parametrize("text", ["", "nonsense", "dscp\nextra"])
def test_another_word_for_trust_is_no_value(tmp_path: Path, text: str) -> None:
    write(tmp_path, {f"{NET}/qos/trust": text})
    assert "qos/trust says" in read(tmp_path).model_dump()["trust"]["unknown"]


def test_a_map_with_holes_marks_them() -> None:
    found = qos.dscp_priorities(HEADING + "26\t3\n48\t6")
    assert [dscp for dscp, priority in enumerate(found) if priority != -1] == [26, 48]


@pytest.mark.parametrize("row", ["64\t0", "-1\t0", "0\t8", "0", "a\tb", ""])
def test_a_row_that_is_none_is_refused(row: str) -> None:
    with pytest.raises(ValueError, match=r"has a row|not enough values|invalid literal"):
        qos.dscp_priorities(f"{HEADING}{row}\n1\t1")


@given(st.text(max_size=80))
def test_any_text_is_a_map_or_refused(text: str) -> None:
    try:
        found = qos.dscp_priorities(text)
    except ValueError:
        return
    assert len(found) == 64
