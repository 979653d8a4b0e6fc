"""Look at every node at once and put what they report into one fabric document.

Nodes are read in parallel by the transport; one that fails is listed with its error and never stops the
others. Links are not asked for here (`cabling` proves them). Judgement is in `checks`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabricdoc.checks import judged
from fabricdoc.errors import NodeError
from fabricdoc.fabric.asking import SCAN_DEADLINE_S, begin_scan
from fabricdoc.fabric.clocks import clock_offset
from fabricdoc.fabric.report import read_report
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, FailedNode, Node

if TYPE_CHECKING:
    from fabricdoc.fabric.shared_scan import SharedScan
    from fabricdoc.transport import Answer, Asking, NodeSpec

LINKS_NOT_ASKED = "not asked"


def scan(
    nodes: Sequence[NodeSpec],
    *,
    deadline_s: float = SCAN_DEADLINE_S,
    begun: Asking | SharedScan | None = None,
    watch_s: float = 0.0,
    judge: bool = True,
    hashed: bool = False,
) -> Fabric:
    """The fabric of `nodes` as they are now, within `deadline_s` + `watch_s` seconds for each; read-only on every node.

    `begun` is a scan of the same nodes that `begin_scan` started earlier (then the times given there count). Nodes keep
    the order given. Counters are read twice, `watch_s` seconds apart, when that is above 0; `hashed` as `begin_scan`
    says. Without `judge` there are no findings yet: the cables job, which comes next, judges a fabric once its links
    are known.
    """
    asking = begun or begin_scan(nodes, deadline_s=deadline_s, watch_s=watch_s, hashed=hashed)
    read = [_read(answer) for answer in asking.answers()]
    fabric = Fabric.model_construct(  # of checked models only
        nodes=tuple(one for one in read if isinstance(one, Node)),
        failed=tuple(one for one in read if isinstance(one, FailedNode)),
        links=Unknown(unknown=LINKS_NOT_ASKED),
    )
    return judged(fabric) if judge else fabric


def _read(answer: Answer) -> Node | FailedNode:
    """The node an answer describes, or why there is none."""
    spec = answer.node
    try:
        if answer.error is not None:
            raise answer.error
        node = read_report(spec.name, spec.target, _report(answer))
    except NodeError as error:
        return FailedNode(name=spec.name, target=spec.target, id=error.id, message=error.message, fix=error.fix)
    offset = clock_offset(node.host.clock, answer.asked_at, max(0.0, answer.seconds - node.watched_s))
    return node.model_copy(update={"clock_offset_s": offset})


def _report(answer: Answer) -> object:
    message = answer.message or {}
    if message.get("event") != "result":
        said = str(message.get("message", "nothing"))[:200]
        raise NodeError(f"{answer.node.name}: the scan probe gave no report; it said: {said}", id="probe-failed")
    return message.get("report")
