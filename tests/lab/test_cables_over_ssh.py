"""Cables over a real ssh client and sshd, as a user has them: no terminal, no password, no raw sockets."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabricdoc.lab import Lab
from fabricdoc.transport import NodeSpec
from tests.lab.cabling import F0, F1, SETTLED, bare_python, done, finding, links_of, mapped, told
from tests.lab.conftest import Inside
from tests.sshd import lab_over_ssh, why_not

pytestmark = [pytest.mark.lab, pytest.mark.skipif(bool(why_not()), reason=why_not())]

CROSSED = [(f"alpha/{F0}", f"beta/{F1}", "cable"), (f"alpha/{F1}", f"beta/{F0}", "cable")]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a short name: the sockets of shared connections lie below it."""
    with tempfile.TemporaryDirectory(prefix="fd-", dir="/tmp") as made:
        monkeypatch.setenv("XDG_RUNTIME_DIR", f"{made}/run")
        yield Path(made)


def test_without_raw_sockets_over_ssh_multicast_proves_the_cables(lab: Lab, folder: Path, inside: Inside) -> None:
    """Alpha may open raw sockets, beta's user may not: sudo and the image's runtime are asked through the shell."""
    bare = bare_python(folder)
    for node in lab.nodes:
        done(inside(node.pid, SETTLED))
    with lab_over_ssh(folder, lab.nodes) as made:
        specs = [
            NodeSpec(n.name, n.name, python=python, image=image, ports=(F0, F1), ssh_config=str(made.config))
            for n, python, image in zip(lab.nodes, (sys.executable, bare), ("", "it's $HOME/an image:1"), strict=True)
        ]
        fabric = mapped(specs)
    assert told(fabric) == CROSSED
    assert {link.proof.method for link in links_of(fabric)} == {"multicast"}
    assert finding(fabric, "beacons-by-multicast", "beta").evidence[0].text.startswith("raw sockets are not allowed (")
