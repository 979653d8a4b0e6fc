"""The commands a user types, on real NCCL between two lab nodes: bench, export-env, the gate at all levels, with times.

    python tests/benchmarks/gpu_commands.py [--keep gpu-commands] [--seconds 300] [--backend nccl] [--ranks-per-node 1]

Two network namespaces have --ranks-per-node GPUs each, or share that many through MPS. `bench` weighs NCCL_PROTO=LL
set for everything beside two honest settings, under objective mix: whatever it gains on small messages, it must not be
chosen where it loses large ones. Then the preset that came out is exported and gated: quick, smoke (NCCL in fresh
processes, wanted: 15 s) and full (wanted: 60 s). Then a process takes memory of the GPU, as another user would: quick
must say no-go and name it, and go again when it has ended. Exit status 1 when LL was chosen, a gate says otherwise, or
one took longer. With --backend gloo it can be rehearsed without a GPU and without that user, on base where nothing
could be told. Needs root. RoCE takes no part. Run from the root of a checkout.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fabricdoc.demo.gpu import GpuShare, share_gpus  # noqa: E402
from fabricdoc.lab import LabSpec, open_lab  # noqa: E402
from tests.benchmarks.gpu_main_job import PROFILE, say  # noqa: E402

LL = """backend = "nccl"
summary = "LL for everything, as many posts advise"
[[candidate]]
name = "ll-everywhere"
why = "small messages want LL"
source = "posts"
risk = "large messages lose"
[candidate.variables]
NCCL_PROTO = "LL"
"""
WANTED = {"quick": 5.0, "smoke": 15.0, "full": 60.0}
TENANT = """import sys, torch
held = torch.ones(1 << 28, device="cuda")
torch.cuda.synchronize()
print("up", flush=True)
sys.stdin.read()
"""


def environment(share: GpuShare, node: int, ranks: int) -> dict[str, str]:
    """What that node needs to find its GPUs: as many as ranks, its own, or the first ones, shared through MPS."""
    first = 0 if share.mps_folder else node * ranks
    own = share.environment(node)
    return own and own | {"CUDA_VISIBLE_DEVICES": ",".join(map(str, range(first, first + ranks)))}


def opened(stack: ExitStack, keep: Path, backend: str, ranks: int) -> None:
    """Two lab nodes, told in keep/fabric.toml."""
    share = share_gpus(stack, 2 * ranks) if backend == "nccl" else GpuShare()
    lab = stack.enter_context(open_lab(LabSpec()))
    tables = []
    for index, node in enumerate(lab.nodes):
        own = environment(share, index, ranks)
        env = ", ".join(f"{name} = {json.dumps(value)}" for name, value in own.items())
        tables.append(
            f'[[node]]\nname = "{node.name}"\ntarget = "{node.target}"\npython = {json.dumps(sys.executable)}\n'
            f"ports = {json.dumps(list(node.ports))}\nenv = {{ {env} }}\n"
        )
    (keep / "fabric.toml").write_text("\n".join(tables), encoding="utf-8")


def run(keep: Path, seconds: float, *words: str) -> tuple[int, float, str]:
    """Exit status, seconds and output of a command of fabricdoc, started where fabric.toml lies."""
    say(f"\n$ fabricdoc {' '.join(words)}")
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "fabricdoc", *words], cwd=keep, env={**os.environ, "PYTHONPATH": path, "COLUMNS": "80"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, check=False,
    )  # fmt: skip
    took = time.monotonic() - begun
    say(f"{done.stdout.rstrip()}\nexit status {done.returncode}, {took:.1f} s")
    return done.returncode, took, done.stdout


def beside_a_tenant(keep: Path, store: tuple[str, str]) -> list[str]:
    """Faults of the quick gate while a process holds 1 GiB of the GPU, and after it has ended."""
    words = ("gate", "--level", "quick", "--deadline", "100", *store)
    with subprocess.Popen(
        [sys.executable, "-c", TENANT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as tenant:
        assert tenant.stdin is not None and tenant.stdout is not None
        if tenant.stdout.readline() != "up\n":
            return ["the tenant could not use the GPU"]
        say(f"\n# pid {tenant.pid} holds 1 GiB of the GPU")
        status, _, told = run(keep, 120, *words)
        tenant.stdin.close()
    faults = [f"gate beside a tenant: exit status {status}"] * (status != 1)
    faults += ["the tenant is not named"] * (f"pid {tenant.pid}" not in " ".join(told.split()))
    status, _, _ = run(keep, 120, *words)
    return faults + [f"gate after the tenant: exit status {status}"] * (status != 0)


def main() -> int:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, default=Path("gpu-commands"))
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--backend", default="nccl", choices=["nccl", "gloo"])
    parser.add_argument("--ranks-per-node", type=int, default=1)
    given = parser.parse_args()
    keep = given.keep.resolve()
    keep.mkdir(parents=True, exist_ok=True)
    (keep / "ll.toml").write_text(LL, encoding="utf-8")
    faults = []
    with ExitStack() as stack:
        opened(stack, keep, given.backend, given.ranks_per_node)
        sets = (
            ("--candidates", "decode:simple,decode:one-channel,ll.toml")
            if given.backend == "nccl"
            else ("--both-nics",)
        )
        store = ("--store", "runs.sqlite")
        bench: tuple[str, ...] = (
            "bench",
            "--backend",
            given.backend,
            "--profile",
            PROFILE,
            "--objective",
            "mix",
            "--sizes",
            "8,20K",
        )
        bench += ("--ranks-per-node", str(given.ranks_per_node))
        status, _, _ = run(keep, given.seconds, *bench, *sets, *store)
        if status == 3 and given.backend == "gloo":  # too noisy to tell: the gates can be held against base
            run(keep, 60, "recommend", "--keep-base", *store)
        run(keep, 60, "runs", "list", *store)
        status, _, _ = run(keep, 60, "export-env", "-o", "env", *store)
        faults += ["no preset"] * (status != 0)
        faults += ["LL for everything was chosen"] * any("NCCL_PROTO=LL" in f.read_text() for f in keep.glob("env/*"))
        for level, most in WANTED.items():
            status, took, _ = run(keep, 120, "gate", "--level", level, "--deadline", "100", *store)
            faults += [f"gate {level}: exit status {status}"] * (status != 0)
            faults += [f"gate {level} took {took:.1f} s"] * (took > most)
        faults += beside_a_tenant(keep, store) if given.backend == "nccl" else []
    say("\n" + ("; ".join(faults) if faults else "LL was not chosen, every gate said what it should, in time"))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
