"""Every name in a document that tells whose it is: nodes, hosts, users, images, containers, switches, programs.

From the fields that hold such a name as a whole, each with its kind, and from what is inside it (the user, the host and
the domain of a target, the registry and the folders of an image). Addresses and ids are other modules' matter; which
names stand in free text alone is known to nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address
from typing import Any

from fabricdoc.dumps.addresses import MAC

Named = tuple[str, str]
"""(kind, name); the kind is the word of its replacement."""
LOCAL = "local"
COMMON_USERS = ("root", "ubuntu", "nvidia", "admin")
COMMON_DOMAINS = ("lan", "local", "localdomain", "home", "internal", "com", "org", "net")
COMMON_PROGRAM = re.compile(
    r"(?:python[\d.]*|VLLM|vllm|ray|raylet|sglang|trtllm|tritonserver|torchrun|mpirun|nvidia|Xorg|Xwayland|gnome|kwin)"
    r"(?:[-_:. ][\w:.-]*)?|all_reduce_perf|all_gather_perf"
)
VERSION_TAG = re.compile(r"v?\d[\d.]*(?:(?:rc|post|dev|a|b)\d+)?|latest|stable|main|nightly|dev|py3|devel|runtime")
SCHEME = re.compile(r"(?:slurm|mpirun|k8s|docker|podman|netns):")
KEPT_ALTNAME = re.compile(r"(?:en|eth|wl|ww|ib|sl)[opsxPfnduv\d]+\Z")
USUAL_PORT = re.compile(
    r"(?:[A-Za-z]{2,15} ?)?\d[\d/:._-]*|(?:en|eth|swp|roce|p)[\w.:/-]{0,20}|(?:[0-9a-f]{2}:){5}[0-9a-f]{2}"
)
HOME = re.compile(r"(?P<before>/(?:home|Users)/)(?P<user>[^/\s:\"']+)")
HOST_ID, RENDEZVOUS = "NCCL_HOSTID", "NCCL_COMM_ID"


def named(raw: Mapping[str, Any]) -> Iterator[Named]:
    """(kind, name) of a fabric document as `model_dump` gives it: nodes first, longer names before their parts."""
    nodes, failed = raw.get("nodes") or [], raw.get("failed") or []
    listed = [*nodes, *failed]
    hosts = [text_of(node.get("host"), "hostname") for node in nodes]
    yield from (("node", text_of(node, "name")) for node in listed)
    yield from (("target", text_of(node, "target")) for node in listed)
    yield from (("host", host) for host in hosts)
    images = [image_of(node) for node in nodes]
    yield from (("image", image) for image in images)
    yield from (part for node in listed for part in parts_of_target(text_of(node, "target")))
    yield from (part for host in hosts for part in parts_of_host(host))
    yield from (part for image in images for part in parts_of_image(image))
    for node in nodes:
        yield from _of_node(node)
    yield from _anywhere(raw)


def text_of(entry: Any, field: str) -> str:
    """A field's text; "" where it is none."""
    value = entry.get(field) if isinstance(entry, Mapping) else None
    return value if isinstance(value, str) else ""


def image_of(node: Mapping[str, Any]) -> str:
    """The name of a node's image, also where it could not be read: the reason then begins with it."""
    name = text_of(node.get("image"), "name")
    reason = text_of(node.get("image"), "unknown")
    first, colon, _rest = reason.partition(": ")
    return name or (first if colon and " " not in first else "")


