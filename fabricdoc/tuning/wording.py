"""Numbers as people read them: sizes, times and effects with two significant digits and their units.

Pure text; escaping for a terminal or HTML is the report's job.
"""

from __future__ import annotations

from fabricdoc.model.verdict import CellVerdict, Interval


def digits(value: float) -> str:
    """Two significant digits, never in powers of ten: 0.83, 7.4, 16, 120."""
    rounded = float(f"{value:.2g}")
    if rounded == 0.0 or abs(rounded) >= 10.0:
        return f"{rounded:.0f}"
    return f"{rounded:.1f}" if abs(rounded) >= 1.0 else f"{rounded:.2g}"


def size_text(size: int) -> str:
    """Bytes as B, KiB, MiB or GiB; whole numbers stay whole: 20480 is "20 KiB", 496640 "485 KiB"."""
    value, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if value < 1024.0:
            break
        value, unit = value / 1024.0, larger
    return f"{value:.0f} {unit}" if value.is_integer() else f"{digits(value)} {unit}"


def time_text(micros: float) -> str:
    """Microseconds as µs, ms or s."""
    for factor, unit in ((1e6, "s"), (1e3, "ms")):
        if float(f"{micros:.2g}") >= factor:
            return f"{digits(micros / factor)} {unit}"
    return f"{digits(micros)} µs"


def gain_text(ratio: float, *, times: bool = False) -> str:
    """A ratio base time / candidate time in words: "18 % faster", "12 % slower".

    With `times`, and from a factor of 2 on, as a factor: "3.1x faster".
    """
    word = "faster" if ratio >= 1.0 else "slower"
    larger = max(ratio, 1.0 / ratio)
    return f"{digits(larger)}x {word}" if times or larger >= 2.0 else f"{percent_text(larger - 1.0)} {word}"


def percent_text(part: float) -> str:
    """A part of one as per cent: 0.034 is "3.4 %"."""
    return f"{digits(part * 100.0)} %"


def effect_text(effect: float) -> str:
    """An effect given as a ratio minus 1, without its side: "3.4 %", from twice on "4.6x"."""
    return percent_text(effect) if effect < 1.0 else f"{digits(1.0 + effect)}x"


def interval_text(interval: Interval) -> str:
    """An effect with its interval and blocks: "18 % faster (95 % interval 12 % to 24 % faster, 8 blocks)"."""
    ends = (interval.low, interval.high)
    times = any(max(end, 1.0 / end) >= 2.0 for end in ends)
    low, high = (gain_text(end, times=times) for end in ends)
    if interval.high < 1.0:  # both slower: the smaller loss first
        low, high = high, low
    if (interval.low >= 1.0) == (interval.high >= 1.0):
        low = low.rsplit(" ", 1)[0]
    effect = gain_text(interval.ratio, times=times)
    return f"{effect} (95 % interval {low} to {high}, {interval.blocks} blocks)"


def shape_text(op: str, size: int) -> str:
    """One collective by its op and size: "all_reduce 20 KiB"."""
    return f"{op} {size_text(size)}"


def cell_text(cell: CellVerdict) -> str:
    """A cell with both times: "all_reduce 40 MiB (eager) takes 19 ms against 16 ms of base, 16 % slower (...)"."""
    return (
        f"{shape_text(cell.op, cell.size)} ({cell.view}) takes {time_text(cell.candidate_us)}"
        f" against {time_text(cell.base_us)} of base, {interval_text(cell.interval)}"
    )


def one_line(text: str, limit: int = 160) -> str:
    """Foreign text as one bounded line without control characters."""
    plain = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"


def counted(count: int, thing: str) -> str:
    """A number of things: "1 block", "3 blocks"."""
    return f"{count} {thing}{'' if count == 1 else 's'}"
