"""Rules of GPUs, memory and the processes themselves: what ended a rank, so that the network only looks broken."""

from __future__ import annotations

import re

from fabricdoc.explain.case import Case
from fabricdoc.explain.hits import Answer, Hit, Near, Rule, spots, words
from fabricdoc.explain.seen import Seen, Sign

NO_IMAGE = re.compile(r"no kernel image|invalid device function", re.I)
NO_MEMORY = re.compile(r"out of memory|\b2 'out", re.I)
HARMLESS_XIDS = frozenset({"43", "45"})
"""Xids that a program's own end brings: 43 (it stopped), 45 (its channel was cleaned up)."""


def oom_killed(case: Case) -> Answer:
    """The kernel ended a process for want of memory, and ranks lost a peer."""
    found = case.sign("oom-killed")
    if not found:
        return None
    if not case.errors:
        return Near(spots(found[:1]), "no rank lost a peer, as far as the logs tell", ("a rank that lost its peer",))
    return Hit(spots(found[:2], case.errors[:1]), words(node=found[0].spot.node), "certain")


def gpu_xid(case: Case) -> Answer:
    """The GPU's driver reported an error of the hardware or firmware beside ranks that failed."""
    found = [sign for sign in case.sign("gpu-xid") if sign.groups.get("xid") not in HARMLESS_XIDS]
    if not found:
        return None
    filled = words(xid=found[0].groups.get("xid", ""), node=found[0].spot.node)
    failed = case.errors or case.of("torch.watchdog")
    return Hit(spots(found[:3], failed[:1]), filled, "certain" if failed else "likely")


def gpu_memory_exhausted(case: Case) -> Answer:
    """A CUDA call of NCCL's failed for want of GPU memory."""
    nccl = [seen for seen in case.of("err.cuda", "err.memory") if NO_MEMORY.search(seen.message)]
    others = case.sign("gpu-no-memory")
    if not nccl and not (others and case.errors):
        return None
    first = (nccl or others)[0]
    return Hit(spots(nccl[:2], others[:2]), words(node=first.spot.node), "certain" if nccl else "likely")


def nccl_without_gpu_code(case: Case) -> Answer:
    """NCCL's kernels are not built for this GPU."""
    found = [seen for seen in case.of("err.cuda") if NO_IMAGE.search(seen.message)]
    if not found:
        signs = case.sign("no-kernel-image")
        return Near(spots(signs[:1]), "the line is not NCCL's", ("a Cuda failure in NCCL",)) if signs else None
    return Hit(spots(found[:2], case.of("version")[:1]), words(node=found[0].spot.node), "certain")


def rendezvous_not_reached(case: Case) -> Answer:
    """Ranks did not meet before NCCL began: the store's address was not reached."""
    found: list[Seen | Sign] = [
        *(seen for seen in case.of("torch.rendezvous") if re.search(r"imed out|refused|fail", seen.spot.text)),
        *case.sign("rendezvous-timeout"),
    ]
    if not found or case.of("comm.init", "net.used"):
        return None
    master = case.values("MASTER_ADDR")[:1]
    filled = words(node=found[0].spot.node, address=master[0].value if master else "")
    return Hit(spots(found[:2], master), filled, "likely", ("a line in which NCCL begins",))


RULES: dict[str, Rule] = {
    "oom-killed": oom_killed,
    "gpu-xid": gpu_xid,
    "gpu-memory-exhausted": gpu_memory_exhausted,
    "nccl-without-gpu-code": nccl_without_gpu_code,
    "rendezvous-not-reached": rendezvous_not_reached,
}
