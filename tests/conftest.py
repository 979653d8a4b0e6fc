"""Settings of every test: property tests have no clock of their own, since a busy machine is no failure.

They try 30 examples; HYPOTHESIS_PROFILE=thorough makes it 500.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("unhurried", deadline=None, max_examples=30)
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "unhurried"))
