"""One command on a node: what it said, bounded, and its end by the deadline."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from fabricdoc.errors import NodeError
from fabricdoc.transport import NodeSpec, output_of

pytestmark = pytest.mark.unit

HERE = NodeSpec("alpha", "local")


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def test_what_it_wrote_and_how_it_ended() -> None:
    before = children()
    said = output_of(HERE, python("import sys; print('out'); sys.stderr.write('err'); sys.exit(3)"), deadline_s=20)
    assert said == (3, "out\n", "err")
    assert children() == before


def test_words_are_words_and_no_shells_text() -> None:
    words = ("a b", "$(id)", "'", "*", "")
    said = output_of(HERE, (*python("import sys; print(sys.argv[1:])"), *words), deadline_s=20)
    assert said.stdout == f"{list(words)}\n"


def test_its_input_is_empty() -> None:
    assert output_of(HERE, python("import sys; print(repr(sys.stdin.read()))"), deadline_s=20).stdout == "''\n"


def test_endless_output_is_cut_and_still_read_to_its_end() -> None:
    said = output_of(
        HERE, python("import sys; sys.stdout.write('x' * 1000000); sys.stderr.write('end')"), deadline_s=20
    )
    assert (len(said.stdout), said.stderr, said.status) == (65536, "end", 0)


def test_bytes_that_are_no_text_become_text() -> None:
    said = output_of(HERE, python("import os; os.write(1, b'\\xff\\n')"), deadline_s=20)
    assert said.stdout == "\ufffd\n"


@pytest.mark.long
def test_what_does_not_end_is_ended() -> None:
    before, begun = children(), time.monotonic()
    with pytest.raises(NodeError, match=r"did not end within 0\.3 s") as late:
        output_of(HERE, python("import time; time.sleep(60)"), deadline_s=0.3)
    assert late.value.id == "node-timeout"
    assert time.monotonic() - begun < 10
    assert children() == before


@pytest.mark.long
def test_what_holds_the_pipes_open_is_ended_too() -> None:
    code = "import os, time\nif os.fork() == 0:\n time.sleep(60)"
    with pytest.raises(NodeError, match="did not end within"):
        output_of(HERE, python(code), deadline_s=0.5)


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(NodeError, match="alpha: /no/such can't be run: No such file") as missing:
        output_of(HERE, ("/no/such",), deadline_s=5)
    assert missing.value.id == "command-missing"


def test_a_shell_that_finds_no_program() -> None:
    with pytest.raises(NodeError, match="there is no") as missing:
        output_of(HERE, python("import sys; sys.exit(127)"), deadline_s=20)
    assert missing.value.id == "command-missing"


def test_a_node_that_can_not_be_reached_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\necho 'ssh: connect to host beta port 22: Connection refused' >&2\nexit 255\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(NodeError) as refused:
        output_of(NodeSpec("beta", "beta"), ("docker", "image"), deadline_s=20)
    assert refused.value.id == "ssh-refused"
