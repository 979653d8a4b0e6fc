"""The settings probe: communication variables of a process, a container or a file, and who a process is."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.probes import runtimes, settings, tenants
from tests.sysfs import write

pytestmark = pytest.mark.unit

ID = "4f1c" * 16


def environ(root: Path, pid: int, *lines: str) -> None:
    write(root, {f"proc/{pid}/comm": "python3"})
    (root / f"proc/{pid}/environ").write_bytes("\0".join(lines).encode() + b"\0")


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("NCCL_IB_HCA", True),
        ("NCCL_IB_PKEY", True),
        ("GLOO_SOCKET_IFNAME", True),
        ("UCX_NET_DEVICES", True),
        ("TORCH_NCCL_BLOCKING_WAIT", True),
        ("OMP_NUM_THREADS", True),
        ("LD_PRELOAD", True),
        ("HF_TOKEN", False),
        ("NCCL_SECRET", False),
        ("OPENAI_API_KEY", False),
        ("PATH", False),
        ("LD_PRELOAD_X", False),
        ("NCCL_" + "X" * 300, False),
        ("", False),
    ],
)
def test_what_leaves_the_node(name: str, taken: bool) -> None:
    assert settings.is_taken(name) is taken


def test_a_process_with_its_name(tmp_path: Path) -> None:
    environ(tmp_path, 7, "NCCL_IB_HCA==mlx5_0", "HF_TOKEN=secret", "NCCL_ALGO=ring;allreduce:tree", "broken")
    said = settings.of_process(7, str(tmp_path))
    assert said == {"values": {"NCCL_IB_HCA": "=mlx5_0", "NCCL_ALGO": "ring;allreduce:tree"}, "who": "python3 (pid 7)"}


def test_a_process_that_is_not_there_or_shows_nothing(tmp_path: Path) -> None:
    assert settings.of_process(7, str(tmp_path)) == {"problem": "no process 7 runs there"}
    write(tmp_path, {"proc/2/comm": "kthreadd"})
    (tmp_path / "proc/2/environ").write_bytes(b"")
    assert "shows no environment" in settings.of_process(2, str(tmp_path))["problem"]


def test_one_that_may_not_be_read_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(path: str, limit: int) -> bytes:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(settings, "_bytes", refuse)
    said = settings.of_process(7, str(tmp_path))
    assert said["denied"] is True
    assert "Permission denied" in said["problem"]


def test_a_huge_environment_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "MAX_ENVIRON", 4096)
    environ(tmp_path, 7, "NCCL_PROTO=LL", *(f"X{n}=y" for n in range(9999)), "NCCL_ALGO=ring")
    assert settings.of_process(7, str(tmp_path))["values"] == {"NCCL_PROTO": "LL"}
    monkeypatch.setattr(settings, "MAX_ENVIRON", 1 << 20)
    environ(tmp_path, 8, "NCCL_IB_HCA=" + "x" * 9999)
    assert len(settings.of_process(8, str(tmp_path))["values"]["NCCL_IB_HCA"]) == settings.MAX_VALUE


def test_a_real_process() -> None:
    env = {"NCCL_PROTO": "LL", "HF_TOKEN": "x", "PATH": os.environ["PATH"]}
    code = "import sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()  # the kernel shows a process's environment a moment after it was started
        said = settings.answer({"do": "read", "kind": "pid", "value": str(child.pid)})
        assert child.stdin is not None
        child.stdin.close()
    assert said["values"] == {"NCCL_PROTO": "LL"}
    assert f"(pid {child.pid})" in said["who"]


def test_a_file_of_settings(tmp_path: Path) -> None:
    file = tmp_path / "serve.env"
    file.write_text("# c\nexport NCCL_ALGO='ring'\nHF_TOKEN=x\nNCCL_IB_HCA==mlx5_0\r\n")
    said = settings.of_file(str(file))
    assert said["values"]["NCCL_ALGO"] == "'ring'"
    assert said["values"]["NCCL_IB_HCA"].startswith("=mlx5_0")
    assert set(said["values"]) == {"NCCL_ALGO", "NCCL_IB_HCA"}


def test_files_that_are_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert settings.of_file(str(tmp_path / "pipe"))["problem"].endswith("not a regular file")
    gone = settings.of_file(str(tmp_path / "gone"))
    assert gone["missing"] is True
    assert "problem" in settings.of_file(str(tmp_path))
    assert "problem" in settings.of_file("a\0b")


def test_a_container(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"runtime": "docker", "id": ID, "name": "vllm", "pid": 7, "environ": ["NCCL_PROTO=LL", "HF_TOKEN=x", "bad"]}
    monkeypatch.setattr(runtimes, "inspect", lambda name, root="": found)
    assert settings.of_container("vllm") == {"values": {"NCCL_PROTO": "LL"}, "who": "docker container vllm"}
    monkeypatch.setattr(runtimes, "inspect", lambda name, root="": {"problem": "no docker here"})
    assert settings.of_container("vllm") == {"problem": "no container vllm: no docker here"}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A /proc whose process numbers are the machine's."""
    write(tmp_path, {"proc/self/ns/pid": ""})
    monkeypatch.setattr(tenants, "FIRST_PID_NAMESPACE", (tmp_path / "proc/self/ns/pid").stat().st_ino)
    return tmp_path


