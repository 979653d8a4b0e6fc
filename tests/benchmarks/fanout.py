"""What many nodes over ssh cost the machine that asks: wall time, processes at once, memory.

    python tests/benchmarks/fanout.py [NODES] [ROUNDS] [MANY]

First two nodes of a lab, each behind a real sshd in its own namespaces, joined by two crossed cables: `fabricdoc scan`
with the cables proven, cold (the connections are made) and warm. Then NODES (64) names of one sshd on loopback. Every
"node" is this machine, so its cores do the work of all of them: the wall time of many nodes says how busy it is, while
processes and memory of the asking side are what they would be anywhere. Last MANY (1000) nodes behind a program that
stands for ssh and answers, after the time that a node takes, with the report of a scan of this machine: what the asking
side itself costs. Needs root, ssh and sshd.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fabricdoc.lab import LabSpec, open_lab  # noqa: E402
from tests.sshd import SshFolder, lab_over_ssh, loopback_over_ssh, why_not  # noqa: E402

TARGET_S = 3.0
LIMIT_S = 170
CALM = 1.0
PAGE = os.sysconf("SC_PAGE_SIZE")


class Cost(NamedTuple):
    """One command: seconds, its ssh clients at once, MiB of itself and of those clients at their most."""

    wall_s: float
    clients: int
    own_mib: float
    clients_mib: float
    answer: dict[str, Any]


def parents() -> dict[int, tuple[int, str, int]]:
    """Every process: its parent, its name, its resident pages."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            head, _, rest = (folder / "stat").read_text().rpartition(")")
            words = rest.split()
            found[int(folder.name)] = (int(words[1]), head.partition("(")[2], int(words[21]))
        except (OSError, ValueError, IndexError):
            continue
    return found


class Watch(threading.Thread):
    """Samples the ssh children of one process, and its own memory, until it ends."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        super().__init__(daemon=True)
        self._process = process
        self.clients, self.own, self.theirs = 0, 0, 0

    def run(self) -> None:
        while self._process.poll() is None:
            found = parents()
            sizes = [pages for parent, name, pages in found.values() if parent == self._process.pid and name == "ssh"]
            self.clients = max(self.clients, len(sizes))
            self.theirs = max(self.theirs, sum(sizes))
            self.own = max(self.own, found.get(self._process.pid, (0, "", 0))[2])
            time.sleep(0.05)


# as `fabricdoc scan` asks, with a deadline for nodes that all share the cores of this one
ASK = """
import json, sys
from fabricdoc.fabric.asking import begin_scan
from fabricdoc.transport import load_config
answers = begin_scan(load_config().nodes, deadline_s=float(sys.argv[1])).answers()
json.dump({"answered": sum(a.error is None for a in answers), "failed": [a.error.message for a in answers if a.error]},
          sys.stdout)
"""


def cost_of(made: SshFolder, tables: str, words: Sequence[str]) -> Cost:
    """Run our python with these words in a folder whose fabric.toml has these tables."""
    (made.folder / "fabric.toml").write_text(f'[ssh]\nconfig = "{made.config}"\n{tables}')
    env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": str(made.run)}
    with tempfile.TemporaryFile("w+") as out:
        begun = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, *words], stdout=out, stderr=subprocess.DEVNULL, text=True, cwd=made.folder, env=env
        )
        watch = Watch(process)
        watch.start()
        process.wait(LIMIT_S)
        wall = time.monotonic() - begun
        watch.join(5)
        out.seek(0)
        answer = json.load(out)
    return Cost(wall, watch.clients, watch.own * PAGE / 2**20, watch.theirs * PAGE / 2**20, answer)


def table(name: str, ports: str = "") -> str:
    """One `[[node]]` of fabric.toml, run by this very python."""
    return f'[[node]]\nname = "{name}"\npython = "{sys.executable}"\n' + (f'ports = ["{ports}"]\n' if ports else "")


def pair(folder: Path, rounds: int) -> None:
    """Two nodes with two cables, scanned as a user would."""
    with open_lab(LabSpec()) as lab, lab_over_ssh(folder, lab.nodes) as made:
        tables = "".join(table(node.name, "enp1s0*") for node in lab.nodes)
        costs = [cost_of(made, tables, ("-m", "fabricdoc", "scan", "--json")) for _ in range(rounds + 1)]
    warm = [cost.wall_s for cost in costs[1:]]
    links = [len(cost.answer["links"]) if isinstance(cost.answer["links"], list) else 0 for cost in costs]
    middle = statistics.median(warm)
    say(f"two nodes of a lab over ssh, scan with cables ({min(links)} to {max(links)} links proven):")
    say(f"  cold {costs[0].wall_s:.2f} s, warm {middle:.2f} s (least {min(warm):.2f} s of {rounds})")
    say(f"  target {TARGET_S:g} s warm: {'met' if middle <= TARGET_S else 'missed'}")


def many(folder: Path, count: int) -> None:
    """That many nodes of one sshd, cold and warm."""
    with loopback_over_ssh(folder, "n*", keep_s=2 * LIMIT_S) as made:
        names = table(f"n[{1:0{len(str(count))}d}-{count}]")
        for state in ("cold", "warm"):
            cost = cost_of(made, names, ("-c", ASK, "120"))
            say(f"{count} nodes of one sshd on loopback, {state}: {cost.answer['answered']} answered")
            say(
                f"  {cost.wall_s:.1f} s; at most {cost.clients} ssh clients at once, {cost.clients_mib:.0f} MiB of them"
            )
            say(f"  this process at most {cost.own_mib:.0f} MiB")
            for message in cost.answer["failed"][:3]:
                say(f"  {message}")


# stands for ssh, sshd and the node's python: takes the zip and the request, waits, answers as the probe would
STAND_IN = """#!{python} -IS
import os, sys, time
words = sys.argv[-1].split()
sizes, nonce = words[-3].strip("'").split(","), words[-1]
same = len(sizes) > 1
size = int(sizes[same])
def take(count):
    while count:
        count -= len(os.read(0, count) or sys.exit(98))
