"""Which container this is, by variables, files and cgroups, in that order."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Container
from fabricdoc.probes.container import read_container
from tests.sysfs import write

pytestmark = pytest.mark.unit

HOST = {
    "proc/self/cgroup": "0::/user.slice/user-0.slice/session-1.scope",
    "proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/sda rw",
}
ID = "0123456789abcdef"


def read(root: Path, files: dict[str, str], environ: dict[str, str] | None = None) -> Container:
    write(root, HOST | files)
    return Container.model_validate(read_container(str(root), environ or {}))


def test_a_host_is_none(tmp_path: Path) -> None:
    assert read(tmp_path, {}) == Container(kind="none")


@pytest.mark.parametrize(
    ("files", "environ", "kind", "evidence"),
    [
        ({".dockerenv": ""}, {}, "docker", "/.dockerenv"),
        ({"run/.containerenv": ""}, {}, "podman", "/run/.containerenv"),
        ({"run/systemd/container": "lxc"}, {}, "lxc", "/run/systemd/container"),
        ({}, {"container": "lxc"}, "lxc", "variable container"),
        ({}, {"SLURM_CONTAINER": "/bundle"}, "slurm", "variable SLURM_CONTAINER"),
        ({".dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes", "variable KUBERNETES_SERVICE_HOST"),
        ({"var/run/secrets/kubernetes.io/x": "", ".dockerenv": ""}, {}, "kubernetes", "/var/run/secrets/kubernetes.io"),
        ({"proc/self/cgroup": f"0::/kubepods/burstable/pod1/docker-{ID}.scope"}, {}, "kubernetes", "/proc/self/cgroup"),
        ({"proc/self/cgroup": f"8:pids:/docker/{ID}"}, {}, "docker", "/proc/self/cgroup"),
        ({"proc/self/cgroup": f"0::/system.slice/docker-{ID}.scope"}, {}, "docker", "/proc/self/cgroup"),
        ({"proc/self/cgroup": f"0::/machine.slice/libpod-{ID}.scope"}, {}, "podman", "/proc/self/cgroup"),
        ({"proc/self/cgroup": "0::/lxc.payload.box"}, {}, "lxc", "/proc/self/cgroup"),
    ],
)
def test_each_runtime_by_its_mark(
    tmp_path: Path, files: dict[str, str], environ: dict[str, str], kind: str, evidence: str
) -> None:
    assert read(tmp_path, files, environ) == Container(kind=kind, evidence=evidence)


@pytest.mark.parametrize(
    ("files", "environ"),
    [
        ({"proc/self/cgroup": "0::/system.slice/docker.service"}, {}),
        ({"run/systemd/container": "systemd-nspawn"}, {}),
        ({}, {"SLURM_JOB_ID": "1", "container": "oci"}),
    ],
)
def test_what_only_looks_like_a_container_is_none(
    tmp_path: Path, files: dict[str, str], environ: dict[str, str]
) -> None:
    assert read(tmp_path, files, environ).kind == "none"


OVERLAY = "{} 22 0:27 / / rw,relatime shared:1 - overlay overlay rw,lowerdir=/x"


def test_an_overlay_root_without_a_mark_is_unknown(tmp_path: Path) -> None:
    found = read(tmp_path, {"proc/self/mountinfo": OVERLAY.format(30)})
    assert isinstance(found.kind, Unknown)
    below = "1 0 8:1 / / rw - ext4 /dev/sda rw\n31 1 0:28 / /var/x rw - overlay overlay rw"
    assert read(tmp_path, {"proc/self/mountinfo": below}).kind == "none"


def test_of_two_mounts_on_the_root_the_upper_one_counts(tmp_path: Path) -> None:
    under = "1 1 0:2 / / rw - rootfs rootfs rw\n"
    assert isinstance(read(tmp_path, {"proc/self/mountinfo": under + OVERLAY.format(30)}).kind, Unknown)
    over = OVERLAY.format(30) + "\n40 30 8:1 / / rw - ext4 /dev/sda rw"
    assert read(tmp_path, {"proc/self/mountinfo": over}).kind == "none"


def test_an_overlay_among_very_many_mounts_is_seen(tmp_path: Path) -> None:
    mounts = [OVERLAY.format(30), *(f"{at} 30 0:{at} / /m/{at} rw - tmpfs tmpfs rw" for at in range(31, 400))]
    assert isinstance(read(tmp_path, {"proc/self/mountinfo": "\n".join(mounts)}).kind, Unknown)


FIRST, OTHER = "pid:[4026531836]", "pid:[4026532500]"


@pytest.mark.parametrize(
    ("pids", "first", "kind"),
    [
        (FIRST, OVERLAY.format(30), "none"),  # a diskless machine: its first process has the very mount
        (FIRST, OVERLAY.format(31), None),  # a mount namespace of its own, with the machine's PIDs
        (FIRST, "30 0 8:1 / /mnt rw - ext4 /dev/sda rw", None),
        (FIRST, "", None),  # not to be read: it is not ours to say
        (OTHER, OVERLAY.format(30), None),  # process 1 is the container's own
    ],
)
def test_an_overlay_root_is_the_machines_own_where_process_1_has_it(
    tmp_path: Path, pids: str, first: str, kind: str | None
) -> None:
    (tmp_path / "proc/self/ns").mkdir(parents=True)
    (tmp_path / "proc/self/ns/pid").symlink_to(pids)
    files = {"proc/self/mountinfo": OVERLAY.format(30), **({"proc/1/mountinfo": first} if first else {})}
    found = read(tmp_path, files)
    assert found.kind == kind if kind else isinstance(found.kind, Unknown)


def test_an_unreadable_tree_is_none(tmp_path: Path) -> None:
    assert read_container(str(tmp_path), {}) == {"kind": "none", "evidence": ""}
