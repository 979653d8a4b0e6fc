"""What only a GPU machine can show, in steps of at most nine minutes that can be called again and again.

    python tests/benchmarks/gpu_steps.py STEP [--keep gpu-steps] [--seconds 500]

    spin     5 % planted as a GPU spin in every call at 20 KiB: found, and the blocks it took       about 3 to 8 min
    layers   torch's calls against NCCL's own, graph and eager, at 8 and 20 KiB                      about 1 min
    arms     one launch each with gates, with a product between calls, with both paths, bit-exact    under 1 min
    search   an adaptive search over the grid's choices, live                                        about 4 min
    grid     the rest of results/grid_h200.json (12 blocks of 98 launches)                           two calls of 9 min
    compare  the search's choice beside the grid's best in 12 fresh blocks (after search and grid)   about 1 min
    regret   search_regret.py on the whole grid: no GPU needed (after grid)                          about 2 min
    next     the first step above that is not done, again until nothing is left

Everything is kept in --keep (and the grid beside the other results), after every launch: a machine that is taken away
costs one launch, and a call on another machine of the same kind goes on, as long as both travel with the checkout.
Each step appends what it prints to --keep/STEP.txt, for results/. Exit status 0: the step is done (with next: all
of them are), 1: call it again. Needs root, a torch with NCCL, an idle NVIDIA GPU. Run from the root of a checkout.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
GRID = HERE / "results" / "grid_h200.json"
LEAST_S = 30.0
"""A step is not begun with less time than that."""


class Both:
    """Writes to the screen and to a file."""

    def __init__(self, *streams: TextIO) -> None:
        self._streams = streams

    def write(self, text: str) -> int:
        """As a stream does."""
        for stream in self._streams:
            stream.write(text)
        return len(text)

    def flush(self) -> None:
        """As a stream does."""
        for stream in self._streams:
            stream.flush()


def on_a_pair(part: Callable[[object, Path, float], bool], keep: Path, until: float) -> bool:
    """Run a part of worker_on_gpu on two lab nodes."""
    from tests.benchmarks.beside_nccl_tests import opened

    with ExitStack() as stack:
        pair = opened(stack, argparse.Namespace(perf=Path(), mpiexec=Path(), launches=0))
        return part(pair, keep, until)


def spin(keep: Path, until: float) -> bool:
    """See worker_on_gpu.spin."""
    from tests.benchmarks import worker_on_gpu

    return on_a_pair(lambda pair, _, end: worker_on_gpu.spin(pair, keep / "spin.json", end), keep, until)  # type: ignore[arg-type]


def layers(keep: Path, until: float) -> bool:
    """See worker_on_gpu.layers."""
    from tests.benchmarks import worker_on_gpu

    def run(pair: object, _keep: Path, _until: float) -> bool:
        worker_on_gpu.layers(pair)  # type: ignore[arg-type]
        return True

    return on_a_pair(run, keep, until)


def arms(keep: Path, until: float) -> bool:
    """One launch for each arm that `bench` has a flag for; a wrong result or a failed launch ends it."""
    from tests.benchmarks import worker_on_gpu

    def run(pair: object, _keep: Path, _until: float) -> bool:
        worker_on_gpu.arms(pair)  # type: ignore[arg-type]
        return True

    return on_a_pair(run, keep, until)


def search(keep: Path, until: float) -> bool:
    """See adaptive_live.search."""
    from tests.benchmarks import adaptive_live

    return adaptive_live.search(keep, until)


def compare(keep: Path, until: float) -> bool:
    """See adaptive_live.compare."""
    from tests.benchmarks import adaptive_live

    return adaptive_live.compare(keep, until, GRID)


def grid(keep: Path, until: float) -> bool:
    """See record_grid."""
    seconds = max(1.0, until - time.monotonic() - 20.0)  # its last launch and the end of MPS
    return called("record_grid.py", str(GRID), "--seconds", f"{seconds:.0f}")


def regret(keep: Path, until: float) -> bool:
    """See search_regret: its own exit status says whether the bounds hold."""
    called("search_regret.py", str(GRID))
    return True


def called(script: str, *words: str) -> bool:
    """Whether a benchmark of its own ended with 0; what it says is said here."""
    done = subprocess.run([sys.executable, str(HERE / script), *words], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    sys.stdout.write(done.stdout)
    return done.returncode == 0


STEPS: dict[str, Callable[[Path, float], bool]] = {
    "spin": spin, "layers": layers, "arms": arms, "search": search, "grid": grid, "compare": compare, "regret": regret,
}  # fmt: skip


def ended(keep: Path) -> list[str]:
    """The steps that came to their end in earlier calls."""
    path = keep / "done.json"
    return list(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else []


def take(step: str, keep: Path, until: float) -> bool:
    """Run one step with its record; whether it is done now."""
    with (keep / f"{step}.txt").open("a", encoding="utf-8") as record:
        screen, sys.stdout = sys.stdout, Both(sys.stdout, record)  # type: ignore[assignment]
        try:
            done = STEPS[step](keep, until)
        finally:
            sys.stdout = screen
    if done:
        (keep / "done.json").write_text(json.dumps([*dict.fromkeys([*ended(keep), step])]), encoding="utf-8")
    return done


def main() -> int:
    """Run a step, or the next ones while there is time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=[*STEPS, "next"])
    parser.add_argument("--keep", type=Path, default=Path("gpu-steps"))
    parser.add_argument("--seconds", type=float, default=500.0)
    given = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    given.keep.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + given.seconds
    if given.step != "next":
        return int(not take(given.step, given.keep, until))
    for step in STEPS:
        if step in ended(given.keep):
            continue
        if until - time.monotonic() < LEAST_S or not take(step, given.keep, until):
            sys.stdout.write(f"{step} is not done: call again\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
