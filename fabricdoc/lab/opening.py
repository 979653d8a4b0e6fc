"""Starting a holder and ending it again; `open_lab` for a lab that lives inside a `with` block.

The caller's side of `holder`: a child process, two pipes, deadlines. Nothing here needs rights or touches the
network; state files are `standing`'s.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import fabricdoc
from fabricdoc.lab.failures import lab_error
from fabricdoc.lab.processes import readable
from fabricdoc.lab.spec import Lab, LabNode, LabSpec

BRING_UP_S = 15.0
END_S = 3.0
MAX_ANSWER = 1 << 20
TAIL_LINES = 3

_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from fabricdoc.lab.holder import main; "
    "sys.exit(main(int(sys.argv[2])))"
)


@contextmanager
def open_lab(spec: LabSpec | None = None) -> Iterator[Lab]:
    """A lab that stands inside the `with` block and is gone after it, whatever ends the block.

    If the caller is killed, the kernel ends the lab. It is bound to the thread that opened it: that
    thread must outlive the block. Raises ToolError (with a fix) if the lab can't be made within 15 s.
    """
    spec = spec or LabSpec()
    with HolderProcess(parent=os.getpid()) as holder:
        answer = holder.bring_up(spec)
        yield Lab(spec=spec, nodes=nodes_of(answer), holder=answer["holder"])


def nodes_of(answer: dict[str, Any]) -> tuple[LabNode, ...]:
    """The nodes in a holder's answer."""
    return tuple(_node(fields) for fields in answer["nodes"])


def _node(fields: dict[str, Any]) -> LabNode:
    return LabNode(
        name=fields["name"],
        pid=fields["pid"],
        target=fields["target"],
        ports=tuple(fields["ports"]),
        addresses=tuple(fields["addresses"]),
        notes=tuple(fields["notes"]),
    )


def _parse(line: bytes) -> dict[str, Any]:
    """A holder's line as a message; anything else it wrote is quoted in the ToolError."""
    with suppress(ValueError):
        answer = json.loads(line)
        if isinstance(answer, dict):
            return answer
    raise lab_error("lab-failed", f"the lab's holder said: {line[:200].decode(errors='replace').strip()}")


class HolderProcess:
    """A started holder; ended at the end of the `with` block (a `keep` lets a standing one live on)."""

    def __init__(self, parent: int) -> None:
        """Start a holder for the process `parent`; 0 starts one that leaves its caller (`main` in holder)."""
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _PROGRAM, json.dumps(module_path()), str(parent)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                start_new_session=True,
            )
        except OSError as error:
            self._complaints.close()
            raise lab_error("lab-failed", f"the lab's holder can't be started: {error}") from error

    def __enter__(self) -> HolderProcess:
        """The holder itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it: close its stdin, wait for it to clear up, then kill (its nodes die with it)."""
        try:
            self._close_pipes()
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._process.kill()
            self._process.wait()
            self._complaints.close()

    def bring_up(self, spec: LabSpec) -> dict[str, Any]:
        """Have the lab made: {"holder": pid, "start": ticks, "nodes": [...]}. Raises ToolError."""
        self._send(dataclasses.asdict(spec))
        line = self._read_line(BRING_UP_S)
        if not line:
            raise lab_error("lab-failed", f"the lab's holder ended: {self._last_words()}")
        answer = _parse(line)
        if "error" in answer:
            raise lab_error(**answer["error"])
        return answer

    def keep(self, state_file: Path) -> None:
        """Let the standing lab live on as long as `state_file` names its holder."""
        self._send({"keep": str(state_file)})

    def _send(self, message: dict[str, Any]) -> None:
        stream = self._process.stdin
        with suppress(BrokenPipeError):
            if stream:
                stream.write(json.dumps(message).encode() + b"\n")
                stream.flush()

    def _read_line(self, timeout_s: float) -> bytes:
        """The holder's line; empty if it ended without one."""
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        end = time.monotonic() + timeout_s
        line = b""
        while not line.endswith(b"\n"):
            if not readable(descriptor, end - time.monotonic()):
                raise lab_error("lab-deadline", f"the lab was not ready after {timeout_s:.0f} s")
            chunk = os.read(descriptor, 1 << 16)
            line += chunk
            if not chunk or len(line) > MAX_ANSWER:
                return b""
        return line

    def _close_pipes(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(BrokenPipeError):
                if stream:
                    stream.close()

    def _last_words(self) -> str:
        """The end of what the holder wrote to stderr, as one line."""
        self._complaints.seek(0)
        text = self._complaints.read(MAX_ANSWER).decode(errors="replace")
        return " / ".join(text.strip().splitlines()[-TAIL_LINES:]) or "it said nothing"


def module_path() -> list[str]:
    """Where the holder finds fabricdoc and what it needs: this process's module path, made absolute."""
    root = str(Path(fabricdoc.__file__).absolute().parent.parent)
    path = [str(Path(entry).absolute()) for entry in sys.path if entry]
    return path if root in path else [root, *path]
