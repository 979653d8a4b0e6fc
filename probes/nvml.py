"""NVML's functions through ctypes: return codes made errors, and one answer made a fact.

Which functions are called, and what they mean, is the callers' matter. Codes from nvml.h (nvmlReturn_t).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from .facts import clean, unknown

INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
TEXT_SIZE = 96


class NvmlError(OSError):
    """An NVML function that did not answer 0; `code` is its number."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"NVML: {text}")
        self.code = code


class Nvml:
    """NVML's functions with their return codes turned into NvmlError."""

    def __init__(self, library: Any) -> None:
        self._library = library
        library.nvmlErrorString.restype = ctypes.c_char_p

    def call(self, name: str, *arguments: Any) -> None:
        """Call one function; raises NvmlError, or AttributeError where this driver lacks it."""
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            raise NvmlError(code, self._library.nvmlErrorString(code).decode("utf-8", "replace"))

    def text(self, name: str, device: Any) -> str:
        """What a function about a device writes into a text buffer."""
        return self.words(name, device)

    def words(self, name: str, *about: Any) -> str:
        """What a function writes into a text buffer, after the arguments `about`."""
        buffer = ctypes.create_string_buffer(TEXT_SIZE)
        self.call(name, *about, buffer, ctypes.c_uint(TEXT_SIZE))
        return clean(buffer.value.decode("utf-8", "replace"))

    def number(self, name: str, *about: Any, kind: Any = ctypes.c_uint) -> int:
        """The number a function writes behind the arguments `about`."""
        value = kind(0)
        self.call(name, *about, ctypes.byref(value))
        return int(value.value)


def fact(read: Callable[[], Any], not_supported: str = "NVML: not supported") -> Any:
    """What `read` returns, or NVML's words for why not; `not_supported` is said for a part that has no such thing."""
    try:
        return read()
    except NvmlError as error:
        return unknown(not_supported if error.code == NOT_SUPPORTED else str(error))
    except AttributeError:
        return unknown("NVML: this driver lacks the function")
