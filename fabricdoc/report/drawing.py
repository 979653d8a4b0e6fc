"""Two nodes side by side: their cages and ports, and the cables between them.

At any width from about 60 columns; narrower screens get a list (`links`). Marks have look-alikes in ASCII, which the
outlet puts in where the stream can't hold them. Draws what links say and judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from fabricdoc.report.cells import BAD, BOLD, DIM, WARN, middle
from fabricdoc.report.text import clean, columns
from fabricdoc.report.wires import Lone, Port, Wire, wire_lies

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

INDENT = 2
LEAST_MIDDLE, MOST_MIDDLE = 22, 32
NARROWEST = 60
Row = tuple[str, str, str, str]  # left, middle, right, style of the middle


class PairDrawing:
    """The two `nodes` with the wires between them and the ports that meet nobody."""

    def __init__(self, nodes: tuple[str, str], wires: Sequence[Wire], lone: Sequence[Lone]) -> None:
        self._nodes = nodes
        self._wires = wires
        self._lone = lone

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from rich.text import Text

        left, between, right = self._widths(options.max_width)
        heads = [padded(middle(clean(name), INDENT + left), INDENT + left) for name in self._nodes]
        yield Text(f"{heads[0]}{' ' * between}{heads[1].strip()}", style=BOLD, no_wrap=True, overflow="crop")
        for wire in self._wires:
            for row in self._rows(wire, left, between, right):
                yield self._line(row, left, between)
        for row in self._alone(left, between, right):
            yield self._line(row, left, between)

    def _widths(self, width: int) -> tuple[int, int, int]:
        """Columns of the left ports, the middle, the right ports."""
        sides = []
        for node in self._nodes:
            mine = [port for wire in self._wires for port in wire.ports if port.node == node]
            texts = [clean(port.text()) for port in (*mine, *(one.port for one in self._lone if one.port.node == node))]
            sides.append(max((columns(text) for text in (*texts, clean(node))), default=8))
        between = LEAST_MIDDLE
        most = max(8, (width - INDENT - between) // 2)
        left, right = (min(side, most) for side in sides)
        spare = width - INDENT - left - right - between
        return left, between + max(0, min(spare, MOST_MIDDLE - LEAST_MIDDLE)), right

    def _rows(self, wire: Wire, left: int, between: int, right: int) -> Iterator[Row]:
        mine, theirs = ([port for port in wire.ports if port.node == node] for node in self._nodes)
        cages = [", ".join(dict.fromkeys(port.cage for port in side if port.cage)) for side in (mine, theirs)]
        if any(cages):
            yield f"{clean(cages[0])}", "", f"{clean(cages[1])}", DIM
        label = _label(wire, self._nodes[0])
        style = BAD if "one-way" in label else ""
        for number, (one, other) in enumerate(zip_longest(mine, theirs)):
            bar = _bar(number, len(mine), len(theirs), label, between)
            yield _port(one, left), bar, _port(other, right), style

    def _alone(self, left: int, between: int, right: int) -> Iterator[Row]:
        """The ports that meet nobody, those of both nodes beside one another."""
        mine, theirs = ([one for one in self._lone if one.port.node == node] for node in self._nodes)
        for one, other in zip_longest(mine, theirs):
            here, there = (f"✗ {side.why.partition(':')[0]}" if side else "" for side in (one, other))
            bar = f" {here}{there[2:] + ' ✗' if there else '':>{between - 2 - len(here)}} "
            style = WARN if "foreign" in bar else DIM
            yield _port(one.port if one else None, left), bar, _port(other.port if other else None, right), style

    def _line(self, row: Row, left: int, between: int) -> RenderableType:
        from rich.text import Text

        mine, bar, theirs, style = row
        if not bar:  # the cages' own row
            text = f"{padded(middle(mine, left + INDENT), left + INDENT)}{' ' * between}{theirs}"
            return Text(text.rstrip(), style=style, no_wrap=True, overflow="crop")
        made = Text(f"{' ' * INDENT}{padded(mine, left)}", no_wrap=True, overflow="crop")
        made.append(bar, style=style)
        made.append(theirs)
        made.rstrip()
        return made


def _port(port: Port | None, width: int) -> str:
    return middle(clean(port.text()), width) if port is not None else ""


def padded(text: str, width: int) -> str:
    """Text filled up with blanks to `width` columns."""
    return text + " " * max(0, width - columns(text))


def _label(wire: Wire, first: str) -> str:
    """What stands on the wire; of a one-way cable with an arrow that points where frames go."""
    text = wire_lies(wire)
    if "one-way" not in text:
        return text
    link = next(link for link in wire.links if link.kind == "one-way")
    from_first = (link.a.node == first) == bool(link.proof.frames_a_to_b)
    return f"{text} →" if from_first else f"← {text}"


def _bar(number: int, left: int, right: int, label: str, width: int) -> str:
    """The middle of one row: the wire itself in the first, what joins further ports to it below."""
    inner = width - 6
    if number == 0:
        filled = f" {middle(label, inner - 4)} ".center(inner, "─")
        return f" ─{'┬' if left > 1 else '─'}{filled}{'┬' if right > 1 else '─'}─ "
    mine = "   " if number >= left else f" ─{'┘' if number == left - 1 else '┤'}"
    theirs = "   " if number >= right else f"{'└' if number == right - 1 else '├'}─ "
    return f"{mine}{' ' * inner}{theirs}"
