"""A stream that takes any text and survives its reader."""

from __future__ import annotations

import errno
import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import ToolError
from fabricdoc.report.outlet import Outlet

pytestmark = pytest.mark.unit


def encoded(encoding: str) -> tuple[Outlet, io.BytesIO]:
    raw = io.BytesIO()
    return Outlet(io.TextIOWrapper(raw, encoding=encoding, newline="\n")), raw


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8", "shift_jis", "koi8-r"])
@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_no_text_is_too_much_for_an_encoding(encoding: str, text: str) -> None:
    outlet, raw = encoded(encoding)
    outlet.write_exact(text)
    assert len(raw.getvalue().decode(encoding)) == len(text)


def test_marks_become_look_alikes_of_the_same_width() -> None:
    outlet, raw = encoded("ascii")
    outlet.write("▸ a…b · µs → 名\n")
    assert raw.getvalue() == b"> a~b - us > ?\n"
    outlet, raw = encoded("latin-1")
    outlet.write("a…b µ\n")
    assert raw.getvalue() == "a~b µ\n".encode("latin-1")


def test_utf8_is_left_alone_but_for_blanks_at_line_ends() -> None:
    outlet, raw = encoded("utf-8")
    outlet.write("a…  \nb \n")
    outlet.write_exact("c  \n")
    assert raw.getvalue().decode() == "a…\nb\nc  \n"


class Broken(io.StringIO):
    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error
        self.tries = 0

    def flush(self) -> None:
        self.tries += 1
        raise self.error


def test_a_reader_that_went_away_is_no_error_and_is_not_written_to_again() -> None:
    stream = Broken(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    outlet = Outlet(stream)
    outlet.write("a\n")
    assert outlet.closed
    outlet.write("b\n")
    outlet.flush()
    assert stream.tries == 1


def test_a_full_disk_is_an_error_with_its_reason() -> None:
    outlet = Outlet(Broken(OSError(errno.ENOSPC, "No space left on device")))
    with pytest.raises(ToolError, match="No space left on device"):
        outlet.write("a\n")
    assert outlet.closed


def test_after_a_closed_pipe_the_descriptor_leads_nowhere() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        outlet = Outlet(stream)
        outlet.write("a\n")
        assert outlet.closed
        os.write(writing, b"Python's own flush at exit")


def test_no_stream_and_a_closed_stream() -> None:
    nothing = Outlet(None)
    nothing.write("a")
    assert nothing.closed
    assert not nothing.isatty()
    assert nothing.terminal_columns() is None
    shut = io.StringIO()
    shut.close()
    outlet = Outlet(shut)
    outlet.write("a")
    assert outlet.closed
    assert not outlet.isatty()


def test_two_outlets_of_one_stream_know_of_the_same_live_line() -> None:
    stream = io.StringIO()
    Outlet(stream).live_columns = 7
    assert Outlet(stream).live_columns == 7
    assert Outlet(io.StringIO()).live_columns == 0
    assert Outlet(None).live_columns == 0


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_stream_that_is_not_needed_falls_silent(code: int) -> None:
    stream = Broken(OSError(code, os.strerror(code)))
    outlet = Outlet(stream, needed=False)
    outlet.write("a\n")
    assert outlet.closed
    outlet.write("b\n")
    assert stream.tries == 1
