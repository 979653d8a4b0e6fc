"""The HCA table."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.report.hcas import NO_HCA, render_hcas
from fabricdoc.report.reasons import Reasons

pytestmark = pytest.mark.unit


def rows(hcas: Any, shown: Any) -> list[str]:
    reasons = Reasons()
    text: str = shown([*render_hcas(hcas, reasons), *reasons.lines()])
    return text.splitlines()


def test_a_row_per_port(samples: Any, shown: Any) -> None:
    hca = samples.hca("rocep1s0f0", "enp1s0f0np0", "10.77.0.1")
    assert rows((hca,), shown)[1].split("  ") == [
        "",
        "rocep1s0f0",
        "enp1s0f0np0",
        "ACTIVE",
        "200 Gb/s",
        "4096",
        "3: 10.77.0.1 (v2)",
    ]
    two = hca.model_copy(update={"ports": (hca.ports[0], hca.ports[0].model_copy(update={"number": 2}))})
    assert [row.split()[0] for row in rows((two,), shown)[1:]] == ["rocep1s0f0:1", "rocep1s0f0:2"]


def test_having_none_is_a_fact(shown: Any) -> None:
    assert rows((), shown) == [f"  RDMA  {NO_HCA}"]
    assert rows(Unknown(unknown="no sysfs"), shown) == ["  RDMA  unknown: no sysfs"]


def test_the_gid_that_matters(samples: Any, shown: Any) -> None:
    hca = samples.hca("rocep1s0f0", "enp1s0f0np0", "10.77.0.1")
    port = hca.ports[0]

    def gid_of(gids: Any) -> str:
        changed = hca.model_copy(update={"ports": (port.model_copy(update={"gids": gids}),)})
        return rows((changed,), shown)[1].split("4096  ")[1]

    assert gid_of(port.gids[:2]) == "1: fe80::1 (v2)"
    assert gid_of(port.gids[:1]) == "0: fe80::1 (IB/RoCE v1)"
    assert gid_of(()) == "none"


def test_unknown_facts_have_their_reason_below(samples: Any, shown: Any) -> None:
    hca = samples.hca("rocep1s0f0", "enp1s0f0np0", "10.77.0.1")
    port = hca.ports[0].model_copy(update={"state": Unknown(unknown="EINVAL"), "gids": Unknown(unknown="EINVAL")})
    table = rows((hca.model_copy(update={"ports": (port,)}),), shown)
    assert table[1].split()[2] == "?"
    assert table[2] == "  ? state of rocep1s0f0, GIDs of rocep1s0f0: EINVAL"
