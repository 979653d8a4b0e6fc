"""The scan probe: waits for one request, reads every section of this node, and answers one report.

The report has the fields of model.fabric.NodeReport. It only looks: no traffic, no writes, no program started but
lldpcli where lldpd runs; the questions that go into drivers run in forked children while the files are read. Asked to
watch, it reads counters a second time at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from . import container, counters, gpus, hcas, host, lldpd, neighbours, netdevs, networkd, pcie, routes, rules, verbs
from .child import Child, Work, start
from .deadline import Deadline
from .facts import is_unknown, unknown
from .wire import Wire

REQUEST_WAIT_S = 30.0
DEADLINE_S = 10.0
MOST_S = 600.0
PATIENT_S = 30.0
ANSWER_RESERVE_S = 0.2
HIDDEN = "sysfs hides the HCAs, and what is found by them there; only RDMA netlink tells of them"


def main(wire: Wire) -> int:
    """Answer one {"do": "scan", "deadline_s": N, "watch_s": M}; 1 when no request came, 2 for another one."""
    request = wire.read(REQUEST_WAIT_S)
    if request is None:
        return 1
    if request.get("do") != "scan":
        wire.write({"event": "error", "message": "the scan probe only knows the request scan"})
        return 2
    watch_s = _seconds(request.get("watch_s"), 0.0)
    seconds = _seconds(request.get("deadline_s"), DEADLINE_S)
    report = scan(seconds, watch_s=watch_s, request=request, pause=wire.read)
    wire.write({"event": "result", "report": report})
    return 0


def _seconds(wanted: Any, otherwise: float) -> float:
    """The seconds asked for, if it is a number above 0 and at most 600; else `otherwise`."""
    if isinstance(wanted, (int, float)) and not isinstance(wanted, bool) and 0 < wanted <= MOST_S:
        return float(wanted)
    return otherwise


def scan(
    deadline_s: float,
    root: str = "",
    watch_s: float = 0.0,
    request: Mapping[str, Any] | None = None,
    pause: Callable[[float], object] | None = None,
) -> dict[str, Any]:
    """Read this node within `deadline_s` seconds, and counters twice, `watch_s` apart, in as much more time.

    `root` is put before every path but the network's. Of `request` count "cuda" (false: CUDA is not asked), "hash"
    (true: NCCL's files are hashed) and "kernel_signatures" ([{"id", "pattern"}] looked for in the kernel's log).
    `pause` waits so many seconds, or until nobody listens any more: then a watch ends early. Without an HCA there is
    nothing to watch.
    """
    begun = time.monotonic()
    request = request or {}
    deadline = Deadline(max(0.0, deadline_s - ANSWER_RESERVE_S))
    rdma = bool(hcas.device_names(root))
    watch_s = watch_s if rdma else 0.0
    # whoever gives the scan minutes expects a slow node (an emulated, a very busy one): then drivers get more, too
    patience = max(1.0, deadline_s / PATIENT_S)
    counter_limit_s = counters.LIMIT_S * patience + watch_s
    counter_child = Question(lambda say: counters.ask(say, root, watch_s), counter_limit_s, needed=rdma)
    gpu_child = Question(gpus.question(request), gpus.LIMIT_S)
    verbs_child = Question(lambda say: verbs.ask(say, root=root), verbs.LIMIT_S * patience)
    lldp_limit_s = lldpd.LIMIT_S * patience
    lldp_child = Question(lambda say: lldpd.ask(say, root, lldp_limit_s), lldp_limit_s, needed=lldpd.is_there(root))
    port_child = Question(lambda say: hcas.ask(say, root), hcas.LIMIT_S * patience, needed=rdma)
    host_facts = host.blank()
    interfaces = deadline.read("netdevs", lambda: netdevs.read_netdevs(root))
    devices = isinstance(interfaces, list) and any(netdevs.has_device(one) for one in interfaces)
    link_child = Question(lambda say: netdevs.ask(say, interfaces, root), netdevs.LIMIT_S * patience, needed=devices)
    found = {
        "netdevs": interfaces,
        "routes": deadline.read("routes", routes.read_routes),
        "rules": deadline.read("rules", rules.read_rules),
        "neighbours": deadline.read("neighbours", neighbours.read_neighbours),
        "container": deadline.read("container", lambda: container.read_container(root)),
        "pcie": deadline.read("pcie", lambda: pcie.read_pcie(hcas.pci_addresses(root), root)),
    }
    netdevs.with_answers(interfaces, *_link_answers(link_child, deadline, interfaces, root))
    said, reason = port_child.answer(deadline, "ports")
    ports = said if port_child.forked else None
    found["hcas"] = deadline.read("hcas", lambda: hcas.read_hcas(root, ports, reason))
    deadline.read("host", lambda: host.fill(host_facts, root, request))
    said, reason = verbs_child.answer(deadline, "verbs")
    host_facts["libibverbs"] = verbs.library_fact(said, reason)
    host_facts["uverbs"] = verbs.access_fact(said, reason)
    hcas.with_verbs(found["hcas"], said, reason)
    found["lldp"] = _lldp(lldp_child, deadline, interfaces, root)
    said, reason = gpu_child.answer(deadline, "gpus")
    host_facts["nvidia_driver"] = gpus.driver(host_facts["nvidia_driver"], said)
    found["gpus"] = deadline.read("gpu_bus", lambda: gpus.from_said(said, reason, root))
    if "kind" not in found["container"]:
        found["container"] = {"kind": found["container"], "evidence": ""}
    said, reason = counter_child.answer(deadline, "counters", _more_time(begun + watch_s, watch_s, pause))
    if not rdma and isinstance(found["hcas"], list) and found["hcas"]:
        reason, found["pcie"] = HIDDEN, found["pcie"] or unknown(HIDDEN)
    found |= {"counters": counters.from_said(said, reason), "watched_s": said.get("watched_s", 0.0)}
    return {**found, "host": host_facts, "timings_ms": deadline.timings_ms}


def _more_time(end: float, watch_s: float, pause: Callable[[float], object] | None) -> float:
    """Wait until a watch is over, and say how much longer than the scan its child may take: 0 when nobody listens."""
    if watch_s and pause is not None:
        pause(max(0.0, end - time.monotonic()))
        return watch_s if time.monotonic() >= end else 0.0
    return watch_s


def _lldp(child: Question, deadline: Deadline, interfaces: Any, root: str) -> Any:
    """What lldpd told its child; where there is none, what systemd-networkd keeps, if anything."""
    told = lldpd.from_said(*child.answer(deadline, "lldp"))
    if child.forked or not isinstance(interfaces, list) or not networkd.is_there(root):
        return told
    return deadline.read("lldp", lambda: networkd.neighbours(interfaces, root)) or told


def _link_answers(child: Question, deadline: Deadline, interfaces: Any, root: str) -> tuple[dict[str, Any], str]:
    """What drivers say of their links: by the child, or asked here where nothing has a device or there is no fork."""
    if child.forked or not isinstance(interfaces, list):
        return child.answer(deadline, "links")
    said: dict[str, Any] = {}
    failed = deadline.read("links", lambda: netdevs.ask(said.update, interfaces, root))
    return said, failed["unknown"] if is_unknown(failed) else ""


class Question:
    """A question to a driver, asked in a forked child; where there is no fork, the reason is the answer.

    One that is not `needed` is not asked, and is answered with nothing.
    """

    def __init__(self, work: Work, limit_s: float, *, needed: bool = True) -> None:
        self._child: Child | None = None
        self._reason = ""
        try:
            self._child = start(work, limit_s) if needed else None
        except OSError as error:
            self._reason = f"no process could be started: {error.strerror}"

    @property
    def forked(self) -> bool:
        """Whether there is a child to answer."""
        return self._child is not None

    def answer(self, deadline: Deadline, name: str, more_s: float = 0.0) -> tuple[dict[str, Any], str]:
        """What the child said by the end of its own limit or `more_s` after the scan's, and why that may not be all."""
        child = self._child
        if child is None:
            return {}, self._reason
        return deadline.timed(name, lambda: child.finish(deadline.left() + more_s))
