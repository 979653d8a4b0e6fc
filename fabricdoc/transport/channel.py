"""One node's program while it runs: its process on this machine, its pipes, its messages, and how it ended.

Nothing here waits: descriptors are non-blocking and `poll.step` says when they are ready. No threads, so that rooms
that fork (the lab) may fork. Only the process group started here is ever killed, and only while its leader is unreaped.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from fabricdoc.errors import NodeError
from fabricdoc.transport.failures import Ending, cant_start, garbage, why_ended
from fabricdoc.transport.framing import Frames, Tail, write_message
from fabricdoc.transport.loader import ender_argv, loader_argv
from fabricdoc.transport.nodes import NodeSpec
from fabricdoc.transport.ssh_words import may_pass
from fabricdoc.transport.targets import Command, command_for, ender_for

CHUNK = 256 * 1024
PIPE_BYTES = 1 << 20
SSH_FAILED = 255
OUTGOING_LIMIT = 64 * 1024 * 1024
# how long an ended program's pipes are still read when something else holds their other end
DRAIN_S = 0.5
# how often ssh is started where it was hung up on, and the seconds before it is started again: 0.3 to 2, some 5 in all
TRIES = 6
AGAIN_S = 0.3
LONGER = 1.6


class Process:
    """A command on this machine in its own process group, with non-blocking pipes. OSError when it can't start."""

    def __init__(self, command: Command) -> None:
        self.kind, self.over_ssh = command.kind, command.over_ssh
        self.window, self.last = command.window, command.last
        pipe = subprocess.PIPE
        self._popen = subprocess.Popen(
            command.argv, stdin=pipe, stdout=pipe, stderr=pipe, env=command.env, start_new_session=True, bufsize=0
        )
        self.pid = self._popen.pid
        self._files = {
            file.fileno(): file for file in (self._popen.stdin, self._popen.stdout, self._popen.stderr) if file
        }
        self.stdin, self.stdout, self.stderr = self._files
        self._ending: int | None = None
        for fd in self._files:
            os.set_blocking(fd, False)
        with suppress(OSError):  # so that a whole probe fits in, and its start waits for nobody
            fcntl.fcntl(self.stdin, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def failed_kind(self, status: int | None) -> str:
        """Whose words an ending with this status tells: ssh's where ssh failed, else those of what it led to."""
        return "ssh" if self.over_ssh and status == SSH_FAILED else self.kind

    def is_open(self, fd: int) -> bool:
        """Whether this descriptor of ours is still open."""
        return fd in self._files

    def close(self, fd: int) -> None:
        """Close one descriptor; closing it again does nothing."""
        file = self._files.pop(fd, None)
        if file:
            file.close()

    def has_exited(self) -> bool:
        """Whether the process has ended; it is not reaped, so its number stays ours."""
        if self._popen.returncode is not None:
            return True
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def ending(self) -> int | None:
        """A descriptor that becomes readable when the process ends, for who waits and has no pipe of it; None for none.

        A process closes its files a moment before it can be waited for (kernel/exit.c, do_exit).
        """
        if self._ending is None and self._popen.returncode is None:
            with suppress(OSError, AttributeError):  # Linux 5.3 and later
                self._ending = os.pidfd_open(self.pid)
        return self._ending

    def kill(self) -> None:
        """SIGKILL to the process group started here, if its leader has not been reaped; what sudo made root's stays."""
        if self._popen.returncode is None:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                return

    def reap(self) -> int:
        """The exit status of a process that has ended; closes what is still open.

        What a local program left in its group ends with it. An ssh client's group is left alone: the jump-host process
        of a shared connection lives there.
        """
        if not self.over_ssh:
            self.kill()
        self._close_all()
        return self._popen.wait()

    def leave(self) -> None:
        """Reap a killed process, or leave it when it does not end within a second (uninterruptible sleep)."""
        self._close_all()
        try:
            self._popen.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return

    def _close_all(self) -> None:
        for fd in list(self._files):
            self.close(fd)
        if self._ending is not None:
            os.close(self._ending)
            self._ending = None


class Channel:
    """Messages to and from one probe on one node. `error` says why it failed, `ended` that its process is gone.

    `inside` is a command of the node that runs a python elsewhere (in a container), in place of the node's own python;
    `ending` the one that ends such a python, and takes the arguments of an ender. `packed` goes instead of `payload`
    where that python says that it reads our bytecode.
    """

    def __init__(
        self,
        node: NodeSpec,
        module: str,
        payload: bytes,
        inside: Sequence[str] = (),
        packed: bytes = b"",
        ending: Sequence[str] = (),
    ) -> None:
        self.node = node
        self.module = module
        self._inside, self._ending = tuple(inside), tuple(ending)
        self.messages: deque[dict[str, Any]] = deque()
        self.remote: tuple[int, int] | None = None
        self.error: NodeError | None = None
        self.status: int | None = None
        self.ended = False
        self.killed = False
        self.begun_at = 0.0
        self._nonce = os.urandom(8).hex()
        self._frames = Frames(self._nonce)
        self._stderr = Tail()
        self._payload, self._packed = payload, packed
        self._asking = bool(packed)
        self._outgoing = bytearray()
        self._input_over = False
        self._sent, self._taken = 0, -1
        self._exit_seen_at: float | None = None
        self._tries, self._again_at = 0, 0.0
        self._command: Command | None = None
        self._refused: NodeError | None = None
        self._process: Process | None = None

    def start(self) -> None:
        """Start the program; a failure to do so ends the channel with its `error`. Raises UsageError for a bad node."""
        size, module, nonce = len(self._payload), self.module, self._nonce

        def program(python: str) -> Sequence[str]:
            argv = loader_argv(python, module, size, nonce, len(self._packed))
            return (*self._inside, *argv[1:]) if self._inside else argv

        self._command = command_for(self.node, program, module=module, label=nonce)
        self._asking = self._asking or self._command.over_ssh  # what ssh took before it failed would be lost
        self.begun_at = time.monotonic()
        self._begin(self._command)
        if not self.ended and not self._asking:  # its own copy only while it runs: one that waits costs nothing
            self._outgoing[:0] = self._payload

    def _begin(self, command: Command) -> None:
        """Start the process, once more where it was hung up on."""
        self._tries, self._again_at, self._exit_seen_at = self._tries + 1, 0.0, None
        self._stderr = Tail()
        try:
            self._process = Process(command)
        except OSError as error:
            self.error = cant_start(self.node, command.argv[0], error)
            self.ended = True

    @property
    def started(self) -> bool:
        """Whether the loader has said that it runs on the node."""
        return self.remote is not None

    def output(self) -> str:
        """The last of what came besides messages: stderr, then the noise of stdout."""
        texts = (self._stderr.text().strip("\n"), self._frames.noise.text().strip("\n"))
        return "\n".join(text for text in texts if text)

    def send(self, message: dict[str, Any]) -> None:
        """Queue one message and write what fits now; raises NodeError when the node is gone or takes no input."""
        if self.ended or self._input_over:
            raise NodeError(f"{self.node.name}: its {self.module} probe is gone", id="node-closed")
        if len(self._outgoing) > OUTGOING_LIMIT:
            raise NodeError(f"{self.node.name}: its {self.module} probe takes no input", id="node-stuck")
        self._outgoing += write_message(message)
        self._flush()

    def end_input(self) -> None:
        """Close the node's stdin once everything queued is written: a probe ends at that."""
        if self._process and not self._input_over:
            self._outgoing += self._process.last
        self._input_over = True
        self._flush()

    def interests(self) -> list[tuple[int, int]]:
        """(descriptor, poll events) to wait for now."""
        process = self._process
        if process is None or self.ended:
            return []
        wanted = [(fd, select.POLLIN) for fd in (process.stdout, process.stderr) if process.is_open(fd)]
        if self._outgoing and process.is_open(process.stdin) and self._room(process):
            wanted.append((process.stdin, select.POLLOUT))
        if not wanted and (ending := process.ending()) is not None:
            wanted.append((ending, select.POLLIN))
        return wanted

    def ready(self, fd: int) -> None:
        """Read or write the descriptor that poll named."""
        process = self._process
        if process is None or not process.is_open(fd):
            return
        if fd == process.stdin:
            self._flush()
        else:
            self._read(process, fd)

    def settle(self) -> None:
        """Notice that the process has ended; once its pipes are empty reap it and fill `status` and `error`."""
        process, now = self._process, time.monotonic()
        if self._again_at and self._command and not self.ended:
            if now >= self._again_at:
                self._begin(self._command)
            return
        if process is None or self.ended or not process.has_exited():
            return
        self._exit_seen_at = self._exit_seen_at or now
        piping = process.is_open(process.stdout) or process.is_open(process.stderr)
        if piping and not self.killed and now - self._exit_seen_at < DRAIN_S:
            return
        self._frames.finish()
        self.status = process.reap()
        if self._hung_up(process):
            share = 0.5 + int.from_bytes(os.urandom(2), "big") / 65536
            self._refused = self._why(process)
            self._again_at = now + AGAIN_S * LONGER ** (self._tries - 1) * share
        else:
            self.ended = True

    def _hung_up(self, process: Process) -> bool:
        """Whether ssh was hung up on before anything ran there, and is to be started again."""
        failed = process.over_ssh and self.status == SSH_FAILED and not self.started
        return failed and not self.killed and self._tries < TRIES and may_pass(self._stderr.text())

    def explain(self) -> NodeError:
        """Why the program ended, for a channel that ended without having done its work."""
        if self.error is None:
            self.error = self._why(self._process)
        return self.error

    def _why(self, process: Process | None) -> NodeError:
        kind = process.failed_kind(self.status) if process else ""
        return why_ended(self.node, Ending(kind, self.module, self.status or 0, self.started, self._stderr.text()))

    def fail(self, error: NodeError) -> None:
        """Give up on this node for `error`, or for what hung up on it, and kill what was started for it here."""
        self.error = self.error or (self._refused if not self.started else None) or error
        self.kill()

    def kill(self) -> None:
        """Kill the process group started here; `settle` reaps it."""
        self.killed = True
        if self._again_at:
            self._again_at, self.ended = 0.0, True
        elif self._process and not self.ended:
            self._process.kill()

    def ender(self) -> Command | None:
        """The command that ends our program on a node behind a client: killing that only closes the program's stdin.

        None where there is none. A container of ours is ended whether or not its python was ever heard.
        """
        if self._ending:
            words = ender_argv("", *(self.remote or (0, 0)), self._nonce)[1:]
            return command_for(self.node, lambda _python: (*self._ending, *words))
        kind = self._process.kind if self._process else "local"
        if kind in ("local", "netns") or self._inside or (self.remote is None and kind != "box"):
            return None
        pid, start = self.remote or (0, 0)
        return ender_for(
            self.node,
            lambda python: ender_argv(python, pid, start, self._nonce),
            module=self.module,
            label=self._nonce,
        )

    def _flush(self) -> None:
        process = self._process
        if process is None or self._asking or not process.is_open(process.stdin):
            return
        try:
            while self._outgoing:
                room = self._room(process)
                if not room:
                    return
                written = os.write(process.stdin, self._outgoing[:room])
                self._sent += written
                del self._outgoing[:written]
        except BlockingIOError:
            return
        except OSError:
            self._outgoing.clear()
            process.close(process.stdin)
            return
        if self._input_over:
            process.close(process.stdin)

    def _room(self, process: Process) -> int:
        """How many bytes may be written now: none before a python that is asked, or a `tap`, has spoken."""
        if self._asking:
            return 0
        if not process.window:
            return CHUNK
        return max(0, process.window - (self._sent - self._taken)) if self._taken >= 0 else 0

    def _read(self, process: Process, fd: int) -> None:
        try:
            data = os.read(fd, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            process.close(fd)
        elif fd == process.stderr:
            self._stderr.add(data)
        else:
            self._take(self._frames.feed(data))

    def _take(self, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            if self.remote is None and message.get("event") == "started":
                self._note_start(message)
            elif self._process and self._process.window and message.get("event") == "taken":
                self._note_taken(message)
            else:
                self.messages.append(message)
        if self._frames.broken:
            self.fail(garbage(self.node, self.module, self._frames.broken))

    def _note_taken(self, message: dict[str, Any]) -> None:
        taken = message.get("bytes")
        if isinstance(taken, int) and self._taken < taken <= self._sent:
            self._taken = taken
            self._flush()

    def _note_start(self, message: dict[str, Any]) -> None:
        pid, start = message.get("pid"), message.get("start")
        if isinstance(pid, int) and isinstance(start, int) and pid > 0:
            self.remote = (pid, start)
        if self._asking:
            self._asking = False
            self._outgoing[:0] = self._packed if message.get("same") == 1 else self._payload
            self._flush()
