"""Words, assignments and variables as bash reads them, without running anything."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from fabricdoc.serving.shell import assignments, filled, given, words_of

pytestmark = pytest.mark.unit

FILE = """
# a comment
HEAD_IP="10.0.0.1"
IB_HCA="=rocep1s0f0"                   # exact match
export MAX_NUM_SEQS=8   # inline
KV='a b'
EMPTY=
TP=2
BOTH="${TP}x$TP"
LATE=${NOT_SET:-7}
LATE2=${TP:-9}
not a line
 SPACED=1
"""


def test_an_env_file_reads_as_bash_sources_it() -> None:
    found = assignments(FILE)
    bash = shutil.which("bash")
    assert bash is not None
    names = ["HEAD_IP", "IB_HCA", "MAX_NUM_SEQS", "KV", "EMPTY", "TP", "BOTH", "LATE", "LATE2", "SPACED"]
    script = FILE.replace("not a line\n", "") + "".join(f'\nprintf "%s\\0" "${name}"' for name in names)
    said = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=True, timeout=20, env={}).stdout
    assert [found[name] for name in names] == said.split("\0")[:-1]


def test_words_of_a_continued_command() -> None:
    assert words_of("vllm serve M \\\n  --tp 2 # two\n") == ["vllm", "serve", "M", "--tp", "2"]
    assert words_of("it's open") == ["it's", "open"]


def test_variables_that_nobody_set_stay() -> None:
    assert filled("$A ${B} ${C:-3} $(rm -rf /)", {"B": "2"}) == "$A 2 3 $(rm -rf /)"


def test_variables_given_on_the_command() -> None:
    assert given(["A=1", "docker", "run", "-e", "B=2", "--env=C=3", "-eD=4", "--tp=2", "x", "E==5"]) == {
        "A": "1", "B": "2", "C": "3", "D": "4",
    }  # fmt: skip


def test_a_file_that_doubles_itself_stays_small() -> None:
    text = "A=xxxxxxxxxxxxxxxx\n" + "A=$A$A$A$A\n" * 200
    assert len(assignments(text)["A"]) <= 1 << 14


@settings(deadline=None)
@drawn(st.text(max_size=60), st.dictionaries(st.sampled_from("AB"), st.sampled_from(["$A", "${B:-$A}", "x"])))
def test_no_text_hangs_or_raises(text: str, values: dict[str, str]) -> None:
    assert isinstance(filled(text, values), str)
    assert isinstance(assignments(text), dict)
    assert isinstance(words_of(text), list)
