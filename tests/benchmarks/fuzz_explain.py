"""A coverage-guided fuzzer of `fabricdoc explain` in plain Python: what reaches new lines in a new order is kept.

    python tests/benchmarks/fuzz_explain.py --seconds 3600 --keep FOLDER [--seeds FOLDER...] [--random N]

An input is a few files in one text (`joined`, `parted`). It begins with the test logs, builds new inputs by changing,
repeating and mixing lines, and watches the edges (line to line) that the rooms explain, nccl and dumps take, by
sys.monitoring from Python 3.12 on, else by sys.settrace. New edges: the input goes on to be changed and is written to
FOLDER/seeds. FOLDER/crashes, /hangs and /growth hold what raised, took longer than a run may, or took a time that grows
faster than its size. Exit status 1 where there is one of these. It needs no other package and no network.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ROOMS = tuple(str(ROOT / "fabricdoc" / room) for room in ("explain", "nccl", "dumps"))
PART = "\x1e"
"""Stands in front of each file's name in an input."""
LARGEST, MOST_FILES = 64_000, 6
LONGEST_S = 20
"""Seconds that one input may take, watched."""
GROWN, FASTER, LEAST_S = 16, 6, 1.0
"""An input GROWN times as long may take FASTER times that in time; what takes less than LEAST_S is not judged."""
HOSTILE = (
    *(
        "\x1b[31m",
        "\x1b]8;;http://x\x07",
        "[bold]",
        "[/]",
        "<script>",
        "\0",
        "\r",
        "\ufffd",
        "\u202e",
        "é" * 40,
        "%s%n",
    ),
    *(
        "9" * 25,
        "-1",
        "0x" + "f" * 30,
        "::ffff:0.0.0.0",
        "fe80::1%eth0",
        "256.1.1.1",
        "=",
        ",",
        "^",
        '"',
        "'",
        "\\",
        "{}",
    ),
    *(
        "### node1\n",
        "==> node2 <==\n",
        "Last error:\n",
        " NCCL ",
        " NCCL WARN ",
        "a:1:2 [0] NCCL INFO ",
        "NCCL_IB_HCA=",
    ),
)
_NUMBER = re.compile(r"\d+")

Edge = tuple[CodeType, int, int]


class Watch:
    """Collects the edges of the watched rooms while it is entered."""

    def __init__(self) -> None:
        self.edges: set[Edge] = set()
        self._last: dict[CodeType, int] = {}
        self._before: Any = None
        self._monitoring: Any = getattr(sys, "monitoring", None)

    def __enter__(self) -> Watch:
        self.edges.clear()
        if self._monitoring is None:
            self._before = sys.gettrace()
            sys.settrace(self._called)
            return self
        tool, events = self._monitoring.COVERAGE_ID, self._monitoring.events
        self._monitoring.use_tool_id(tool, "fuzz_explain")
        self._monitoring.register_callback(tool, events.LINE, self._line)
        self._monitoring.set_events(tool, events.LINE)
        return self

    def __exit__(self, *_error: object) -> None:
        if self._monitoring is None:
            sys.settrace(self._before)
        else:
            self._monitoring.set_events(self._monitoring.COVERAGE_ID, 0)
            self._monitoring.free_tool_id(self._monitoring.COVERAGE_ID)

    def _line(self, code: CodeType, line: int) -> object:
        if not code.co_filename.startswith(ROOMS):
            return self._monitoring.DISABLE
        self.edges.add((code, self._last.get(code, 0), line))
        self._last[code] = line
        return None

    def _called(self, frame: FrameType, _event: str, _argument: object) -> Callable[..., Any] | None:
        if not frame.f_code.co_filename.startswith(ROOMS):
            return None
        code, add, last = frame.f_code, self.edges.add, 0

        def traced(frame: FrameType, event: str, _argument: object) -> Callable[..., Any]:
            nonlocal last
            if event == "line":
                add((code, last, frame.f_lineno))
                last = frame.f_lineno
            return traced

        return traced


def joined(files: Sequence[tuple[str, str]]) -> str:
    """Files as one input."""
    return "".join(f"{PART}{name}\n{text}" for name, text in files)


def parted(text: str) -> list[tuple[str, str]]:
    """The files of an input, with names that are safe to write."""
    found = []
    for number, part in enumerate(text.split(PART)[:MOST_FILES]):
        name, newline, body = part.partition("\n")
        name = re.sub(r"[^\w.-]", "", name, flags=re.ASCII).lstrip(".-")[:60] if newline else ""
        if part:
            found.append((name or f"file{number}.log", body if newline else part))
    return found


