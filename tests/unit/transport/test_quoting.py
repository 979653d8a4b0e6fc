from __future__ import annotations

import shlex
import shutil
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import UsageError
from fabricdoc.transport.loader import LOADER, inline
from fabricdoc.transport.quoting import quote_word, remote_command

pytestmark = pytest.mark.unit

# sh and bash are everywhere; the others count where they are installed
SHELLS = [name for name in ("sh", "bash", "dash", "ksh", "zsh", "fish", "tcsh", "csh") if shutil.which(name)]
HARD = [
    "",
    " ",
    "a b",
    "it's",
    '"',
    "\\",
    "\\\\'!\\",
    "!!",
    "a!b",
    "$HOME",
    "${x}",
    "`id`",
    "$(id)",
    "*",
    "?",
    "[a]",
    "{a,b}",
    "~",
    "~root",
    "#no",
    "a;b",
    "a&b",
    "a|b",
    "<x",
    ">x",
    "=ls",
    "%self",
    "^x^y",
    "@x",
    "-e",
    "--",
    "é ü",
    "\ttab",
    "a=b c",
    inline(LOADER),
]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_login_shell_reads_the_same_words(shell: str) -> None:
    command = remote_command([sys.executable, "-I", "-c", "import sys; print(ascii(sys.argv[1:]))", *HARD])
    done = subprocess.run([shell, "-c", command], capture_output=True, text=True, timeout=20, check=False)
    assert done.stdout.strip() == ascii(HARD), done.stderr


WORDS = st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=40)


@given(st.lists(WORDS, min_size=1, max_size=5).filter(lambda words: not words[0].startswith("-")))
def test_a_posix_shell_splits_it_back(words: list[str]) -> None:
    assert shlex.split(remote_command(words)) == words


@given(WORDS)
def test_no_special_letter_stands_bare(word: str) -> None:
    assert not set(quote_word(word)[:1]) & set("-~=%#*?[{$`^@!") or word.startswith("-")


@pytest.mark.parametrize("word", ["a\nb", "\r", "\0", "\x1b[0m", "\x7f"])
def test_control_characters_are_refused(word: str) -> None:
    with pytest.raises(UsageError, match="control character"):
        quote_word(word)


@pytest.mark.parametrize("argv", [[], ["-oProxyCommand=id"], ["-"]])
def test_a_command_that_ssh_could_take_for_an_option_is_refused(argv: list[str]) -> None:
    with pytest.raises(UsageError, match="not a command"):
        remote_command(argv)


def test_plain_words_stay_plain() -> None:
    assert remote_command(["python3", "-I", "/a/b.py", "10"]) == "python3 -I /a/b.py 10"
