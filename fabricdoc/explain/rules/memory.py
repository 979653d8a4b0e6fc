"""Rules of memory: locked memory, /dev/shm, DMA-BUF and peermem, and the PCIe settings that break direct access."""

from __future__ import annotations

import re

from fabricdoc.explain.case import Case
from fabricdoc.explain.hits import Answer, Confidence, Hit, Near, Rule, spots, words
from fabricdoc.explain.own import of_those
from fabricdoc.explain.seen import Fact, Seen, Sign
from fabricdoc.explain.views import completions

NO_MEMORY = re.compile(r"Cannot allocate memory|ENOMEM|\b12\b")
UNSUPPORTED = re.compile(r"not supported|EOPNOTSUPP|EPROTONOSUPPORT|\b95\b|\b93\b", re.I)
REGISTRATION = ("ibv_reg_mr", "ibv_reg_mr_iova2", "ibv_create_qp", "ibv_create_cq", "ibv_reg_mr_iova", "ibv_alloc_pd")
ENOUGH = 64 << 20
"""Bytes of locked memory below which no NCCL with RDMA buffers fits; the usual default is 64 KiB or 8 MiB."""
GPU_PROTECTION = (4, 10, 11)


def calls(case: Case, *names: str) -> list[Seen]:
    """Verbs calls of these names that failed."""
    return [seen for seen in case.of("err.ibv") if not names or seen.groups.get("call") in names]


def memlock_limit_too_low(case: Case) -> Answer:
    """Registration or a queue pair fails for want of memory, and the limit on locked memory is low or not told."""
    failed = [
        seen
        for seen in calls(case, *REGISTRATION)
        if NO_MEMORY.search(seen.groups.get("err", "") + seen.groups.get("errno", ""))
    ]
    silent = [seen for seen in calls(case, *REGISTRATION) if not (seen.groups.get("err") or seen.groups.get("errno"))]
    failed += case.warned(r"(?i)failed to (?:register|lock).*memory.*(?:memlock|ulimit|Cannot allocate)")
    failed_engine = case.sign("memlock-complaint")
    limits = [fact for fact in case.told("host") if fact.path[1:] == ("memlock",)]
    limits = of_those(case, limits, failed or silent or failed_engine)
    low = [fact for fact in limits if isinstance(fact.value, int) and 0 <= fact.value < ENOUGH]
    failed = failed or (silent if low else [])
    if not failed and not failed_engine:
        return _perhaps(silent, limits)
    if limits and not low:
        why = "locked memory is not limited here: the memory itself could not be registered (GB10, many channels)"
        return Near(spots(failed[:1], limits[:1]), why, ("a low `max locked memory`",))
    docker = case.sign("docker-run")
    bare = [sign for sign in docker if "memlock" not in sign.spot.text]
    limit = low[0].value // 1024 if low else ""
    filled = words(
        limit=limit,
        call=failed[0].groups.get("call", "") if failed else "",
        node=(failed or failed_engine)[0].spot.node,
    )
    evidence = spots(failed[:2], low[:1], failed_engine[:2], bare[:1] if not limits else ())
    sought = () if limits else ("ulimit -l in the session or container that starts the ranks",)
    return Hit(evidence, filled, "certain" if low or failed_engine else "likely", sought)


def _perhaps(silent: list[Seen], limits: list[Fact]) -> Answer:
    """Releases up to 2.13 name no reason; a queue that can't be made is mostly one whose memory can't be locked."""
    queues = [seen for seen in silent if seen.groups.get("call") in ("ibv_create_qp", "ibv_create_cq")]
    if not queues or limits:
        return None
    sought = ("a reason, which this release does not name", "ulimit -l in the session that starts the ranks")
    filled = words(call=queues[0].groups["call"], node=queues[0].spot.node)
    return Hit(spots(queues[:2]), filled, "possible", sought)


def dev_shm_too_small(case: Case) -> Answer:
    """A segment in /dev/shm could not be made or filled."""
    full = re.compile(r"No space left on device|\b28\b|Cannot allocate")
    found = [seen for seen in case.of("err.shm") if full.search(seen.spot.text) or "xtend" in seen.spot.text]
    found += [
        seen
        for seen in case.of("err.call")
        if re.search(r"posix_fallocate|ftruncate|shm_open|mmap", seen.spot.text) and full.search(seen.spot.text)
    ]
    found += [seen for seen in case.warned(r"(?i)(?:shared memory|shm).*no space left") if not _placed(seen, found)]
    bare = [seen for seen in case.of("err.shm") if not _placed(seen, found) and not _absent(case, seen)]
    bus = case.sign("bus-error-shm", "shm-engine")
    small = case.sign("df-shm-small")
    if not found and bare:
        full_bare = small or case.sign("shm-no-space")
        if full_bare:
            found = bare
        elif not bus:
            return Hit(spots(bare[:2]), words(node=bare[0].spot.node), "likely", ("df -h /dev/shm",))
    if not found and not bus:
        return None
    first = (found or bus)[0]
    wanted = re.search(r"(?:to|size) (\d+)", first.spot.text)
    filled = words(node=first.spot.node, wanted=wanted[1] if wanted else "")
    sized = case.sign("docker-run")[:1]
    return Hit(spots(found[:2], bus[:1], small[:1], sized), filled, "certain" if found else "likely")


