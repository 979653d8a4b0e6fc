"""The HCA table."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.documents import NOT_READ, Unknown
from fabricdoc.model.fabric import Cage, GidChoice, PcieFunction
from fabricdoc.report.hcas import NO_HCA, render_hcas
from fabricdoc.report.reasons import Reasons

pytestmark = pytest.mark.unit


@pytest.fixture
def rows(samples: Any, shown: Any) -> Any:
    """The lines of a node's HCA part, for HCAs and other fields of the node."""

    def lines(hcas: Any, **fields: Any) -> list[str]:
        reasons = Reasons()
        node = samples.node("alpha", (), hcas).model_copy(update={"hcas": hcas, **fields})
        text: str = shown([*render_hcas(node, reasons), *reasons.lines()])
        return text.splitlines()

    return lines


def test_a_row_per_port(samples: Any, rows: Any) -> None:
    hca = samples.hca("rocep1s0f0", "enp1s0f0np0", "10.77.0.1")
    assert rows((hca,))[1].split("  ") == [
        "",
        "rocep1s0f0",
        "enp1s0f0np0",
        "ACTIVE",
        "200 Gb/s",
        "4096",
        "3: 10.77.0.1 (v2)",
    ]
    two = hca.model_copy(update={"ports": (hca.ports[0], hca.ports[0].model_copy(update={"number": 2}))})
    assert [row.split()[0] for row in rows((two,))[1:]] == ["rocep1s0f0:1", "rocep1s0f0:2"]


def test_having_none_is_a_fact(rows: Any) -> None:
    assert rows(()) == [f"  RDMA  {NO_HCA}"]
    assert rows(Unknown(unknown="no sysfs")) == ["  RDMA  unknown: no sysfs"]


def test_the_gid_that_matters(samples: Any, rows: Any) -> None:
    hca = samples.hca("rocep1s0f0", "enp1s0f0np0", "10.77.0.1")
    port = hca.ports[0]

    def gid_of(gids: Any) -> str:
        changed = hca.model_copy(update={"ports": (port.model_copy(update={"gids": gids}),)})
        return rows((changed,))[1].split("4096  ")[1]

    assert gid_of(port.gids[:2]) == "1: fe80::1 (v2)"
    assert gid_of(port.gids[:1]) == "0: fe80::1 (IB/RoCE v1)"
    assert gid_of(()) == "none"


def test_unknown_facts_have_their_reason_below(samples: Any, rows: Any) -> None:
    hca = samples.hca("rocep1s0f0", "enp1s0f0np0", "10.77.0.1")
    port = hca.ports[0].model_copy(update={"state": Unknown(unknown="EINVAL"), "gids": Unknown(unknown="EINVAL")})
    table = rows((hca.model_copy(update={"ports": (port,)}),))
    assert table[1].split()[2] == "?"
    assert table[2] == "  ? state of rocep1s0f0, GIDs of rocep1s0f0: EINVAL"


def test_the_gid_nccl_takes_is_shown_where_it_is_known(samples: Any, rows: Any) -> None:
    hca = samples.hca("rocep1s0f0", "enp1s0f0np0", "10.77.0.1")
    choice = GidChoice(hca="rocep1s0f0", port=1, index=1, gid="fe80::1", why="no IPv4")
    assert "1: fe80::1 (v2)" in rows((hca,), nccl_gids=(choice,))[1]
    gone = choice.model_copy(update={"index": 9})
    assert "3: 10.77.0.1 (v2)" in rows((hca,), nccl_gids=(gone,))[1]


def pcie(**fields: Any) -> PcieFunction:
    facts = {"current_speed_gts": 32.0, "max_speed_gts": 32.0, "current_width": 4, "max_width": 4, **fields}
    return PcieFunction(address="0000:01:00.0", vendor="0x15b3", device="0x1021", pci_class="0x020000", **facts)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (pcie(), "Gen5 x4"),
        (pcie(current_width=2), "Gen5 x2"),
        (pcie(current_speed_gts=2.5), "Gen1 x4"),
        (pcie(current_speed_gts=48.0), "48 GT/s x4"),
        (pcie(current_width=NOT_READ), "?"),
        (pcie().model_copy(update={"address": "0000:02:00.0"}), "?"),
    ],
)
def test_the_pcie_link(samples: Any, rows: Any, function: PcieFunction, text: str) -> None:
    hca = samples.hca("rocep1s0f0", "enp1s0f0np0", "10.77.0.1").model_copy(update={"pci": "0000:01:00.0"})
    shown = rows((hca,), pcie=(function,))
    assert shown[0].split()[-1] == "PCIe"
    assert shown[1].endswith(text)


def test_no_pcie_column_where_it_was_not_read(samples: Any, rows: Any) -> None:
    assert "PCIe" not in rows((samples.hca("rocep1s0f0", "enp1s0f0np0", "10.77.0.1"),))[0]


def test_cages_that_several_hcas_share(samples: Any, rows: Any) -> None:
    hca = samples.hca("rocep1s0f0", "enp1s0f0np0", "10.77.0.1")
    twins = Cage(id="fc4c:ea03:00f9:4230/p0", hcas=("rocep1s0f0", "roceP2p1s0f0"), by="sys_image_guid")
    alone = Cage(id="fc4c:ea03:00f9:4230/p1", hcas=("rocep1s0f1",), by="sys_image_guid")
    text = rows((hca,), cages=(twins, alone))
    assert text[-1] == "  cage p0  rocep1s0f0 + roceP2p1s0f0  by sys_image_guid"
    assert not any(row.startswith("  cage p1") for row in text)
