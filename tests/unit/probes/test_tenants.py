"""Users of a GPU: names only where numbers are the machine's, containers by their cgroup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.documents import Unknown
from fabricdoc.model.gpu import Tenant
from fabricdoc.probes import tenants
from fabricdoc.probes.facts import is_unknown
from tests.sysfs import write

pytestmark = pytest.mark.unit

ID = "4f1c" * 16


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A /proc whose process numbers are the machine's."""
    write(tmp_path, {"proc/self/ns/pid": ""})
    monkeypatch.setattr(tenants, "FIRST_PID_NAMESPACE", (tmp_path / "proc/self/ns/pid").stat().st_ino)
    return tmp_path


def process(root: Path, pid: int, comm: str, cgroup: str) -> None:
    write(root, {f"proc/{pid}/comm": comm, f"proc/{pid}/cgroup": cgroup})


def named(root: Path, *said: dict[str, Any]) -> list[Tenant]:
    return [Tenant.model_validate(one) for one in tenants.named(list(said), str(root))]


def test_a_server_in_a_container_and_one_beside_it(root: Path) -> None:
    process(root, 11, "VLLM::EngineCor", f"0::/system.slice/docker-{ID}.scope")
    process(root, 12, "python3", "0::/user.slice/user-1000.slice/session-4.scope")
    served, other = named(root, {"pid": 11, "memory_bytes": 7 << 30}, {"pid": 12, "memory_bytes": {"unknown": "x"}})
    assert (served.pid, served.name, served.container, served.memory_bytes) == (11, "VLLM::EngineCor", ID, 7 << 30)
    assert (other.name, other.container, other.memory_bytes) == ("python3", None, Unknown(unknown="x"))


@pytest.mark.parametrize(
    ("cgroup", "container"),
    [
        (f"0::/system.slice/docker-{ID}.scope", ID),
        (f"12:cpu:/docker/{ID}\n0::/system.slice/containerd.service", ID),
        (f"0::/machine.slice/libpod-{ID}.scope/container", ID),
        (f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/cri-containerd-{ID}.scope", ID),
        (f"0::/kubepods/burstable/pod8d2f/{ID}", ID),
        ("0::/lxc.payload.web/system.slice", "web"),
        ("12:cpu:/lxc/web", "web"),
        ("0::/slurm/uid_1000/job_5/step_0", None),
        ("0::/", None),
        (f"0::/user.slice/{ID[:63]}", None),
        (f"0::/x{ID}", None),
        ("0::/../../../", None),
    ],
)
def test_containers_by_what_runtimes_call_their_cgroups(root: Path, cgroup: str, container: str | None) -> None:
    process(root, 5, "x", cgroup)
    assert tenants.container(5, str(root)) == container


def test_a_process_that_is_over_has_no_name(root: Path) -> None:
    (gone,) = named(root, {"pid": 99, "memory_bytes": 1})
    assert isinstance(gone.name, Unknown)
    assert "No such file" in gone.name.unknown
    assert gone.container is None


def test_numbers_of_another_namespace_name_nobody(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process(root, 11, "innocent", f"0::/docker/{ID}")
    monkeypatch.setattr(tenants, "FIRST_PID_NAMESPACE", 1)
    (one,) = named(root, {"pid": 11, "memory_bytes": 1})
    assert (one.name, one.container) == (Unknown(unknown=tenants.OTHER_NAMES), None)


def test_a_name_without_end_is_cut(root: Path) -> None:
    process(root, 7, "x" * 500, "0::/")
    assert tenants.name(7, str(root)) == "x" * tenants.MAX_NAME


def test_without_proc_nobody_is_named(tmp_path: Path) -> None:
    assert not tenants.is_first_pid_namespace(str(tmp_path))


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_of_proc_is_bounded(tmp_path_factory: pytest.TempPathFactory, comm: str, cgroup: str) -> None:
    root = tmp_path_factory.mktemp("proc")
    (root / "proc/7").mkdir(parents=True)
    (root / "proc/7/comm").write_bytes(comm.encode("utf-8", "replace"))
    (root / "proc/7/cgroup").write_bytes(cgroup.encode("utf-8", "replace"))
    name = tenants.name(7, str(root))
    assert is_unknown(name) or len(name) <= tenants.MAX_NAME
    assert len(tenants.container(7, str(root)) or "") <= 64