def who(root: Path, pid: int, cgroup: str) -> dict[str, Any]:
    write(root, {f"proc/{pid}/comm": "VLLM::EngineCor", f"proc/{pid}/cgroup": cgroup})
    return settings.who(pid, str(root))


def test_who_a_process_is(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes, "inspect", lambda name, root="": {"runtime": "docker", "name": "vllm", "environ": []})
    assert who(root, 11, f"0::/system.slice/docker-{ID}.scope") == {
        "pid": 11,
        "name": "VLLM::EngineCor",
        "container": "vllm",
        "runtime": "docker",
        "unit": None,
    }
    assert who(root, 12, "0::/system.slice/vllm@head.service")["unit"] == "vllm@head.service"
    assert who(root, 13, "0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.scope")["unit"] is None
    assert who(root, 14, "0::/user.slice/user-1000.slice/session-4.scope")["unit"] is None


def test_a_container_no_runtime_knows_keeps_its_id(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes, "inspect", lambda name, root="": {"problem": "no docker here"})
    said = who(root, 11, f"0::/kubepods/burstable/pod8d2f/{ID}")
    assert (said["container"], said["runtime"]) == (ID, None)


def test_in_another_pid_namespace_nobody_is_named(tmp_path: Path) -> None:
    write(tmp_path, {"proc/self/ns/pid": "", "proc/11/comm": "python3"})
    assert settings.who(11, str(tmp_path)) == {"pid": 11, "name": "", "container": None, "unit": None, "runtime": None}


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"do": "kill"},
        {"do": "read"},
        {"do": "read", "kind": "pid", "value": "x"},
        {"do": "who"},
        {"do": "who", "pids": ["x"]},
    ],
)
def test_what_is_no_request(request_: dict[str, Any]) -> None:
    with pytest.raises((KeyError, ValueError, TypeError)):
        settings.answer(request_)


@given(st.binary(max_size=400))
def test_any_bytes_of_an_environment_give_clean_text(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    root = tmp_path_factory.mktemp("proc")
    write(root, {"proc/7/comm": "x"})
    (root / "proc/7/environ").write_bytes(data)
    said = settings.of_process(7, str(root))
    assert all(settings.is_taken(name) for name in said.get("values", {}))
    str(said).encode("utf-8")


PROGRAM = """#!/bin/sh
echo "$@" > {log}
printf '%s' '{said}'
exit {status}
"""


def program(root: Path, name: str, said: str, status: int = 0) -> Path:
    path = root / "usr/bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PROGRAM.format(log=root / "argv", said=said, status=status))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


INSPECTED = f'[{{"Id": "{ID}", "Name": "/vllm", "State": {{"Pid": 7}}, "Config": {{"Env": ["NCCL_PROTO=LL", 3]}}}}]'


def test_docker_is_asked_and_then_podman(tmp_path: Path) -> None:
    program(tmp_path, "podman", INSPECTED)
    found = runtimes.inspect("vllm", str(tmp_path))
    assert found == {"runtime": "podman", "id": ID, "name": "vllm", "pid": 7, "environ": ["NCCL_PROTO=LL"]}
    assert (tmp_path / "argv").read_text().split() == ["container", "inspect", "--", "vllm"]
    program(tmp_path, "docker", INSPECTED)
    assert runtimes.inspect("vllm", str(tmp_path))["runtime"] == "docker"


def test_a_container_nobody_knows_has_each_runtimes_words(tmp_path: Path) -> None:
    path = program(tmp_path, "docker", "", 1)
    path.write_text("#!/bin/sh\necho 'Error: No such container: vllm' >&2\nexit 1\n")
    assert runtimes.inspect("vllm", str(tmp_path)) == {
        "problem": "docker: Error: No such container: vllm; no podman here"
    }


@pytest.mark.parametrize("name", ["", "-x", "--help", "a b", "a/b", "x" * 200])
def test_what_is_no_name_is_asked_of_nobody(tmp_path: Path, name: str) -> None:
    program(tmp_path, "docker", INSPECTED)
    assert runtimes.inspect(name, str(tmp_path)) == {"problem": "no name of a container"}
    assert not (tmp_path / "argv").exists()


def test_a_runtime_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes, "LIMIT_S", 0.2)
    path = program(tmp_path, "docker", "")
    path.write_text("#!/bin/sh\nexec sleep 60\n")
    assert "gave no answer within 0.2 s" in runtimes.inspect("vllm", str(tmp_path))["problem"]


@pytest.mark.parametrize(
    "said", [b"", b"[]", b"{}", b"3", b"[3]", b'[{"Id": null}]', b'[{"Id": "x", "Config": 3}]', b"[" * 9999, b"\xff"]
)
def test_nonsense_of_a_runtime_is_no_container(said: bytes) -> None:
    found = runtimes.read(said)
    assert found is None or found["environ"] == []
