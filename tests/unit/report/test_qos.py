"""QoS settings in words, grouped by ports that are alike."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.documents import NOT_READ
from fabricdoc.model.fabric import Qos
from fabricdoc.report.qos import qos_text, render_qos

pytestmark = pytest.mark.unit

ON_3 = tuple(priority == 3 for priority in range(8))
OFF = (False,) * 8
LOSSLESS = Qos(trust="dscp", pfc=ON_3, ecn_np=ON_3)


@pytest.mark.parametrize(
    ("qos", "text"),
    [
        (LOSSLESS, "trust dscp, PFC on 3, ECN on 3"),
        (Qos(trust="pcp", pfc=OFF), "trust pcp, PFC off"),
        (Qos(pfc=tuple(priority in (3, 4) for priority in range(8))), "PFC on 3,4"),
        (Qos(pause_rx=True, pause_tx=False), "global pause"),
        (Qos(pause_rx=False, pause_tx=False), ""),
        (Qos(), ""),
    ],
)
def test_settings_in_words(qos: Qos, text: str) -> None:
    assert qos_text(qos) == text


def with_qos(samples: Any, *settings: Any) -> Any:
    ports = tuple(
        samples.port(f"enp{number}", f"10.77.{number}.1").model_copy(update={"qos": qos})
        for number, qos in enumerate(settings)
    )
    return samples.node("alpha", ports, ())


def test_ports_that_are_alike_share_a_line(samples: Any, shown: Any) -> None:
    assert shown(render_qos(with_qos(samples, LOSSLESS, LOSSLESS))) == "  QoS   trust dscp, PFC on 3, ECN on 3\n"


def test_ports_that_differ_are_named(samples: Any, shown: Any) -> None:
    text = shown(render_qos(with_qos(samples, LOSSLESS, Qos(trust="pcp", pfc=OFF), LOSSLESS))).splitlines()
    assert text[0] == "  QoS   trust dscp, PFC on 3, ECN on 3  on enp0, enp2"
    assert text[1] == "  QoS   trust pcp, PFC off  on enp1"


def test_nothing_read_nothing_said(samples: Any, shown: Any) -> None:
    assert render_qos(with_qos(samples, NOT_READ, Qos())) == []
    unread = samples.node("alpha", (), ()).model_copy(update={"netdevs": NOT_READ})
    assert render_qos(unread) == []
