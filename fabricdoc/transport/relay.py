"""What runs on a gateway of a tree while it is asked: this room's own asking of the nodes behind it, by its own ssh.

Sent in a `carrier` and started as a probe is, it reads one order and writes one line for each node as that answers.
It ends with its stdin and takes along what it started; no connection of its ssh stays open behind it. Installs nothing
and judges nothing.
"""

from __future__ import annotations

import select
import sys
from pathlib import Path

from fabricdoc.errors import FabricdocError
from fabricdoc.probes.wire import Wire
from fabricdoc.transport.answer import Question
from fabricdoc.transport.ask import Asking
from fabricdoc.transport.carrier import leaf_of
from fabricdoc.transport.nodes import NodeSpec
from fabricdoc.transport.relaying import answer_words, read_order

# how long the order may take to arrive
ORDER_S = 60.0
BAD_ORDER = 2


def main(wire: Wire, place: str = "") -> int:
    """Do what the order says; `place` is the zip this runs from (the loader's, by default)."""
    carrier = Path(place or sys.path[0]).read_bytes()
    try:
        order = wire.read(ORDER_S)
        if order is None:
            return 0
        question, nodes = read_order(order, *leaf_of(carrier), carrier)
        relay(wire, question, nodes)
    except (FabricdocError, KeyError, TypeError, ValueError) as error:
        sys.stderr.write(f"no order: {error}\n")
        return BAD_ORDER
    return 0


def relay(wire: Wire, question: Question, nodes: tuple[NodeSpec, ...]) -> None:
    """Ask the nodes and pass their answers on, until all have answered or nobody listens."""
    asking = Asking.of(nodes, question)
    try:
        while not wire.closed and asking.busy:
            for answer in asking.turn():
                wire.write(answer_words(answer))
            if select.select([wire], [], [], 0)[0]:
                wire.pump()
    finally:
        asking.end()
