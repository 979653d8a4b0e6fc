"""A target's grammar: `local`, `netns:PID|PATH`, `[user@]host[:port]`, and what a scheduler or a runtime holds.

Text to a checked `Target`, so that no word of one can be an option or a shell's text. Nothing here is reached.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from fabricdoc.errors import UsageError

Kind = Literal["local", "netns", "ssh", "slurm", "mpirun", "k8s", "docker", "podman"]
# what already is a container: no other one is entered from there
BOXED = ("k8s", "docker", "podman")
# whose host is a name of the launcher's, which goes there in its own way: not one that ssh is handed
LAUNCHED = ("slurm", "mpirun")
GRAMMAR = (
    "a node is [NAME=]TARGET, TARGET one of local, netns:PID, netns:/PATH, [user@]host[:port], [user@][v6]:port, "
    "slurm:NODE, mpirun:NODE, k8s:[NAMESPACE/]POD[:CONTAINER], docker:[NODE/]CONTAINER, podman:[NODE/]CONTAINER"
)

NAME = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
USER = r"[A-Za-z0-9_][A-Za-z0-9_.+-]*"
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_V6 = r"\[(?P<v6>[0-9A-Fa-f:.]+(?:%[A-Za-z0-9_.-]+)?)\]"
_SSH = re.compile(rf"(?:(?P<user>{USER})@)?(?:(?P<host>{NAME})|{_V6})(?::(?P<port>[0-9]{{1,5}}))?", re.ASCII)
# Kubernetes: a label has at most 63 characters, a pod's name is a subdomain of at most 253 (its docs, "Object Names")
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_POD = re.compile(rf"(?:(?P<ns>{_LABEL})/)?(?P<pod>[a-z0-9][a-z0-9.-]{{0,252}})(?::(?P<box>{_LABEL}))?", re.ASCII)
# Docker: RestrictedNameChars of its daemon; Podman's names are the same
_CONTAINER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*", re.ASCII)


@dataclass(frozen=True)
class Target:
    """A parsed target. `pid` or `path` belong to netns, `host`, `user`, `port` (0: ssh's own default) to ssh.

    Of slurm and mpirun `host` is the node; of docker and podman the machine they run on ("": this one), reached by ssh.
    """

    kind: Kind
    host: str = ""
    user: str = ""
    port: int = 0
    pid: int = 0
    path: str = ""
    namespace: str = ""
    pod: str = ""
    container: str = ""


def parse_target(text: str) -> Target:
    """Read one target; raises UsageError that says what is wrong with it."""
    scheme, colon, rest = text.partition(":")
    if text == "local":
        return Target("local")
    return _SCHEMES[scheme](text, rest) if colon and scheme in _SCHEMES else _parse_ssh(text)


def _parse_netns(text: str, rest: str) -> Target:
    if re.fullmatch(r"[1-9][0-9]{0,9}", rest, re.ASCII):
        return Target("netns", pid=int(rest))
    if rest.startswith("/") and "," not in rest and not CONTROL.search(rest):
        return Target("netns", path=rest)
    raise UsageError(f"{text!r}: after netns: comes a process id or the absolute path of a namespace file", fix=GRAMMAR)


def _parse_ssh(text: str) -> Target:
    match = _SSH.fullmatch(text)
    if match is None:
        raise UsageError(f"can't read the node {text!r}{_hint(text)}", fix=GRAMMAR)
    port = int(match["port"]) if match["port"] else 0
    if match["port"] and not 1 <= port <= 65535:
        raise UsageError(f"{text!r}: port {match['port']} is not between 1 and 65535")
    if match["v6"]:
        _check_v6(text, match["v6"])
    return Target("ssh", host=match["host"] or match["v6"], user=match["user"] or "", port=port)


def _check_v6(text: str, address: str) -> None:
    from ipaddress import AddressValueError, IPv6Address

    try:
        IPv6Address(address)
    except AddressValueError as error:
        raise UsageError(f"{text!r}: not an IPv6 address: {error}") from error


def _hint(text: str) -> str:
    if not text:
        return ": it is empty"
    if text.startswith("-"):
        return ": a node can't start with '-'"
    if "[" not in text and text.count(":") > 1:
        return ": an IPv6 address goes in brackets, as in [fe80::1%eth0]:22"
    return ""


def _parse_slurm(text: str, rest: str) -> Target:
    if not re.fullmatch(NAME, rest, re.ASCII):
        raise UsageError(f"{text!r}: after slurm: comes the name of a node of the allocation", fix=GRAMMAR)
    return Target("slurm", host=rest)


def _parse_mpirun(text: str, rest: str) -> Target:
    if not re.fullmatch(NAME, rest, re.ASCII):
        raise UsageError(f"{text!r}: after mpirun: comes a node's name, as mpirun --host takes it", fix=GRAMMAR)
    return Target("mpirun", host=rest)


def _parse_k8s(text: str, rest: str) -> Target:
    match = _POD.fullmatch(rest)
    if match is None:
        raise UsageError(f"{text!r}: after k8s: comes [NAMESPACE/]POD[:CONTAINER], in Kubernetes' letters", fix=GRAMMAR)
    return Target("k8s", namespace=match["ns"] or "", pod=match["pod"], container=match["box"] or "")


def _parse_box(text: str, rest: str) -> Target:
    scheme = text.partition(":")[0]
    place, _, container = rest.rpartition("/")
    nested = place.partition(":")[0] in _SCHEMES or rest.startswith("/")
    if nested or not _CONTAINER.fullmatch(container):
        raise UsageError(f"{text!r}: after {scheme}: comes [NODE/]CONTAINER", fix=GRAMMAR)
    kind: Kind = "docker" if scheme == "docker" else "podman"
    where = _parse_ssh(place) if place not in ("", "local") else Target("local")
    return replace(where, kind=kind, container=container)


_SCHEMES = {
    "netns": _parse_netns,
    "slurm": _parse_slurm,
    "mpirun": _parse_mpirun,
    "k8s": _parse_k8s,
    "docker": _parse_box,
    "podman": _parse_box,
}