def say(text):
    data = ("\\n\\x1e" + nonce + " " + text + "\\n").encode()
    while data:
        data = data[os.write(1, data):]
say('{{"event":"started","pid":%d,"start":1,"same":%d}}' % (os.getpid(), same))
take(size)
while os.read(0, 1) != b"\\n":
    pass
time.sleep({node_s})
say(open("{report}").read())
while os.read(0, 4096):
    pass
"""
NODE_S = 0.3

REPORT = """
import json
from fabricdoc.fabric.asking import begin_scan
from fabricdoc.transport import NodeSpec
print(json.dumps({"report": begin_scan([NodeSpec("here", "local")], deadline_s=30).answers()[0].message}))
"""


def simulated(folder: Path, count: int) -> None:
    """That many nodes behind a stand-in for ssh."""
    made = SshFolder(folder)
    made.write_client([])
    report, stand_in = folder / "report", folder / "ssh"
    text = json.dumps(cost_of(made, table("here"), ("-c", REPORT)).answer["report"], separators=(",", ":"))
    report.write_text(text)
    stand_in.write_text(STAND_IN.format(python=sys.executable, node_s=NODE_S, report=report))
    stand_in.chmod(0o755)
    path = os.environ["PATH"]
    os.environ["PATH"] = f"{folder}:{path}"
    try:
        cost = cost_of(made, table(f"n[{1:0{len(str(count))}d}-{count}]"), ("-c", ASK, "30"))
    finally:
        os.environ["PATH"] = path
    say(
        f"{count} simulated nodes, each {NODE_S:g} s and {len(text) / 1024:.0f} KiB: {cost.answer['answered']} answered"
    )
    say(f"  {cost.wall_s:.1f} s; at most {cost.clients} clients at once; this process at most {cost.own_mib:.0f} MiB")
    for message in cost.answer["failed"][:3]:
        say(f"  {message}")


def say(text: str) -> None:
    """One line of the result."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def processor() -> str:
    """The processor's name as the kernel tells it."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "processor unknown"
    )


def ssh_version() -> str:
    """What `ssh -V` says."""
    return subprocess.run(["ssh", "-V"], capture_output=True, text=True, timeout=10, check=False).stderr.strip()


def main(words: Sequence[str]) -> int:
    """Both parts, after what the machine is and how busy it was."""
    count, rounds, thousand = (int(word) for word in (*words, *("64", "5", "1000")[len(words) :]))
    if missing := why_not():
        say(missing)
        return 1
    load = os.getloadavg()[0]
    say(f"{platform.system()} {platform.release()} {platform.machine()}, {processor()}, {os.cpu_count()} cores")
    say(f"Python {platform.python_version()}, {ssh_version()}; {time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}")
    say(f"load before: {load:.1f}" + ("" if load < CALM else ": a busy machine, so times are upper bounds"))
    for act, argument in ((pair, rounds), (many, count), (simulated, thousand)):
        with tempfile.TemporaryDirectory(prefix="fd-", dir="/tmp") as folder:
            act(Path(folder), argument)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
