"""The gate's smoke level over real verbs: messages pass on the healthy pair, and a cable that died since is named.

The look before saw both links by beacons. What is launched afterwards is the CPU lab's: torch takes most of a minute
in a guest.
"""

from __future__ import annotations

import pytest

from fabricdoc.model.preset import NodePreset, Preset
from fabricdoc.workflow.gate_all_reduce import Trial
from fabricdoc.workflow.gate_smoke import RDMA, link_answers, smoke, with_rdma
from tests.labs.lab import CROSSED, RoceLab
from tests.labs.seed import PORTS
from tests.roce.seeing import links

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS


def quiet(_text: str) -> None:
    """No progress."""


def preset() -> Preset:
    """Of both guests, without variables: nothing is launched here."""
    nodes = tuple(NodePreset(name=name, target=name) for name in ("alpha", "beta"))
    texts = dict.fromkeys(("run", "objective", "profile", "choice", "reason", "exercised"), "")
    return Preset.model_validate({"name": "roce", "backend": "nccl", "nodes": nodes, **texts})


def test_messages_pass_and_a_cable_that_died_after_the_look_is_no_go(lab: RoceLab) -> None:
    """No netdev and no HCA loses its carrier: the panel just drops the frames of rail 0."""
    seen = lab.linked()
    assert links(seen) == [("cable", f"alpha/{F0}", f"beta/{F1}"), ("cable", f"alpha/{F1}", f"beta/{F0}")]
    checks, findings = link_answers(seen, with_rdma(lab.specs, seen, quiet))
    assert [(one.id, one.node, one.port, one.outcome) for one in checks] == [
        (RDMA, "alpha", F0, "ok"),
        (RDMA, "alpha", F1, "ok"),
    ]
    assert findings == []
    lab.panel.wire(CROSSED[1])
    told, causes = smoke(Trial(preset(), tuple(lab.specs), seen, quiet))
    assert [(one.id, one.node, one.port, one.outcome) for one in told] == [
        (RDMA, "alpha", F0, "differs"),
        (RDMA, "alpha", F1, "ok"),
    ]
    (cause,) = causes
    assert (cause.severity, cause.subject) == ("error", f"alpha/{F0} - beta/{F1}")
    assert cause.id in ("rdma-path-broken", "rdma-connect-failed")
    assert cause.fix
