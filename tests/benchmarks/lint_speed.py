"""How much processor time one `fabricdoc lint FILE` takes, as a whole process with warm bytecode.

    python tests/benchmarks/lint_speed.py [RUNS]

Prints machine, versions and for each file and form the minimum and median of user plus system seconds of the child.
The promise is 0.3 s for a file of settings. Run from the root of a checkout with the python of its environment.
"""

from __future__ import annotations

import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 0.3
FILES = {
    "few.env": 'NCCL_IB_GID_INDEX="3"\nNCCL_IB_HCA==mlx5_0, mlx5_1\nNCCL_PROTO=^LL\nNCCL_SOKET_IFNAME=eth0\n',
    "clean.env": "NCCL_NET=IB\nNCCL_IB_HCA==rocep1s0f0,roceP2p1s0f0\nNCCL_SOCKET_IFNAME==enp1s0f0np0\n",
    "many.env": "".join(f"VLLM_SETTING_{number}=value\n" for number in range(300)) + "NCCL_DEBUG=INFO\n",
    "run.sh": "#!/bin/bash\n" + "docker run --rm -v /a:/a \\\n  -e NCCL_NET=IB \\\n  image serve\n" * 100,
}


def processor_seconds(words: list[str]) -> float:
    """User and system time of one command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(
        [sys.executable, "-m", "fabricdoc", *words],
        cwd=ROOT,
        env={**env, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Time every file as text and as JSON; 1 where the median of one is above the promise."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    sys.stdout.write(f"{platform.platform()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    over = False
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            path = Path(folder, name)
            path.write_text(text)
            for form in ([], ["--json"]):
                processor_seconds(["lint", str(path), *form])
                times = [processor_seconds(["lint", str(path), *form]) for _ in range(runs)]
                median = statistics.median(times)
                over |= median > LIMIT_S
                told = f"{min(times):.3f} s least, {median:.3f} s median of {runs}"
                sys.stdout.write(f"{name:10} {' '.join(form) or 'text':7} {told}\n")
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
