"""Whether this process is inside a container, and what says so. Files and variables only; no judgement.

Order matters: a Kubernetes pod also looks like its runtime, so the outermost name is asked for first. An overlay as
root is a container's, unless the machine itself has it (a diskless or live system): then this process is in the first
PID namespace (its inode is fixed, include/linux/proc_ns.h) and has process 1's very root mount, whose id every mount
namespace has for itself (/proc/PID/mountinfo, readable by any user).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from .facts import attempt, exists, is_unknown, load, read_text, unknown
from .pcie import linked

FIRST_PIDS = "pid:[4026531836]"
ROOT_MOUNT = re.compile(r"^\S+ \S+ \S+ \S+ / .*$", re.MULTILINE)
OVERLAY = "the root file system is an overlay, but no known runtime left its mark"
NAMED = {"docker": "docker", "podman": "podman", "lxc": "lxc", "lxc-libvirt": "lxc"}
CGROUPS = (
    (re.compile(r"kubepods"), "kubernetes"),
    (re.compile(r"libpod-"), "podman"),
    (re.compile(r"docker[-/][0-9a-f]{12}"), "docker"),
    (re.compile(r"/lxc/|lxc\.payload"), "lxc"),
)


def read_container(root: str = "", environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """model.fabric.Container: docker, podman, kubernetes, slurm, lxc or none, with the evidence."""
    for kind, evidence in (*_by_variable(environ), *_by_file(root), *_by_cgroup(root)):
        return {"kind": kind, "evidence": evidence}
    if _root_is_overlay(root) and not _is_the_machines(root):
        return {"kind": unknown(OVERLAY), "evidence": ""}
    return {"kind": "none", "evidence": ""}


def _by_variable(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Kubernetes gives every container its service address; Slurm names the bundle of its own containers."""
    known = (("KUBERNETES_SERVICE_HOST", "kubernetes"), ("SLURM_CONTAINER", "slurm"))
    found = [(kind, f"variable {name}") for name, kind in known if name in environ]
    named = NAMED.get(environ.get("container", ""))
    return [*found, (named, "variable container")] if named else found


def _by_file(root: str) -> list[tuple[str, str]]:
    known = (
        ("/var/run/secrets/kubernetes.io", "kubernetes"),
        ("/run/.containerenv", "podman"),
        ("/.dockerenv", "docker"),
    )
    found = [(kind, path) for path, kind in known if exists(root + path)]
    named = read_text(f"{root}/run/systemd/container")
    if not is_unknown(named) and named in NAMED:
        found.append((NAMED[named], "/run/systemd/container"))
    return found


def _by_cgroup(root: str) -> list[tuple[str, str]]:
    text = read_text(f"{root}/proc/self/cgroup")
    if is_unknown(text):
        return []
    return [(kind, "/proc/self/cgroup") for pattern, kind in CGROUPS if pattern.search(text)]


def _root_is_overlay(root: str) -> bool:
    return " - overlay " in _root_mount(root, "self")


def _is_the_machines(root: str) -> bool:
    """Whether the root mount is the machine's own; False also where that can't be told."""
    if linked(f"{root}/proc/self/ns/pid") != FIRST_PIDS:
        return False
    own, first = (_root_mount(root, process).partition(" ")[0] for process in ("self", "1"))
    return own == first


def _root_mount(root: str, process: str) -> str:
    """The line of /proc/PROCESS/mountinfo about the last mount on /, "" where there is none to be read."""
    mounts = attempt(lambda: load(f"{root}/proc/{process}/mountinfo"))
    found = [] if is_unknown(mounts) else ROOT_MOUNT.findall(mounts)
    return found[-1] if found else ""
