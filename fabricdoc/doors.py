"""Front doors that load a room's modules only when a name is used (PEP 562).

A room's `__init__` lists which module is home of which public name; nothing else is imported with it. That is
what keeps `--help` and a scan quick. No room's matter is known here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def opened(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], object]:
    """The `__getattr__` of a package: a public name from its home, remembered; AttributeError for any other.

    No name may also be a module's, since importing the module would then hide the name.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def find(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object = getattr(import_module(f"{package}.{home_of[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return find