def parts_of_target(target: str) -> Iterator[Named]:
    """The user, host and domain of [user@]host[:port]; the names in what follows
    slurm:, mpirun:, k8s:, docker:, podman:.
    """
    scheme = SCHEME.match(target)
    if scheme is None and "/" in target:  # a folder of texts
        return
    if target.startswith("netns:"):
        name = target.rpartition("/")[2] if "/" in target else ""
        yield "namespace", name
        return
    rest = target[scheme.end() :] if scheme else target
    user, at, place = rest.rpartition("@")
    if at and user not in COMMON_USERS:
        yield "user", user
    *before, last = place.split("/")
    for piece in before:
        yield from _host_or_label("namespace" if target.startswith("k8s:") else "host", piece)
    kind = {"k8s:": "pod", "slurm:": "host", "mpirun:": "host"}.get(scheme[0], "container") if scheme else "host"
    head, _colon, tail = last.partition(":") if not last.startswith("[") else ("", "", "")
    yield from _host_or_label(kind, head)
    yield "container", "" if is_address(tail) else tail


def _host_or_label(kind: str, text: str) -> Iterator[Named]:
    """A host with its parts (its port is no name), or another name as it is."""
    if kind != "host":
        yield kind, text
        return
    host = re.sub(r":\d+\Z", "", text)
    if not is_address(host) and not host.startswith("["):
        yield "host", host
        yield from parts_of_host(host)


def is_address(text: str) -> bool:
    """Whether a host is told by its address, or is a bare number."""
    try:
        ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return text.isdecimal()
    return True


def parts_of_host(host: str) -> Iterator[Named]:
    """The first label of a name with dots, and its domain."""
    first, dot, domain = host.partition(".")
    if dot and not is_address(host):
        yield "host", first
        yield "domain", "" if domain in COMMON_DOMAINS else domain


def parts_of_image(image: str) -> Iterator[Named]:
    """What may stand alone: the name without its tag, the registry, each folder, a tag that is no version."""
    name, _at, _digest = image.partition("@")
    *folders, last = name.split("/")
    base, _colon, tag = last.partition(":")
    whole = "/".join((*folders, base))
    yield "image", whole
    if folders and ("." in folders[0] or ":" in folders[0] or folders[0] == "localhost"):
        registry = folders.pop(0)
        yield "registry", "" if registry == "localhost" else registry
        host = re.sub(r":\d+\Z", "", registry)
        yield "registry", "" if is_address(host) or host == "localhost" else host
    yield from (("image", one) for one in (*folders, base))
    yield "tag", "" if VERSION_TAG.fullmatch(tag) else tag


def _of_node(node: Mapping[str, Any]) -> Iterator[Named]:
    for gpu in entries(node.get("gpus")):
        for tenant in entries(gpu.get("tenants")):
            yield "container", text_of(tenant, "container")
            program = text_of(tenant, "name")
            yield "program", "" if COMMON_PROGRAM.fullmatch(program) else program
    for netdev in entries(node.get("netdevs")):
        yield from (("alt", name) for name in netdev.get("altnames") or [] if not KEPT_ALTNAME.match(name))
    for neighbour in entries(node.get("lldp")):
        yield from _of_neighbour(neighbour)


def _of_neighbour(neighbour: Mapping[str, Any]) -> Iterator[Named]:
    """What a switch or another machine says of itself by LLDP."""
    system, chassis, port = (text_of(neighbour, field) for field in ("system", "chassis", "port"))
    yield "switch", system
    yield from parts_of_host(system)
    yield "switch", "" if MAC.match(chassis) else chassis
    yield "port", "" if USUAL_PORT.fullmatch(port) else port
    about = text_of(neighbour, "port_description")
    yield "port", "" if USUAL_PORT.fullmatch(about) else about


def entries(value: Any) -> Iterable[Mapping[str, Any]]:
    """The objects of a list; none of what is no list (a fact that could not be read)."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _anywhere(value: Any) -> Iterator[Named]:
    """Users whose home folder is in any text; the host's id and the rendezvous' host among NCCL's variables."""
    if isinstance(value, str):
        yield from (("user", found["user"]) for found in HOME.finditer(value) if found["user"] not in COMMON_USERS)
    elif isinstance(value, Mapping):
        yield "hostid", text_of(value, HOST_ID)
        yield from _host_or_label("host", text_of(value, RENDEZVOUS))
        for inner in value.values():
            yield from _anywhere(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _anywhere(inner)
