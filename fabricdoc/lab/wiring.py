"""Links and addresses of a lab, made through netlink (pyroute2), never with the `ip` or `tc` programs.

A rail of two ports is one veth pair, end to end. More: one bridge per rail in the holder's own network namespace.
Runs in the holder only (it changes network namespaces); it makes no namespace and starts no process.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from fabricdoc.errors import ToolError
from fabricdoc.lab.kernel import inside_net
from fabricdoc.lab.spec import LabSpec, address, port_name, rail_of, rails_of

BURST_BYTES = 262144
LATENCY = "50ms"
POLL_S = 0.01

NO_VETH = ("no-veth", "load it: `sudo modprobe veth`")
NO_BRIDGE = ("no-bridge", "load it: `sudo modprobe bridge`; or take two nodes, which need none")
NO_TBF = ("no-tbf", "load it: `sudo modprobe sch_tbf`; or leave the rate out")
PLAIN = ("lab-failed", "")
NO_RIGHT = ("no-namespaces", "")


def wire(spec: LabSpec, pids: Sequence[int], deadline: float) -> None:
    """Make every link, address and limit of the lab; `pids` hold the nodes' namespaces, in order.

    Returns when all ports are operationally up. `deadline` is a time.monotonic() value. Raises ToolError.
    """
    try:
        import pyroute2
    except ImportError as error:
        raise ToolError(f"pyroute2 can't be imported: {error}", fix="pip install pyroute2", id="no-pyroute2") from error
    with pyroute2.IPRoute() as ip:
        for rail in range(len(rails_of(spec))):
            _make_rail(ip, spec, rail, pids)
    for node, pid in enumerate(pids):
        with inside_net(pid), pyroute2.IPRoute() as ip:
            _set_up_node(ip, spec, node)
    for pid in pids:
        with inside_net(pid), pyroute2.IPRoute() as ip:
            _wait_until_up(ip, spec, deadline)


def _make_rail(ip: Any, spec: LabSpec, rail: int, pids: Sequence[int]) -> None:
    """The veth pairs of one rail; their ends are born inside the nodes."""
    ends = [{"ifname": port_name(port), "net_ns_pid": pids[node]} for node, port in rails_of(spec)[rail]]
    if len(ends) == 2:
        with _explained(f"veth pair of rail {rail}", NO_VETH):
            ip.link("add", kind="veth", peer=ends[1], **ends[0])
        return
    bridge = _make_bridge(ip, spec, rail)
    for node, end in enumerate(ends):
        _plug(ip, spec, bridge, f"rail{rail}node{node}", end)


def _make_bridge(ip: Any, spec: LabSpec, rail: int) -> int:
    """A bridge for one rail in this namespace, up; its index."""
    name = f"rail{rail}"
    with _explained(f"bridge of rail {rail}", NO_BRIDGE):
        ip.link("add", ifname=name, kind="bridge")
    index = _index(ip, name)
    with _explained(f"bridge of rail {rail}", PLAIN):
        ip.link("set", index=index, mtu=spec.mtu, state="up")
    return index


def _plug(ip: Any, spec: LabSpec, bridge: int, name: str, end: dict[str, object]) -> None:
    """One veth pair between a node (`end`) and a bridge port called `name`."""
    with _explained(f"veth pair {name}", NO_VETH):
        ip.link("add", ifname=name, kind="veth", peer=end)
    index = _index(ip, name)
    _limit(ip, spec, index)
    with _explained(f"bridge port {name}", PLAIN):
        ip.link("set", index=index, mtu=spec.mtu, master=bridge, state="up")


def _set_up_node(ip: Any, spec: LabSpec, node: int) -> None:
    """Loopback, and each port's MTU, address, limit and state, inside the node."""
    with _explained(f"ports of {spec.nodes[node]}", PLAIN):
        ip.link("set", index=_index(ip, "lo"), state="up")
        for port in range(spec.rails):
            index = _index(ip, port_name(port))
            ip.link("set", index=index, mtu=spec.mtu)
            ip.addr("add", index=index, address=address(rail_of(spec, node, port), node), prefixlen=24)
            _limit(ip, spec, index)
            ip.link("set", index=index, state="up")


def _limit(ip: Any, spec: LabSpec, index: int) -> None:
    """A tbf of the spec's rate on one link end, if it has one (what leaves there is limited)."""
    if spec.rate_mbit is None:
        return
    with _explained("rate limit (tbf)", NO_TBF):
        rate = spec.rate_mbit * 1_000_000 // 8
        ip.tc("add", "tbf", index, 0x10000, rate=rate, latency=LATENCY, burst=BURST_BYTES)


def _wait_until_up(ip: Any, spec: LabSpec, deadline: float) -> None:
    """Wait until the kernel has noticed every carrier (operstate UP follows a moment after `up`)."""
    ports = {port_name(port) for port in range(spec.rails)}
    while True:
        up = {link.get("ifname") for link in ip.get_links() if link.get("operstate") == "UP"}
        if ports <= up:
            return
        if time.monotonic() > deadline:
            raise ToolError(f"lab ports did not come up: {', '.join(sorted(ports - up))}", id="lab-failed")
        time.sleep(POLL_S)


def _index(ip: Any, name: str) -> int:
    found = ip.link_lookup(ifname=name)
    if not found:
        raise ToolError(f"the kernel made no netdev {name}", id="lab-failed")
    return int(found[0])


@contextmanager
def _explained(what: str, absent: tuple[str, str]) -> Iterator[None]:
    """Netlink errors as ToolError; `absent` is the id and fix when this kernel lacks the kind of thing."""
    from pyroute2.netlink.exceptions import NetlinkError

    try:
        yield
    except NetlinkError as error:
        if error.code in (errno.EPERM, errno.EACCES):
            id, fix = NO_RIGHT
        else:
            id, fix = absent if error.code in (errno.EOPNOTSUPP, errno.ENOENT) else PLAIN
        raise ToolError(f"the lab can't be made: {what}: {error.args[-1]}", fix=fix, id=id) from error
