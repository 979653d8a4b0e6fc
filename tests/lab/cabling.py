"""What tests of cables share: the map of some nodes of a lab, what was found at a port, and changes to real links."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from fabricdoc.fabric import map_cables, scan
from fabricdoc.lab import Lab, LabNode
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Link
from fabricdoc.model.findings import Finding
from fabricdoc.transport import NodeSpec

F0, F1 = "enp1s0f0np0", "enp1s0f1np1"
Run = Callable[..., "subprocess.CompletedProcess[str]"]

# python for a node: the netlink requests that change its own links
LINK = "import sys, pyroute2; ip = pyroute2.IPRoute(); at = ip.link_lookup(ifname=sys.argv[1])[0]; "
SET_MTU = LINK + "ip.link('set', index=at, mtu=int(sys.argv[2]))"
MOVE_ADDRESS = LINK + (
    "to = ip.link_lookup(ifname=sys.argv[3])[0]; ip.addr('del', index=at, address=sys.argv[2], prefixlen=24);"
    "ip.addr('add', index=to, address=sys.argv[2], prefixlen=24)"
)
# nothing gets through: no frame is as small as the burst, and what is larger is dropped
CUT = LINK + "ip.tc('add', 'tbf', at, 0x10000, rate=1000, burst=32, latency='1ms')"
# two ports of one node that hear one another without any cable, as the twins of a ConnectX chip do
TWINS = "import pyroute2; ip = pyroute2.IPRoute(); ip.link('add', ifname='twin0', kind='veth', peer='twin1');" + (
    "[ip.link('set', index=ip.link_lookup(ifname=name)[0], state='up') for name in ('twin0', 'twin1')]"
)
# a switch that sends back what it gets: a bridge whose one port is in hairpin mode
HAIRPIN = LINK + (
    "ip.link('add', ifname='echo', kind='bridge'); to = ip.link_lookup(ifname='echo')[0];"
    "ip.link('set', index=to, state='up'); ip.link('set', index=at, master=to); ip.brport('set', index=at, mode=1)"
)
NO_LINK_LOCAL = "import sys; open(f'/proc/sys/net/ipv6/conf/{sys.argv[1]}/disable_ipv6', 'w').write('1')"
SETTLED = """
import sys, time
end = time.monotonic() + 10
def tentative():
    return any(int(line.split()[4], 16) & 0x40 for line in open('/proc/self/net/if_inet6'))
while tentative():
    assert time.monotonic() < end
    time.sleep(0.05)
"""
PING = """
import os, socket, struct, sys
def checksum(data):
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while total >> 16: total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
raw.settimeout(5)
head = struct.pack('!BBHHH', 8, 0, 0, os.getpid() & 0xffff, 1)
raw.sendto(struct.pack('!BBHHH', 8, 0, checksum(head), os.getpid() & 0xffff, 1), (sys.argv[1], 0))
while True:
    packet, sender = raw.recvfrom(2048)
    if packet[20] == 0 and packet[24:26] == head[4:6]: break
print(sender[0])
"""

# PR_SET_SECUREBITS with SECBIT_NOROOT: from the next exec on, user id 0 has no capabilities of its own
NO_RIGHTS = """#!{python} -I
import ctypes, os, sys
assert ctypes.CDLL(None, use_errno=True).prctl(28, 1, 0, 0, 0) == 0
os.execv({python!r}, [{python!r}, *sys.argv[1:]])
"""


def bare_python(folder: Path) -> str:
    """A python in `folder` that has no capability: the kernel refuses it raw sockets."""
    path = folder / "python3"
    path.write_text(NO_RIGHTS.format(python=sys.executable))
    path.chmod(0o755)
    return str(path)


def specs_of(lab: Lab, names: Iterable[str] = (), **more: str) -> list[NodeSpec]:
    """The lab's nodes (or those named) with every port listed; `more` are fields of NodeSpec."""
    wanted = set(names) or {node.name for node in lab.nodes}
    return [NodeSpec(name=n.name, target=n.target, ports=n.ports, **more) for n in lab.nodes if n.name in wanted]


def mapped(specs: list[NodeSpec]) -> Fabric:
    """Scanned and mapped."""
    return map_cables(specs, scan(specs, deadline_s=20))


def links_of(fabric: Fabric) -> tuple[Link, ...]:
    """The links, which must be known."""
    assert not isinstance(fabric.links, Unknown), fabric.links
    return fabric.links


def told(fabric: Fabric) -> list[tuple[str, str, str]]:
    """Each link as ("alpha/enp1s0f0np0", "beta/enp1s0f1np1", kind)."""
    return [(f"{one.a.node}/{one.a.netdev}", f"{one.b.node}/{one.b.netdev}", one.kind) for one in links_of(fabric)]


def found(fabric: Fabric, *ids: str) -> list[tuple[str, str]]:
    """(id, subject) of the findings with these ids, in order."""
    return [(one.id, one.subject) for one in fabric.findings if one.id in ids]


def finding(fabric: Fabric, id_: str, subject: str) -> Finding:
    """The one finding of that id and subject."""
    (one,) = [one for one in fabric.findings if (one.id, one.subject) == (id_, subject)]
    return one


def named(lab: Lab, name: str) -> LabNode:
    """A node of the lab by name."""
    return next(node for node in lab.nodes if node.name == name)


def done(process: subprocess.CompletedProcess[str]) -> str:
    """What a program in a node printed; it must have ended well."""
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()