def explained(text: str) -> None:
    """Explain an input from real files, and hold the answer against what must be true of every answer."""
    from fabricdoc.explain import explain_files

    with tempfile.TemporaryDirectory(prefix="fuzz-explain-") as folder:
        for name, body in parted(text):
            (Path(folder) / name).write_bytes(body.encode("utf-8", "surrogatepass"))
        answer = explain_files([folder])
    answer.model_dump_json()
    lines = {one.name: one.lines for one in answer.files}
    for finding in answer.findings:
        for one in finding.evidence:
            assert one.line is None or 1 <= one.line <= max(lines[one.file], 1), "evidence stands behind the file's end"
    assert answer.verdict in ("none", "unknown") or answer.findings, "a cause without a finding"


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """TimeoutError after so many seconds of this process's own time: a busy machine makes no hang."""

    def over(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def changed(chance: random.Random, text: str, others: Sequence[str]) -> str:
    """An input made from another one by a few steps."""
    lines = text.split("\n")
    for _ in range(chance.choice((1, 1, 2, 3, 5))):
        lines = chance.choice(STEPS)(chance, lines, others) or [""]
    return "\n".join(lines)[:LARGEST]


def _drop(chance: random.Random, lines: list[str], _others: Sequence[str]) -> list[str]:
    at = chance.randrange(len(lines))
    return lines[:at] + lines[at + chance.choice((1, 1, 4, 32)) :]


def _repeat(chance: random.Random, lines: list[str], _others: Sequence[str]) -> list[str]:
    at, long = chance.randrange(len(lines)), chance.choice((1, 2, 8))
    return lines[:at] + lines[at : at + long] * chance.choice((2, 3, 20)) + lines[at + long :]


def _move(chance: random.Random, lines: list[str], _others: Sequence[str]) -> list[str]:
    at, to = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[at], lines[to] = lines[to], lines[at]
    return lines


def _mix(chance: random.Random, lines: list[str], others: Sequence[str]) -> list[str]:
    other = chance.choice(others).split("\n")
    start, at = chance.randrange(len(other)), chance.randrange(len(lines) + 1)
    return lines[:at] + other[start : start + chance.choice((1, 2, 10, 100))] + lines[at:]


def _number(chance: random.Random, lines: list[str], _others: Sequence[str]) -> list[str]:
    at = chance.randrange(len(lines))
    found = list(_NUMBER.finditer(lines[at]))
    if found:
        one = chance.choice(found)
        value = chance.choice(("0", "1", "3", "12", "65536", "-1", str(int(one[0][:15]) + 1), "9" * 20, ""))
        lines[at] = lines[at][: one.start()] + value + lines[at][one.end() :]
    return lines


def _insert(chance: random.Random, lines: list[str], _others: Sequence[str]) -> list[str]:
    at = chance.randrange(len(lines))
    place = chance.randrange(len(lines[at]) + 1)
    word = chance.choice(HOSTILE) * chance.choice((1, 1, 1, 2, 50))
    lines[at] = lines[at][:place] + word + lines[at][place:]
    return lines


def _cut(chance: random.Random, lines: list[str], _others: Sequence[str]) -> list[str]:
    at = chance.randrange(len(lines))
    start = chance.randrange(len(lines[at]) + 1)
    lines[at] = lines[at][:start] + lines[at][start + chance.choice((1, 2, 8, 1000)) :]
    return lines


def _glue(chance: random.Random, lines: list[str], _others: Sequence[str]) -> list[str]:
    at = chance.randrange(len(lines))
    return [*lines[:at], "".join(lines[at : at + 2]), *lines[at + 2 :]]


STEPS = (_drop, _repeat, _move, _mix, _mix, _number, _number, _insert, _cut, _glue)


@dataclass
class Fuzzer:
    """Runs inputs, keeps those that reach something new, and saves what is wrong under `folder` (None: nowhere)."""

    chance: random.Random
    folder: Path | None = None
    target: Callable[[str], None] = explained
    longest_s: float = LONGEST_S
    seeds: list[str] = field(default_factory=list)
    edges: set[Edge] = field(default_factory=set)
    wrong: list[tuple[str, str, str]] = field(default_factory=list)
    runs: int = 0
    _watch: Watch = field(default_factory=Watch)
    _told: set[str] = field(default_factory=set)

    def try_one(self, text: str) -> bool:
        """Run an input; whether it reached an edge that none before did."""
        self.runs += 1
        try:
            with limited(self.longest_s), self._watch:
                self.target(text)
        except TimeoutError as error:
            self._save("hangs", text, str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
            self._save("crashes", text, f"{type(error).__name__}: {error} at {_place(error)}")
        new = self._watch.edges - self.edges
        self.edges |= new
        if new:
            self.seeds.append(text)
            self._write("seeds", text)
        return bool(new)

    def grows(self, text: str) -> bool:
        """Whether a long input takes much more time than a short one, each line for line; such a one is saved."""
        lines = text.split("\n")
        small = self._seconds(text)
        large = self._seconds("\n".join(lines[:1] + lines[1:] * GROWN))
        if large < LEAST_S or large < small * GROWN * FASTER:
            return False
        self._save("growth", text, f"{small:.2f} s, {GROWN} times as long {large:.2f} s")
        return True

    def _seconds(self, text: str) -> float:
        began = time.process_time()
        with contextlib.suppress(Exception):
            self.target(text)
        return time.process_time() - began

    def run(self, until: Callable[[], bool]) -> None:
        """Change seeds and try them until `until` says so; one new input in twenty is also held against growth."""
        while not until():
            recent = self.seeds[-40:] if self.chance.random() < 0.5 else self.seeds
            text = changed(self.chance, self.chance.choice(recent), self.seeds)
            if self.try_one(text) and self.chance.random() < 0.05:
                self.grows(text)

    def _save(self, kind: str, text: str, why: str) -> None:
        self.wrong.append((kind, why, text))
        if why in self._told:
            return
        self._told.add(why)
        print(f"{kind}: {why[:200]}", file=sys.stderr, flush=True)
        self._write(kind, text)

    def _write(self, kind: str, text: str) -> None:
        if self.folder is not None:
            (self.folder / kind).mkdir(parents=True, exist_ok=True)
            data = text.encode("utf-8", "surrogatepass")
            (self.folder / kind / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)


def _place(error: BaseException) -> str:
    """Where it was raised: the last line of ours."""
    place, trace = "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        place = f"{Path(name).name}:{trace.tb_lineno}" if name.startswith(str(ROOT)) else place
        trace = trace.tb_next
    return place


def beginnings(folders: Sequence[Path]) -> list[str]:
    """The inputs to begin with: each file of the folders, and of each folder that holds only files all of them."""
    found = []
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            with contextlib.suppress(OSError):
                text = path.read_bytes()[:LARGEST].decode("utf-8", "replace")
                found.append(text if text.startswith(PART) else joined([(path.name, text)]))
        for below in sorted(one for one in folder.rglob("*") if one.is_dir()):
            files = [path for path in sorted(below.iterdir()) if path.is_file() and path.name != "expected.toml"]
            pieces = [(path.name, path.read_bytes()[:8000].decode("utf-8", "replace")) for path in files[:MOST_FILES]]
            if len(pieces) > 1:
                found.append(joined(pieces))
    return list(dict.fromkeys(found))


def fewest(fuzzer: Fuzzer, most_bytes: int) -> list[str]:
    """The smallest seeds that together reach what all small ones do, at most so many bytes of them."""
    kept, size, again = [], 0, Fuzzer(random.Random(0), target=fuzzer.target)
    for text in sorted(fuzzer.seeds, key=len):
        length = len(text.encode("utf-8", "surrogatepass"))
        if size + length <= most_bytes and again.try_one(text):
            kept.append(text)
            size += length
    return kept


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="fuzz fabricdoc explain, guided by coverage")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--seeds", type=Path, nargs="*", default=[])
    parser.add_argument("--random", type=int, default=1)
    given = parser.parse_args(arguments)
    sys.path.insert(0, str(ROOT))
    end = time.monotonic() + given.seconds
    fuzzer = Fuzzer(random.Random(given.random), given.keep)
    own = [ROOT / "tests" / "fixtures" / name for name in ("nccl_logs", "dumps", "explain_seeds")]
    for text in beginnings([*own, *given.seeds, given.keep / "seeds"]):
        if time.monotonic() < end:
            fuzzer.try_one(text)
    print(f"{len(fuzzer.seeds)} seeds, {len(fuzzer.edges)} edges to begin with", flush=True)
    fuzzer.run(lambda: time.monotonic() >= end)
    print(f"{fuzzer.runs} runs, {len(fuzzer.seeds)} seeds, {len(fuzzer.edges)} edges, {len(fuzzer.wrong)} wrong")
    return 1 if fuzzer.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
