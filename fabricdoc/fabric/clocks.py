"""How far a node's clock is from this machine's, from one question: its reading against when it was asked.

The reading was taken somewhere between question and answer, so the middle of the two is right to within half of the
time they lie apart. Sets no clock, and does not say how much is too much.
"""

from __future__ import annotations

from fabricdoc.model.documents import Fact, Unknown

PRECISE_S = 0.9
"""An answer within twice this many seconds tells a clock well enough to be reported whatever it says."""
SURELY_OFF_S = 1.0
"""By how much a slow answer's reading must lie outside the time of the question to be reported all the same."""


def clock_offset(clock: Fact[float], asked_at: float, seconds: float) -> Fact[float]:
    """The node's clock minus this machine's in seconds, to milliseconds; unknown where the answer was too slow to tell.

    `clock` is the node's time when it was asked, `asked_at` this machine's when the question was put (both Unix
    seconds), `seconds` how long the answer took, without what the probe is known to have waited after its reading. A
    slow answer (a login of seconds) is reported only where no moment between question and answer comes within a second
    of the reading: else slowness would look like a wrong clock.
    """
    if isinstance(clock, Unknown):
        return clock
    half = seconds / 2
    offset = clock - (asked_at + half)
    if half > PRECISE_S and abs(offset) < half + SURELY_OFF_S:
        return Unknown(unknown=f"the answer took {seconds:.1f} s, which is too long to compare clocks")
    return round(offset, 3)
