"""How a port sorts traffic (model.netdev.Qos): the kernel's DCB merged with what the vendor's driver puts in sysfs.

MLNX_OFED and DOCA drivers show trust, the DSCP map and ECN below /sys/class/net/X/{qos,ecn}; the kernel's own mlx5
shows only the CNPs' DSCP, in debugfs, which root may read. Files win over DCB, as in mlnx_qos. Nothing is judged.
"""

from __future__ import annotations

from typing import Any

from . import dcb
from .facts import READ_ERRORS, attempt, exists, is_unknown, load, read_int, unknown, why
from .netlink import SILENCE

PRIORITIES, DSCPS = range(8), 64
UNMAPPED = -1
DCB_FIELDS = ("trust", "dscp_priority", "pfc", "priority_tc", "tc_algorithm", "tc_percent")
TRUST_WORDS = ("dscp", "pcp", "both")
NO_ECN = "its driver has no ecn folder in sysfs (MLNX_OFED and DOCA drivers have one)"
ELSEWHERE = "sysfs shows another network namespace"
NO_CNP = "neither sysfs (ecn/roce_np/cnp_dscp) nor debugfs (mlx5/.../cc_params/np_cnp_dscp) tells"


def read_qos(interface: dict[str, Any], pause: dict[str, Any], folder: str, root: str = "") -> dict[str, Any]:
    """The facts of one port with a device: `pause` is what ethtool said, `folder` its folder in sysfs.

    `folder` is "" where /sys shows another network namespace. `source` names who answered: "dcb", "sysfs", both, "".
    """
    by_dcb, answered = _by_dcb(interface, pause)
    by_files = _by_files(folder) if folder else {}
    ecn = {
        "ecn_np": _ecn(folder, "roce_np"),
        "ecn_rp": _ecn(folder, "roce_rp"),
        "cnp_dscp": _cnp_dscp(folder, interface["pci"], root),
    }
    read = by_files or not all(is_unknown(one) for one in ecn.values())
    sources = [word for word, used in (("dcb", answered), ("sysfs", read)) if used]
    return {**by_dcb, **by_files, **ecn, **pause, "source": ", ".join(sources)}


def _by_dcb(interface: dict[str, Any], pause: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The DCB fields and whether the kernel answered; its refusal is every field's reason.

    Where ethtool got no answer, DCB would wait for the same lock, for ever: it is not asked.
    """
    if is_unknown(pause["pause_rx"]) and SILENCE in pause["pause_rx"]["unknown"]:
        return dict.fromkeys(DCB_FIELDS, unknown(f"DCB was not asked: ethtool got {SILENCE}")), False
    driver = interface["driver"]
    try:
        return dcb.read_dcb(interface["name"], driver if isinstance(driver, str) else ""), True
    except READ_ERRORS as error:
        return dict.fromkeys(DCB_FIELDS, unknown(f"DCB: {why(error)}")), False


def _by_files(base: str) -> dict[str, Any]:
    """`trust` and `dscp_priority` where the driver has files for them; nothing where it has none."""
    found = {}
    if exists(f"{base}/qos/trust"):
        found["trust"] = attempt(lambda: trust(load(f"{base}/qos/trust")))
    if exists(f"{base}/qos/dscp2prio"):
        found["dscp_priority"] = attempt(lambda: dscp_priorities(load(f"{base}/qos/dscp2prio")))
    return found


def trust(text: str) -> str:
    """The word of qos/trust; raises ValueError for another one."""
    if text not in TRUST_WORDS:
        raise ValueError(f"qos/trust says {text[:40]!r}")
    return text


def dscp_priorities(text: str) -> list[int]:
    """The rows "DSCP PRIORITY" of qos/dscp2prio below its heading, -1 for a DSCP without one; raises ValueError."""
    found = [UNMAPPED] * DSCPS
    for row in text.splitlines()[1:]:
        dscp, priority = (int(word) for word in row.split()[:2])
        if not (0 <= dscp < DSCPS and priority in PRIORITIES):
            raise ValueError(f"qos/dscp2prio has a row {row[:40]!r}")
        found[dscp] = priority
    return found


def _ecn(base: str, point: str) -> Any:
    """Whether ECN is on for each priority at the notification point (roce_np) or the reaction point (roce_rp)."""
    folder = f"{base}/ecn/{point}/enable"
    if not base:
        return unknown(ELSEWHERE)
    if not exists(folder):
        return unknown(NO_ECN)
    values = [read_int(f"{folder}/{priority}") for priority in PRIORITIES]
    return next((value for value in values if is_unknown(value)), [value != 0 for value in values])


def _cnp_dscp(base: str, pci: Any, root: str) -> Any:
    """The DSCP of the CNPs this port sends."""
    if base and exists(path := f"{base}/ecn/roce_np/cnp_dscp"):
        return read_int(path)
    if isinstance(pci, str) and exists(path := f"{root}/sys/kernel/debug/mlx5/{pci}/cc_params/np_cnp_dscp"):
        return read_int(path)
    return unknown(NO_CNP)
