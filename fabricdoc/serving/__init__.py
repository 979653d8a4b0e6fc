"""What a served model sends: profiles (collectives per decode step and per prefill chunk), found, read, derived.

This room knows counts and sizes; it measures nothing and judges nothing. Names load their module when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricdoc.doors import opened

if TYPE_CHECKING:
    from fabricdoc.serving.asking import Asked, derive, trace
    from fabricdoc.serving.config import ModelConfig, parse_config, read_config
    from fabricdoc.serving.deriving import derive_profile
    from fabricdoc.serving.hub import config_of
    from fabricdoc.serving.launch import Launch, find_launch
    from fabricdoc.serving.launched import Found, from_launch
    from fabricdoc.serving.library import list_profiles, load_profile
    from fabricdoc.serving.reading import read_profile
    from fabricdoc.serving.served import Served
    from fabricdoc.serving.tracing import Trace
    from fabricdoc.serving.traffic import captured_shapes, crosses_nodes, decode_stages, shapes_for

HOMES = {
    "asking": ("Asked", "derive", "trace"),
    "config": ("ModelConfig", "parse_config", "read_config"),
    "deriving": ("derive_profile",),
    "hub": ("config_of",),
    "launch": ("Launch", "find_launch"),
    "launched": ("Found", "from_launch"),
    "library": ("list_profiles", "load_profile"),
    "reading": ("read_profile",),
    "served": ("Served",),
    "tracing": ("Trace",),
    "traffic": ("captured_shapes", "crosses_nodes", "decode_stages", "shapes_for"),
}

__all__ = [
    "Asked",
    "Found",
    "Launch",
    "ModelConfig",
    "Served",
    "Trace",
    "captured_shapes",
    "config_of",
    "crosses_nodes",
    "decode_stages",
    "derive",
    "derive_profile",
    "find_launch",
    "from_launch",
    "list_profiles",
    "load_profile",
    "parse_config",
    "read_config",
    "read_profile",
    "shapes_for",
    "trace",
]


__getattr__ = opened(__name__, HOMES)
