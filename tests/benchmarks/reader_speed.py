"""How long the reader of NCCL logs takes for a large log, and how much memory.

    python tests/benchmarks/reader_speed.py [MEGABYTES] [KIND...]     (1000, all kinds without)

The log is made of the recorded lines (tests/fixtures/nccl_logs) and read from a file in a process of its own, on one
core. Kinds: `debug`, whole logs of 64 ranks one after another, again and again, with ever new addresses; `tuning`, one
line per collective call as NCCL_DEBUG_SUBSYS=TUNING,COLL writes them, sizes and pointers ever new; `engine`, NCCL's
lines thinly among the lines that vLLM and SGLang write themselves, with a clock in front; `storm`, one WARN line
after another, with a clock. Prints CPU seconds beside wall seconds, since other work may
share the cores, MB a second and the largest size of the process; then the same for timelines, which keep what they
read, and for the whole of `fabricdoc explain` without its printing. What is loaded once (tables, rules) counts too.
Run from the root of a checkout.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "tests" / "fixtures" / "nccl_logs"
WANTED_S, WANTED_MIB = 25, 200
POINTER = re.compile(r"0x[0-9a-f]{6,}")
PEAK = re.compile(r"VmHWM:\s+(\d+) kB")
FRONT = re.compile(r"\b(node0[12]|gpulab):(\d+):(\d+) \[")


def recorded() -> list[str]:
    return [line for file in sorted(LOGS.glob("*.log")) for line in file.read_text().splitlines()]


def debug(_chance: random.Random) -> Iterator[str]:
    lines = recorded()
    for launch in range(1, 10**9):
        for line in lines:
            front = FRONT.sub(rf"node{launch % 8:02d}:{1000 + launch % 64}:\3 [", line)
            yield POINTER.sub(f"0x7f{launch:010x}", front)


def tuning(chance: random.Random) -> Iterator[str]:
    front = "node01:788:788 [0] NCCL INFO "
    for call in range(10**9):
        size = chance.randrange(8, 1 << 22)
        yield (
            f"{front}AllReduce: opCount {call:x} sendbuff 0x7f{size:08x} recvbuff 0x7f{size:08x} count {size // 2} "
            "datatype 9 op 0 root 0 comm 0x1a3ac5d0 [nranks=2] stream 0x2185c6d8"
        )
        yield f"{front}AllReduce: {size} Bytes -> Algo RING proto LL channel{{Lo..Hi}}={{0..{size % 16}}}"


def engine(chance: random.Random) -> Iterator[str]:
    lines = recorded()
    for second in range(10**9):
        clock = f"2026-11-29T{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}.{second % 10**6:06d}Z"
        if second % 10 == 0:
            yield f"{clock} (EngineCore_DP0 pid=99) {lines[second // 10 % len(lines)]}"
        tokens, share = chance.randrange(10**5), chance.random()
        yield f'{clock} (APIServer pid=1) INFO:     10.0.0.7:{tokens} - "POST /v1/completions HTTP/1.1" 200 OK'
        yield (
            f"{clock} (APIServer pid=1) INFO 11-29 15:12:36 [loggers.py:123] Engine 000: Avg prompt throughput: "
            f"{share * 900:.1f} tokens/s, Avg generation throughput: {share * 90:.1f} tokens/s, Running: 3 reqs, "
            f"Waiting: 0 reqs, GPU KV cache usage: {share * 100:.1f}%, Prefix cache hit rate: 0.0%"
        )
        yield (
            f"{clock} [2026-11-29 15:12:36 TP0] Decode batch. #running-req: 2, #token: {tokens}, token usage: "
            f"{share:.2f}, cuda graph: True, gen throughput (token/s): {share * 90:.2f}, #queue-req: 0"
        )


def storm(chance: random.Random) -> Iterator[str]:
    for second in range(10**9):
        clock = f"[2026-11-29 {second // 9000 % 24:02d}:{second // 150 % 60:02d}:{second // 3 % 60:02d}]"
        yield (
            f"{clock} node0{chance.randrange(4)}:788:812 [0] transport/net_ib.cc:2268 NCCL WARN NET/IB: Got completion "
            "from peer 10.0.0.2<4> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RDMA_WRITE(1) vendor err 129"
        )


KINDS: dict[str, Callable[[random.Random], Iterator[str]]] = {
    "debug": debug,
    "tuning": tuning,
    "engine": engine,
    "storm": storm,
}


def write(path: Path, kind: str, megabytes: int) -> int:
    """A log of that many megabytes (10^6 bytes); repeated from 64 MB on, pieces of which are made anew."""
    left = megabytes * 10**6
    source = KINDS[kind](random.Random(7))
    piece: list[str] = []
    size = 0
    while size < min(left, 64 * 10**6):
        piece.append(next(source))
        size += len(piece[-1]) + 1
    data = ("\n".join(piece) + "\n").encode()
    with path.open("wb") as file:
        while left > 0:
            left -= file.write(data)
    return path.stat().st_size


def read(path: Path, what: str) -> str:
    from fabricdoc.nccl import LogFile, LogReader, read_timelines

    wall, cpu = time.perf_counter(), time.process_time()
    if what == "events":
        reader = LogReader(LogFile(path))
        found = sum(1 for _ in reader)
        lines, unknown = reader.lines, reader.unknown
    elif what == "explain":
        from fabricdoc.explain import explain_files

        answer = explain_files([str(path)])
        found, lines, unknown = len(answer.findings), answer.files[0].lines, 0
    else:
        timelines = read_timelines([("log", LogFile(path))])
        found, lines, unknown = len(timelines.ranks), timelines.lines, timelines.unknown
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    mib = int(PEAK.findall(Path("/proc/self/status").read_text())[0]) / 1024
    size = path.stat().st_size / 10**6
    per_gb = cpu / size * 1000
    verdict = "" if per_gb <= WANTED_S and mib <= WANTED_MIB else "   ABOVE WHAT IS WANTED"
    return (
        f"{cpu:8.1f} {wall:8.1f} {size / cpu:8.1f} {per_gb:12.1f} {cpu / lines * 1e6:9.2f} {mib:7.0f}   "
        f"{lines} lines, {found} {what}, {unknown} unknown{verdict}"
    )


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--read"]:
        sys.path.insert(0, str(ROOT))
        print(read(Path(arguments[1]), arguments[2]))
        return 0
    megabytes = int(arguments[0]) if arguments else 1000
    print(f"{'kind':20} {'CPU s':>8} {'wall s':>8} {'MB/CPU s':>8} {'CPU s per GB':>12} {'us/line':>9} {'MiB':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for kind in arguments[1:] or KINDS:
            path = Path(folder) / f"{kind}.log"
            write(path, kind, megabytes)
            for what in ("events", "timelines", "explain"):
                call = [sys.executable, str(Path(__file__).resolve()), "--read", str(path), what]
                done = subprocess.run(call, check=True, capture_output=True, text=True)
                print(f"{kind + ' ' + what:20} {done.stdout}", end="", flush=True)
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
