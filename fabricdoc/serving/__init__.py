"""What a served model sends: profiles (collectives per decode step and per prefill chunk), found, read and checked.

This room knows counts and sizes; it measures nothing and judges nothing.
"""

from __future__ import annotations

from fabricdoc.serving.library import list_profiles, load_profile
from fabricdoc.serving.reading import read_profile
from fabricdoc.serving.traffic import crosses_nodes, shapes_for

__all__ = ["crosses_nodes", "list_profiles", "load_profile", "read_profile", "shapes_for"]
