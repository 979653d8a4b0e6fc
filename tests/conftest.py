"""Settings of every test: property tests have no clock of their own, since a busy machine is no failure.

They try 30 examples; HYPOTHESIS_PROFILE=thorough makes it 500. Ctrl-C means what it means at a terminal, also in tests
that a script runs in the background: there a shell has it ignored, and what is started would inherit that.
"""

from __future__ import annotations

import os
import signal

from hypothesis import settings

settings.register_profile("unhurried", deadline=None, max_examples=30)
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "unhurried"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
