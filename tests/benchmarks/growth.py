"""That the time of `fabricdoc explain` grows with its input alone, for inputs of many shapes, hostile ones too.

    python tests/benchmarks/growth.py [--sizes 250,1000] [SHAPE...]

Each shape is made at two sizes (in kB) and explained in a process of its own. `growth` is how much longer the larger
one took over how much larger it is: about 1 or less for linear work, 4 here for quadratic. Exit status 1 where it is
above 2 in an input that takes over half a second. What is above 1 MiB in one file is read as a log alone.
`reader_speed.py` has the kinds of log lines at larger sizes. Run from the root of a checkout.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import sys, time
from fabricdoc.explain import explain_files
explain_files([sys.argv[1]])
begun = time.process_time()
explain_files([sys.argv[2]])
print(time.process_time() - begun)
"""
GIDS = "DEV PORT INDEX GID IPv4 VER DEV\n--- ---- ----- --- ---- --- ---\n"
GID = "mlx5_{hca}\t1\t{slot}\t0000:0000:0000:0000:0000:ffff:0a00:{low:04x}\t10.0.{high}.{at}\tv2\teth{hca}\n"
QP = (
    "h{i}:{i}:1 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev "
    "mlx5_0:1, curr state INIT, next state RTR, local GID index 3, local GID ::ffff:10.0.0.{at}, remote GID ::\n"
)
LINK = "link mlx5_{i}/1 state ACTIVE physical_state LINK_UP netdev eth{i}\n"
IP = "{i}: eth{i}: <UP,LOWER_UP> mtu 1500 state UP\n    inet 10.0.{high}.{at}/24 scope global eth{i}\n"
SAID = "h{i}:{i}:1 [0] NCCL INFO NCCL_IB_HCA set by environment to mlx5_{i}\n"
Files = Iterator[tuple[str, str]]


def rows(line: str, size: int, head: str = "") -> str:
    """So many bytes of a line, each with numbers of its own."""
    count = max(1, size // max(1, len(line)))
    words = (
        {"i": i, "at": i % 250, "high": i // 250 % 250, "low": i % 65536, "slot": i % 8, "hca": i // 8}
        for i in range(count)
    )
    return head + "".join(line.format(**one) for one in words)


def noise(line: str, size: int) -> str:
    """Lines with two words that never come again."""
    chance = random.Random(3)
    return "".join(line.format(a=chance.randbytes(6).hex(), b=chance.randbytes(5).hex()) for _ in range(size // 60))


def nodes(size: int) -> Files:
    """Files of many nodes: log, GID table, links, addresses, settings."""
    for i in range(size // 900):
        yield f"node{i}.log", SAID.format(i=i) + QP.format(i=i, at=i % 250)
        yield f"node{i}_show_gids.txt", rows(GID, 200, GIDS)
        yield f"node{i}_rdma_link.txt", LINK.format(i=0)
        yield f"node{i}.env", f"NCCL_IB_GID_INDEX={i % 4}\nNCCL_IB_HCA=mlx5_{i % 3}\n"


def one(name: str, make: Callable[[int], str]) -> Callable[[int], Files]:
    """A shape of one file."""
    return lambda size: iter([(name, make(size))])


SHAPES: dict[str, Callable[[int], Files]] = {
    "one-line": one("a.log", lambda n: "x" * n),
    "one-nccl-line": one("a.log", lambda n: "n1:1:1 [0] NCCL INFO " + "NET/IB : Using " * (n // 15)),
    "warn-marks": one("a.log", lambda n: " NCCL WARN " * (n // 11)),
    "last-errors": one("a.log", lambda n: "Last error:\nsocket x failed\n" * (n // 28)),
    "hosts": one("a.log", lambda n: rows("host{i}:{i}:1 [0] NCCL INFO Using network IB\n", n)),
    "failed-pairs": one("a.log", lambda n: rows(QP, n)),
    "settings-said": one("a.log", lambda n: rows(SAID, n)),
    "warnings": one("a.log", lambda n: noise("h:1:1 [0] x.cc:7 NCCL WARN {a} broke {b}\n", n)),
    "unknown-lines": one("a.log", lambda n: noise("h:1:1 [0] NCCL INFO {a} says {b}\n", n)),
    "deep-wrap": one(
        "a.log", lambda n: ("n1:1:1 [0] NCCL INFO " + "x" * 59 + "\n") * 4 + ("y" * 80 + "\n") * (n // 81)
    ),
    "blanks": one("a.log", lambda n: " " * (n // 2) + "\n" * (n // 2)),
    "colours": one("a.log", lambda n: "\x1b[31m" * (n // 5)),
    "docker-json": one("a.log", lambda n: '{"log":"' * (n // 8)),
    "brackets": one("a.json", lambda n: "[" * n),
    "nccl-tests": one("t.txt", lambda n: rows("{i} {i} float sum -1 12.3 4.5 6.7 0 12.2 4.6 6.8 0\n", n)),
    "env": one("a.env", lambda n: rows("NCCL_X{i}=v{i}\n", n)),
    "env-twice": one("a.env", lambda n: rows("NCCL_IB_HCA=mlx5_{i}\n", n)),
    "docker-line": one("run.sh", lambda n: "docker run " + rows("-e NCCL_V{i}=x ", n) + "image\n"),
    "show-gids": one("show_gids.txt", lambda n: rows(GID, n, GIDS)),
    "rdma-link": one("rdma.txt", lambda n: rows(LINK, n)),
    "ip-addr": one("ip.txt", lambda n: rows(IP, n)),
    "ip-json": one("ip.json", lambda n: json.dumps([{"ifindex": i, "ifname": f"eth{i}"} for i in range(n // 40)])),
    "headings": one("all.txt", lambda n: rows("### node{i}\n" + LINK, n)),
    "pdsh": one("all.txt", lambda n: rows("node{i}: " + LINK, n)),
    "many-nodes": nodes,
}


def seconds(shape: str, size: int, small: Path) -> float:
    """Processor time of explaining that shape; 120 where it is not done by then."""
    with tempfile.TemporaryDirectory(prefix="growth-") as folder:
        for name, text in SHAPES[shape](size):
            (Path(folder) / name).write_text(text, encoding="utf-8")
        try:
            done = subprocess.run(
                [sys.executable, "-c", CODE, str(small), folder], cwd=ROOT, capture_output=True, text=True, timeout=120,
                check=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return 120.0
    return float(done.stdout)


def main() -> int:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", default=[*SHAPES], metavar="SHAPE", help=", ".join(SHAPES))
    parser.add_argument("--sizes", default="250,1000")
    given = parser.parse_args()
    less, more = (int(word) * 1000 for word in given.sizes.split(","))
    above = 0
    print(f"{'shape':14} {less // 1000:>6} kB s {more // 1000:>6} kB s  growth")
    with tempfile.TemporaryDirectory(prefix="growth-") as folder:
        small = Path(folder) / "small.log"
        small.write_text(SAID.format(i=1), encoding="utf-8")
        for shape in given.shapes:
            first, last = seconds(shape, less, small), seconds(shape, more, small)
            growth = last / max(first, 0.02) / (more / less)
            slow = last > 0.5 and growth > 2
            above += slow
            print(f"{shape:14} {first:11.2f} {last:11.2f}  {growth:6.2f}{'  ABOVE' * slow}", flush=True)
    return int(bool(above))


if __name__ == "__main__":
    sys.exit(main())
