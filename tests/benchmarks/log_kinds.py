"""Endless logs of every kind that a user may hand to `fabricdoc explain`, for measuring how fast it reads them.

`KINDS[name](chance)` yields lines. The large kinds are what long runs write: `debug`, whole logs of 64 ranks one after
another, again and again, with ever new addresses; `tuning`, one line per collective call as NCCL_DEBUG_SUBSYS=TUNING
writes them, sizes and pointers ever new; `engine`, NCCL's lines thinly among those that vLLM and SGLang write
themselves. The storms are one complaint again and again, with numbers that change and every prefix, clock, colour,
wrap and wrapping that launchers put around it. Made of the recorded lines (tests/fixtures/nccl_logs); measures nothing.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

Lines = Iterator[str]
Kind = Callable[[random.Random], Lines]
LOGS = Path(__file__).resolve().parents[1] / "fixtures" / "nccl_logs"
POINTER = re.compile(r"0x[0-9a-f]{6,}")
FRONT = re.compile(r"\b(node0[12]|gpulab):(\d+):(\d+) \[")


def recorded() -> list[str]:
    return [line for file in sorted(LOGS.glob("*.log")) for line in file.read_text().splitlines()]


def debug(_chance: random.Random) -> Lines:
    lines = recorded()
    for launch in range(1, 10**9):
        for line in lines:
            front = FRONT.sub(rf"node{launch % 8:02d}:{1000 + launch % 64}:\3 [", line)
            yield POINTER.sub(f"0x7f{launch:010x}", front)


def tuning(chance: random.Random) -> Lines:
    front = "node01:788:788 [0] NCCL INFO "
    for call in range(10**9):
        size = chance.randrange(8, 1 << 22)
        yield (
            f"{front}AllReduce: opCount {call:x} sendbuff 0x7f{size:08x} recvbuff 0x7f{size:08x} count {size // 2} "
            "datatype 9 op 0 root 0 comm 0x1a3ac5d0 [nranks=2] stream 0x2185c6d8"
        )
        yield f"{front}AllReduce: {size} Bytes -> Algo RING proto LL channel{{Lo..Hi}}={{0..{size % 16}}}"


def engine(chance: random.Random) -> Lines:
    lines = recorded()
    for second in range(10**9):
        clock = zulu(second)
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


def clock(at: int) -> str:
    return f"2026-11-29 {at // 9000 % 24:02d}:{at // 150 % 60:02d}:{at // 3 % 60:02d}"


def zulu(at: int) -> str:
    return f"2026-11-29T{at // 3600 % 24:02d}:{at // 60 % 60:02d}:{at % 60:02d}.{at % 10**6:06d}Z"


def warning(chance: random.Random, at: int, place: str = "transport/net_ib.cc:2268") -> str:
    """A completion error as NCCL 2.28 words it, with a port and a request that change."""
    return (
        f"node0{chance.randrange(4)}:788:812 [{chance.randrange(2)}] {place} NCCL WARN NET/IB: Got completion from "
        f"peer 10.0.0.{chance.randrange(2, 9)}<{chance.randrange(30000, 60000)}> with status=IBV_WC_RETRY_EXC_ERR(12) "
        f"opcode=IBV_WC_RDMA_WRITE(1) reqSize={at} vendor err 129 (Send) localGid ::ffff:10.0.0.1 "
        f"remoteGids::ffff:10.0.0.{chance.randrange(9)} hca mlx5_0 req 0x{chance.getrandbits(44):x}"
    )


def storm(chance: random.Random) -> Lines:
    """One and the same complaint with NCCL's own clock."""
    for at in range(10**9):
        yield (
            f"[{clock(at)}] node0{chance.randrange(4)}:788:812 [0] transport/net_ib.cc:2268 NCCL WARN NET/IB: Got "
            "completion from peer 10.0.0.2<4> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RDMA_WRITE(1) "
            "vendor err 129"
        )


def storm_of(pattern: str, place: str = "transport/net_ib.cc:2268") -> Kind:
    """Changing warnings with something around them: {clock}, {zulu}, {at} and {line} are filled in."""

    def lines(chance: random.Random) -> Lines:
        for at in range(10**9):
            yield pattern.format(clock=clock(at), zulu=zulu(at), at=at, line=warning(chance, at, place))

    return lines


def storm_json(chance: random.Random) -> Lines:
    for at in range(10**9):
        yield json.dumps(
            {"log": warning(chance, at) + "\n", "stream": "stderr", "time": zulu(at)}, separators=(",", ":")
        )


def storm_wrapped(chance: random.Random) -> Lines:
    """A terminal of 120 columns."""
    for at in range(10**9):
        line = f"[{clock(at)}] {warning(chance, at)}"
        yield from (line[start : start + 120] for start in range(0, len(line), 120))


def storm_retries(chance: random.Random) -> Lines:
    for at in range(10**9):
        yield (
            f"{zulu(at)} n1:5:6 [3] misc/socket.cc:441 (socketPollConnect) NCCL WARN socketPollConnect: connect to "
            f"10.0.0.{chance.randrange(9)}<{chance.randrange(30000, 60000)}> returned Connection refused, "
            f"retrying ({at % 35}/34) after sleep for {at % 10000} msec"
        )


def storm_unknown(chance: random.Random) -> Lines:
    for at in range(10**9):
        number = f"{at} of 0x{chance.getrandbits(40):x}"
        yield f"[{clock(at)}] n1:5:6 [3] new/place.cc:{at % 9} NCCL WARN What no table has, {number}"