def _absent(case: Case, seen: Seen) -> bool:
    """Whether a segment was not there to be opened: whose it was is gone, or in another container, and none is full."""
    if "attaching" not in seen.spot.text:
        return False
    return "No such file" in seen.spot.text or bool(case.warned(r"^Call to (?:shm_)?open\b.*No such file"))


def _placed(seen: Seen, others: list[Seen]) -> bool:
    """Whether a line is among others."""
    return any((one.spot.file, one.spot.line) == (seen.spot.file, seen.spot.line) for one in others)


def dmabuf_unsupported(case: Case) -> Answer:
    """Registration through DMA-BUF is refused as not supported."""
    failed = calls(case, "ibv_reg_dmabuf_mr", "mlx5dv_reg_dmabuf_mr")
    refused = [
        seen for seen in failed if UNSUPPORTED.search(seen.groups.get("err", "") + " " + seen.groups.get("errno", ""))
    ]
    others = [seen for seen in failed if seen not in refused and not NO_MEMORY.search(seen.groups.get("err", ""))]
    if failed and not refused and not others:
        return Near(spots(failed[:1]), "the call failed for want of memory", ("Operation not supported",))
    if not failed:
        return None
    shown = refused or others
    sought = () if refused else ("Operation not supported",)
    sure: Confidence = "certain" if refused else "likely"
    return Hit(spots(shown[:2], case.of("gdr.dmabuf")[:1]), words(node=shown[0].spot.node), sure, sought)


def is_gb10(case: Case) -> bool:
    """Whether any line names a GB10, which has no GPUDirect RDMA at all."""
    return bool(case.sign("gpu-gb10")) or any("GB10" in str(fact.value) for fact in case.told("gpu"))


def peermem_not_registered(case: Case) -> Answer:
    """The module is loaded, and NCCL says that GPUDirect RDMA is off."""
    modules = [fact for fact in case.told("host") if "modules" in fact.path and "peermem" in str(fact.value)]
    listed = case.sign("peermem-module")
    refused = case.sign("peermem-refused")
    off = [seen for seen in case.of("gdr.hca") if seen.groups.get("state", "").lower() == "disabled"]
    off = off or [seen for seen in case.of("gdr.ring") if seen.groups.get("gdr") == "0"]
    over = [seen for seen in case.of("chan.net") if seen.groups.get("net", "").startswith("IB")]
    direct = [seen for seen in over if "/GDRDMA" in seen.groups.get("flags", "")]
    off = off or ([] if direct or case.of("gdr.dmabuf") else over)
    fault = [
        seen for seen in calls(case, "ibv_reg_mr", "ibv_reg_mr_iova2") if "Bad address" in seen.groups.get("err", "")
    ]
    modules = of_those(case, modules, off or fault)
    loaded: list[Fact | Sign] = [*modules, *listed]
    if not off and not fault:
        return None
    if is_gb10(case):
        return Near(spots(off[:1]), "GB10 has no GPUDirect RDMA: off is right there") if off else None
    if not loaded and not refused and not fault:
        return None
    no_dmabuf = () if case.of("gdr.dmabuf") else ("DMA-BUF is available on GPU device",)
    evidence = spots(fault[:1], off[:2], loaded[:1], refused[:1])
    return Hit(evidence, words(node=evidence[0].node), "certain" if loaded or refused else "likely", no_dmabuf)


def acs_on(case: Case) -> list[Fact]:
    """Bridges whose ACS redirects peer traffic."""
    return [fact for fact in acs_told(case) if fact.value is True]


def acs_told(case: Case) -> list[Fact]:
    """What is told of ACS, bridge by bridge."""
    return [*case.told("acs"), *(fact for fact in case.told("pcie") if fact.path[-1] == "acs")]


