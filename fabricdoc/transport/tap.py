"""A program of its own, sent to a node: stand between mpirun and a program, and tell what of its input has arrived.

Run on the node as `python3 -c TAP NONCE PROGRAM...`. mpirun's stdin is no pipe: Open MPI 5.0.11 lost what exceeded
4,096 bytes at a time, and all that came before the program ran, and never passed its end on; Hydra (MPICH 5.0.2) ends
the program when its pipe is full. So the sender waits for what this program says it has taken, and says the end in
words. What the program prints is passed on as it is. Standard library only, Python 3.6: the program says what it needs.
"""

import json
import os
import select
import signal
import sys

CHUNK = 65536
# how soon the end of a program is noticed while something it started still holds its stdout
SLICE_S = 0.2


class Tap:
    """One program, its stdin and stdout in our hands, its stderr our own."""

    def __init__(self, nonce: str, argv: "list[str]") -> None:
        self._mark = f"\x1e{nonce} ".encode()
        self._end = self._mark + b"end\n"
        self._unread, self._held, self._line, self._taken, self._told = b"", b"", b"", 0, -1
        ours, theirs = os.pipe(), os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.dup2(ours[0], 0)
            os.dup2(theirs[1], 1)
            become(argv)
        os.close(ours[0])
        os.close(theirs[1])
        self._into, self._from = ours[1], theirs[0]
        self._open = {0, self._from}

    def run(self) -> int:
        """Pass bytes on until the program has ended; its exit status, 128 and more for a signal."""
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        os.set_blocking(self._into, False)
        while True:
            self._tell()
            wanted = self._open if not self._unread else self._open - {0}
            readable, writable, _ = select.select(wanted, [self._into] if self._unread else [], [], SLICE_S)
            if self._from in readable:
                self._pass_on()
            if writable:
                self._hand_over()
            if 0 in readable:
                self._take()
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self._drain()
                return status >> 8 if status & 127 == 0 else 128 + (status & 127)

    def _tell(self) -> None:
        """Say how many bytes have been taken, but never inside a message."""
        in_message = self._line and self._line == self._mark[: len(self._line)]
        if not in_message and self._told != self._taken and not self._unread:
            line = json.dumps({"event": "taken", "bytes": self._taken}).encode()
            if write(1, b"\n" + self._mark + line + b"\n"):
                self._told = self._taken

    def _take(self) -> None:
        """Read once; what may be the beginning of the last words is held until the rest is there."""
        part = os.read(0, CHUNK)
        self._taken += len(part)
        data = self._held + part
        at, mark = data.find(self._end), data.rfind(b"\x1e")
        if at < 0:
            at = mark if part and mark >= 0 and self._end.startswith(data[mark:]) else len(data)
            self._held = data[at:]
        else:
            part = b""
        self._unread = data[:at]
        if not part:
            self._open.discard(0)
        self._hand_over()

    def _hand_over(self) -> None:
        try:
            while self._unread:
                self._unread = self._unread[os.write(self._into, self._unread) :]
        except BlockingIOError:
            return
        except OSError:
            self._unread = b""
            self._open.discard(0)
        if 0 not in self._open and self._into >= 0:
            os.close(self._into)
            self._into = -1

    def _pass_on(self) -> bool:
        data = os.read(self._from, CHUNK)
        if data and write(1, data):
            lines = (self._line + data).rsplit(b"\n", 1)
            self._line = lines[-1][: len(self._mark)]
            return True
        self._open.discard(self._from)
        os.close(self._from)
        return False

    def _drain(self) -> None:
        """What the ended program still had to say."""
        while self._from in self._open and select.select([self._from], [], [], 0)[0] and self._pass_on():
            pass


def write(fd: int, data: bytes) -> bool:
    """Write all of it; False when nobody reads any more."""
    try:
        while data:
            data = data[os.write(fd, data) :]
    except OSError:
        return False
    return True


def become(argv: "list[str]") -> None:
    """Be that program; never returns."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        write(2, f"{argv[0]}: {error.strerror}\n".encode())
    os._exit(127)


if __name__ == "__main__":
    sys.exit(Tap(sys.argv[1], sys.argv[2:]).run())
