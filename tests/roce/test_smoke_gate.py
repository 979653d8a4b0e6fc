"""The gate over real verbs: GID tables that were renumbered, and RDMA messages over links that died since the look.

The smoke level's look before saw both links by beacons. What is launched afterwards is the CPU lab's: torch takes most
of a minute in a guest.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from fabricdoc.export.starting_prints import prints_of
from fabricdoc.model.gate import Gate
from fabricdoc.model.preset import Line, NodePreset, Preset
from fabricdoc.workflow import Asked, check_gate
from fabricdoc.workflow.gate_all_reduce import Trial
from fabricdoc.workflow.gate_smoke import RDMA, link_answers, smoke, with_rdma
from tests.lab.gate_lab import goes, refused, refusing
from tests.labs.lab import CROSSED, LATE, SCAN_LIMIT_S, TRIES, RoceLab
from tests.labs.seed import ALPHA, HCAS, PORTS
from tests.roce.seeing import links

pytestmark = [pytest.mark.roce, pytest.mark.timeout(1500)]

F0, F1 = PORTS
LOOK_S = 5 * SCAN_LIMIT_S  # a fifth of it is for the look, and drivers get of that as in the lab's own scans
OF_PORTS = ("port", "carrier", "address", "gid", "rdma-device", "hca-active", "hca-gid")
PINNED = {"NCCL_IB_HCA": f"={','.join(HCAS)}", "NCCL_IB_GID_INDEX": "1"}
MINE = f"{ALPHA.addresses[0]}/24"
# deleted and added: another address has the freed slot meanwhile, so that it comes to stand behind it
RENUMBERED = f"""ip address del {MINE} dev {F0}
ip address add 192.168.21.1/24 dev {F0}
ip address add {MINE} dev {F0}
ip address del 192.168.21.1/24 dev {F0}
"""


def quiet(_text: str) -> None:
    """No progress."""


def preset() -> Preset:
    """Of both guests, without variables: nothing is launched here."""
    nodes = tuple(NodePreset(name=name, target=name) for name in ("alpha", "beta"))
    texts = dict.fromkeys(("run", "objective", "profile", "choice", "reason", "exercised"), "")
    return Preset.model_validate({"name": "roce", "backend": "nccl", "nodes": nodes, **texts})


def gated(asked: Asked) -> Gate:
    """The gate's answer; asked once more where a driver of an emulated machine was too slow for the first."""
    for _ in range(TRIES):
        gate = check_gate(replace(asked, begun=time.monotonic()))
        if LATE not in gate.model_dump_json():
            break
    return gate


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


def test_a_gid_that_was_renumbered_is_no_go_where_its_index_is_pinned_and_a_go_again_once_it_is_back(
    lab: RoceLab, tmp_path: Path
) -> None:
    """Address and GID have the values that were measured: nothing but the index moved.

    The refusing gate asks of ports alone, by its profile: no cable is in question, and each look costs much here.
    """
    lines = tuple(Line(name=name, value=value, kind="placed", evidence="lab") for name, value in PINNED.items())
    prints = prints_of(lab.linked(), dict.fromkeys(("alpha", "beta"), PORTS))
    nodes = tuple(one.model_copy(update={"lines": lines}) for one in preset().nodes)
    pinned = preset().model_copy(update={"nodes": nodes, "fingerprint": prints})
    (tmp_path / "gate").mkdir()
    (tmp_path / "gate" / "floors.toml").write_text(f"[ports]\nonly = {list(OF_PORTS)}\n")
    lab.alpha.do(RENUMBERED)
    specs = tuple(lab.specs)
    gate = gated(Asked(pinned, specs, profile="ports", folders=(tmp_path,), deadline_s=LOOK_S, keep=False))
    check = refused(gate, "hca-gid", f"alpha/{F0}")
    assert check.found == f"empty at 1; {ALPHA.addresses[0]} at 2"
    assert refusing(gate) == [("hca-gid", f"alpha/{F0}")], "the value is there as it was"
    assert {one.id for one in gate.checks if one.outcome == "ok"} == set(OF_PORTS)
    assert f"sudo ip address add {MINE} dev {F0}" in check.fix
    lab.alpha.do(f"ip address del {MINE} dev {F0}\nip address add {MINE} dev {F0}\n")
    assert goes(gated(Asked(pinned, specs, deadline_s=LOOK_S, keep=False)))
