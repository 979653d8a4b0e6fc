"""Which batches a server captures as graphs, and how many rows a step of a batch therefore has.

Inside a graph a step has the rows it was captured with, so a batch of five pays for the next captured one.
"""

from __future__ import annotations

from fabricdoc.serving.served import Served

SMALLEST = (1, 2, 4)
STEP, WIDE_FROM, WIDE_STEP = 8, 256, 16
MOST_ROWS = 512
"""vLLM 0.33 compilation config: 1, 2, 4, then by 8 to 256 and by 16 to 512 rows; with speculation, multiples of S+1.
The other engines' lists are alike; theirs count requests."""


def captured_rows(served: Served) -> tuple[int, ...]:
    """The rows of every graph, ascending; empty where decode runs eagerly.

    With `max_num_seqs` only those that a step can reach, the last one holding the fullest step.
    """
    if served.graph == "none":
        return ()
    window = served.window
    if served.engine == "vllm":
        listed = served.captures or _usual(MOST_ROWS)
        rows = sorted({-(-size // window) * window for size in listed})
    else:
        rows = sorted({size * window for size in served.captures or _usual(MOST_ROWS)})
    if not served.max_num_seqs:
        return tuple(rows)
    full = served.max_num_seqs * window
    inside = [row for row in rows if row < full]
    return (*inside, *[row for row in rows if row >= full][:1])


def padded_rows(served: Served, batch: int) -> int:
    """Rows of a decode step of `batch` requests: those of the smallest graph that holds them, else just theirs."""
    rows = batch * served.window
    return next((captured for captured in captured_rows(served) if captured >= rows), rows)


def scored_batches(served: Served) -> tuple[int, ...]:
    """The fullest batch of every captured graph up to `max_num_seqs`; empty where nobody said how many requests."""
    if not served.max_num_seqs:
        return ()
    window = served.window
    batches = [min(row // window, served.max_num_seqs) for row in captured_rows(served)]
    if not batches or batches[-1] < served.max_num_seqs:
        batches.append(served.max_num_seqs)  # a step beyond the last graph runs eagerly
    return tuple(dict.fromkeys(batch for batch in batches if batch))


def _usual(most: int) -> tuple[int, ...]:
    return (*SMALLEST, *range(STEP, WIDE_FROM, STEP), *range(WIDE_FROM, most + 1, WIDE_STEP))