def unknown(chance: random.Random) -> Lines:
    for at in range(10**9):
        number = f"{chance.random()} of 0x{chance.getrandbits(40):x}"
        yield f"n1:5:6 [3] NCCL INFO plugin says at {at}: {number} in slot {at % 64}"


def unknown_words(chance: random.Random) -> Lines:
    """Messages that no table has and whose words never come again."""
    for _ in range(10**9):
        yield f"n1:5:6 [3] NCCL INFO {' '.join(chance.randbytes(5).hex() for _ in range(8))}"


def watchdog(chance: random.Random) -> Lines:
    for at in range(10**9):
        yield (
            f"[rank{at % 8}]:[E1129 15:{at // 60 % 60:02d}:{at % 60:02d}.{at % 10**6:06d} ProcessGroupNCCL.cpp:632] "
            f"[Rank {at % 8}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={at}, OpType=ALLREDUCE, "
            f"NumelIn={chance.randrange(10**7)}, NumelOut={at}, Timeout(ms)=600000) ran for {600000 + at % 999} ms"
        )


def results(chance: random.Random) -> Lines:
    """What a framework writes in a loop that never gives up."""
    for at in range(10**9):
        yield f"{zulu(at)} RuntimeError: NCCL error: unhandled system error, NCCL version 2.28.9, attempt {at}"
        yield f"{zulu(at)} ncclSystemError: System call (e.g. socket, malloc) or external library call failed {at}"
        yield "Last error:"
        yield f"socketStartConnect: Connect to 10.0.0.2<{chance.randrange(60000)}> failed : Connection abort"


def processes(chance: random.Random) -> Lines:
    """Ever new processes, each with a line of its own."""
    for at in range(10**9):
        yield f"node{at % 977}:{at}:{at + 1} [{at % 8}] NCCL INFO Using network IB"
        said = f"Call to connect to 10.0.0.{chance.randrange(9)}<{at % 60000}> failed : No route to host"
        yield f"node{at % 977}:{at}:{at + 1} [{at % 8}] misc/socket.cc:72 NCCL WARN {said}"


def old(chance: random.Random) -> Lines:
    """NCCL before 2.4 wrote its level word without its name."""
    for at in range(10**9):
        yield f"alpha:{at % 8}:2 [0] INFO Ring 00 : 0[0] -> 1[{chance.randrange(9)}] via P2P/IPC"
        yield f"alpha:{at % 8}:1 [0] include/socket.h:360 WARN Call to connect failed : Connection timed out ({at})"


def wrapped(_chance: random.Random) -> Lines:
    for line in debug(_chance):
        yield from (line[start : start + 100] for start in range(0, len(line), 100)) if line else [""]


def around(kind: Kind, pattern: str) -> Kind:
    """Another kind's lines with something around each: {zulu}, {clock}, {line}."""

    def lines(chance: random.Random) -> Lines:
        for at, line in enumerate(kind(chance)):
            yield pattern.format(zulu=zulu(at), clock=clock(at), line=line)

    return lines


def in_json(kind: Kind) -> Kind:
    """Another kind's lines as docker's json-file keeps them."""

    def lines(chance: random.Random) -> Lines:
        for at, line in enumerate(kind(chance)):
            yield json.dumps({"log": line + "\n", "stream": "stderr", "time": zulu(at)}, separators=(",", ":"))

    return lines


LARGE: dict[str, Kind] = {"debug": debug, "tuning": tuning, "engine": engine, "storm": storm}

PREFIXES = {
    "none": "{line}",
    "own-clock": "[{clock}] {line}",
    "docker": "{zulu} {line}",
    "kubectl": "[pod/vllm-0/server] {zulu} {line}",
    "slurm": "0: [{clock}] {line}",
    "journald": "Nov 29 {zulu} spark python3[{at}]: {line}",
    "mpirun": "Sun Nov 29 {zulu} 2026<stderr>:{line}",
    "ray": "(RayWorkerWrapper pid=123, ip=10.0.0.1) {clock} {line}",
    "engine": "{zulu} (EngineCore_DP0 pid=99) {line}",
    "glued": "{zulu}|{line}",
    "colours": "\x1b[36m(pid {at})\x1b[0m \x1b[1;31m{line}\x1b[0m",
    "crlf": "{zulu} {line}\r",
}
STORMS: dict[str, Kind] = {
    **{f"storm-{name}": storm_of(pattern) for name, pattern in PREFIXES.items()},
    "storm-function": storm_of("[{clock}] {line}", "transport/net_ib.cc:2268 (ncclIbTest)"),
    "storm-json": storm_json,
    "storm-wrapped": storm_wrapped,
    "storm-retries": storm_retries,
    "storm-unknown": storm_unknown,
    "watchdog": watchdog,
    "results": results,
}
OTHERS: dict[str, Kind] = {
    "unknown": unknown,
    "unknown-words": unknown_words,
    "processes": processes,
    "old": old,
    "debug-clock": around(debug, "{zulu} {line}"),
    "debug-colours": around(debug, "\x1b[36m{zulu}\x1b[0m {line}\x1b[0m"),
    "debug-crlf": around(debug, "{line}\r"),
    "debug-wrapped": wrapped,
    "debug-json": in_json(debug),
    "tuning-clock": around(tuning, "{zulu} {line}"),
}
KINDS: dict[str, Kind] = {**LARGE, **STORMS, **OTHERS}