def acs_breaks_gpudirect(case: Case) -> Answer:
    """Completions fail with protection errors on GPUDirect channels; with redirects on it is proven."""
    failed = [seen for seen, error in completions(case) if error.status in GPU_PROTECTION]
    direct = [seen for seen in case.of("chan.net") if "/GDRDMA" in seen.groups.get("flags", "")]
    redirects = acs_on(case)
    if not failed and redirects and direct:
        return _silent_gpudirect(case, redirects, direct)
    if not failed:
        return None
    if not redirects and not direct:
        return Near(
            spots(failed[:1]), "no channel uses GPUDirect RDMA as far as told", ("a channel via NET/.../GDRDMA",)
        )
    told = acs_told(case)
    if told and not redirects:
        return Near(spots(failed[:1], told[:1]), "ACS is off on every bridge told", ("ReqRedir+ on a bridge",))
    sought = () if redirects else ("lspci -vvv with ACSCtl lines",)
    return Hit(
        spots(failed[:1], direct[:1], redirects[:3]),
        words(node=failed[0].spot.node),
        "certain" if redirects else "likely",
        sought,
    )


def _silent_gpudirect(case: Case, redirects: list[Fact], direct: list[Seen]) -> Answer:
    """No completion failed: the transfers hang, or values are wrong."""
    wrong = [row for row in case.rows if row.wrong]
    if not wrong and not stuck(case):
        why = "no transfer failed, hung or gave wrong values, as far as told"
        return Near(spots(redirects[:1], direct[:1]), why, ("a completion with status 4, or wrong values",))
    sought = ("a completion with status 4",)
    return Hit(
        spots(wrong[:2], stuck(case)[:2], direct[:1], redirects[:3]), words(node=direct[0].spot.node), "likely", sought
    )


def peer_channels(case: Case) -> list[Seen]:
    """Channels by peer access within a node."""
    return [seen for seen in case.of("chan.p2p", "chan.local.old") if "via P2P" in seen.spot.text]


def stuck(case: Case) -> list[Seen | Sign]:
    """Signs that a run hangs or gives wrong results."""
    return [
        *case.of("torch.watchdog", "torch.watchdog.end"),
        *case.sign("engine-hang", "rendezvous-timeout", "p2p-bad-data"),
    ]


def finished(case: Case) -> list[Sign]:
    """The last words of a run of nccl-tests that came to its end with right values, where nothing hung or failed."""
    wrong = any(row.wrong for row in case.rows)
    return [] if wrong or stuck(case) or case.errors else case.sign("tests-passed")[:1]


def acs_breaks_p2p(case: Case) -> Answer:
    """Redirects are on, and ranks of a node use peer access, without an error that explains more."""
    redirects = of_those(case, acs_on(case), peer_channels(case))
    channels = peer_channels(case)
    if not redirects or not channels:
        return None
    if any(error.status in GPU_PROTECTION for _seen, error in completions(case)):
        return Near(spots(redirects[:1]), "the failing transfers go through an HCA", ("a failing copy within a node",))
    if done := finished(case):
        return Near(
            spots(redirects[:1], done), "the run came to its end with right values", ("a hang or wrong values",)
        )
    failing = case.of("err.cuda", "p2p.refused")
    evidence = spots(redirects[:3], channels[:2], stuck(case)[:2], failing[:1])
    sought = () if stuck(case) else ("a line after the channels: the log ends there",)
    return Hit(evidence, words(node=channels[0].spot.node), "certain" if stuck(case) or failing else "likely", sought)


def iommu_breaks_p2p(case: Case) -> Answer:
    """An IOMMU translates, and ranks of a node use peer access that hangs, fails or gives wrong data."""
    translating = case.sign("iommu-on", "iommu-kernel")
    passing = case.sign("iommu-pt")
    faults = case.sign("iommu-fault")
    channels = peer_channels(case)
    if not (translating or faults):
        return None
    if passing and not faults:
        return Near(spots(translating[:1], passing[:1]), "the IOMMU is in pass-through mode", ("a translating IOMMU",))
    if not channels and not case.of("p2p.refused") and not faults:
        return None
    if not faults and (done := finished(case)):
        return Near(spots(translating[:1], done), "the run came to its end with right values", ("a hang, or a fault",))
    evidence = spots(faults[:2], translating[:2], channels[:2], stuck(case)[:2])
    return Hit(evidence, words(node=evidence[0].node), "certain" if faults or stuck(case) else "likely")


RULES: dict[str, Rule] = {
    "dev-shm-too-small": dev_shm_too_small,
    "memlock-limit-too-low": memlock_limit_too_low,
    "dmabuf-unsupported": dmabuf_unsupported,
    "peermem-not-registered": peermem_not_registered,
    "acs-breaks-gpudirect": acs_breaks_gpudirect,
    "iommu-breaks-p2p": iommu_breaks_p2p,
    "acs-breaks-p2p": acs_breaks_p2p,
}
