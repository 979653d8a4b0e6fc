"""A stack out of faulthandler's dump, whatever the dump is."""

from __future__ import annotations

import faulthandler
import tempfile
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes.stacks import MOST_LINES, lines_of, top

pytestmark = pytest.mark.unit

DUMP = (
    'Thread 0x00007f01 (most recent call first):\n  File "/lib/queue.py", line 1 in get\n\n'
    "Current thread 0x00007f02 (most recent call first):\n"
    '  File "/t/distributed_c10d.py", line 3004 in all_reduce\n  File "/x/worker.py", line 9 in run\n'
)


def test_the_innermost_call_is_the_last_line() -> None:
    assert lines_of(DUMP) == [
        'File "/x/worker.py", line 9 in run',
        'File "/t/distributed_c10d.py", line 3004 in all_reduce',
    ]
    assert top(lines_of(DUMP)) == ", in all_reduce (distributed_c10d.py:3004)"


def test_the_last_dump_counts_whichever_thread_the_signal_went_to() -> None:
    assert top(lines_of(DUMP + DUMP.replace("3004", "7"))) == ", in all_reduce (distributed_c10d.py:7)"
    assert lines_of(DUMP.replace("Current thread", "Thread")) == lines_of(DUMP)


def test_a_real_dump_with_another_thread_is_of_the_one_that_works() -> None:
    ready, over = threading.Event(), threading.Event()

    def other() -> None:
        ready.set()
        over.wait(20)

    thread = threading.Thread(target=other)
    thread.start()
    ready.wait(20)
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        dump = file.read().decode()
    over.set()
    thread.join(20)
    assert "in other" in dump
    assert lines_of(dump)[-1].endswith("in test_a_real_dump_with_another_thread_is_of_the_one_that_works")


def test_the_c_stack_that_newer_pythons_add_is_left_out() -> None:
    newer = (
        DUMP
        + '\nCurrent thread\'s C stack trace (most recent call first):\n  Binary file "/lib/libc.so.6", at x [0x1]\n'
    )
    assert lines_of(newer) == lines_of(DUMP)


def test_a_deep_stack_keeps_its_innermost_calls() -> None:
    deep = "Thread 0x01 (most recent call first):\n" + "".join(
        f'  File "/x/deep.py", line {line} in f\n' for line in range(500)
    )
    lines = lines_of(deep)
    assert len(lines) == MOST_LINES
    assert lines[-1] == 'File "/x/deep.py", line 0 in f'


@given(dump=st.text('ab0x:() \nThread"File, line', max_size=400))
def test_any_text_has_a_stack_or_none(dump: str) -> None:
    lines = lines_of(dump)
    assert all("\n" not in line and len(line) <= 300 for line in lines)
    assert top(lines).startswith((", gave no stack", ", in "))
