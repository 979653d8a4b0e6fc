"""What the delivered probe tells of real processes of this machine, and of trees that never were."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.model.delivery import Arrival
from fabricdoc.probes import delivered, runtimes
from tests.sysfs import write

pytestmark = pytest.mark.unit

CHILD = "import sys; print('up', flush=True); sys.stdin.read()"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}])"


@pytest.fixture
def server() -> Iterator[subprocess.Popen[str]]:
    """A process with a child, both with NCCL variables and a secret."""
    env = {"NCCL_IB_HCA": "=a,b", "MY_OWN": "1", "HF_TOKEN": "hidden", "NCCL_API_KEY": "hidden"}
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    yield process
    process.communicate(timeout=10)


def look(**request: Any) -> dict[str, Any]:
    return delivered.look({"do": "look", **request})


def test_a_process_and_its_children_with_their_first_environment(server: subprocess.Popen[str]) -> None:
    found = look(pids=[server.pid], names=["MY_OWN", "HF_TOKEN", "NCCL_API_KEY"])
    parent, child = found["processes"]
    assert (parent["pid"], child["parent"]) == (server.pid, server.pid)
    assert child["environ"] == {"MY_OWN": "1", "NCCL_IB_HCA": "=a,b"}
    assert child["library"] is None
    assert found["unread"] == ""
    for one in found["processes"]:
        Arrival.model_validate({"node": "x", **{key: one[key] for key in ("pid", "library", "environ", "files")}})


def test_a_name_that_was_not_asked_for_stays_there(server: subprocess.Popen[str]) -> None:
    assert "MY_OWN" not in look(pids=[server.pid])["processes"][0]["environ"]


@pytest.mark.parametrize("name", ["HF_TOKEN", "PGPASSWORD", "DATABASE_URL", "my_cred", "SSL_CERT", "X_AUTH_X"])
def test_a_preset_from_elsewhere_fetches_no_secret(name: str, tmp_path: Path) -> None:
    root = tree(tmp_path, p11=(1, "w", f"{name}=hidden\0NCCL_NET=IB\0".encode(), ""))
    assert delivered.environ(11, frozenset([name, "NCCL_NET"]), root) == {"NCCL_NET": "IB"}


def test_a_process_that_is_not_there() -> None:
    assert look(pids=[1 << 22])["unread"] == f"no such process: {1 << 22}"


def tree(root: Path, **processes: tuple[int, str, bytes, str]) -> str:
    """Made-up processes: pNUMBER = (parent, name, environ, maps)."""
    for name, (parent, comm, environ, maps) in processes.items():
        folder = f"proc/{name.removeprefix('p')}"
        write(root, {f"{folder}/stat": f"1 ({comm}) S {parent} 0", f"{folder}/comm": comm, f"{folder}/maps": maps})
        (root / folder / "environ").write_bytes(environ)
    return str(root)


LOADED = "7f0-7f1 r-xp 0 08:01 12 /opt/nccl/lib/libnccl.so.2.30.7\n"


def test_find_looks_for_what_has_nccl_loaded_and_its_children(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        p10=(1, "bash", b"", ""),
        p11=(10, "VLLM::Worker", b"NCCL_NET=IB\0", LOADED),
        p12=(11, "helper", b"NCCL_NET=IB\0", ""),
        p13=(1, "other", b"", ""),
    )
    found = delivered.look({"find": True}, root)
    assert [one["pid"] for one in found["processes"]] == [11, 12]
    assert found["processes"][0]["library"] == "/opt/nccl/lib/libnccl.so.2.30.7"
    assert delivered.look({"find": True}, str(tmp_path / "empty"))["unread"] == "no process has NCCL loaded"


def test_a_library_that_was_replaced_on_disk_still_counts(tmp_path: Path) -> None:
    root = tree(tmp_path, p11=(1, "w", b"", LOADED.replace("\n", " (deleted)\n")))
    assert delivered.library(11, root) == "/opt/nccl/lib/libnccl.so.2.30.7"


def test_a_name_that_tries_to_be_a_stat_line(tmp_path: Path) -> None:
    root = tree(tmp_path, p11=(10, "a) S 1 (b", b"", ""))
    assert delivered.parents(root) == {11: 10}


def test_two_of_one_name_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    root = tree(tmp_path, p11=(1, "w", b"NCCL_NET=IB\0NCCL_NET=Socket\0nonsense\0NCCL_X=\xff\0=\0", ""))
    found = delivered.environ(11, frozenset(), root)
    assert found["NCCL_NET"] == "IB"
    assert found["NCCL_X"] == "?"


def test_nccls_files_are_those_of_the_processes_own_file_system(tmp_path: Path) -> None:
    named = b"NCCL_CONF_FILE=/x.conf\0HOME=/home/me\0"
    root = tree(tmp_path, p11=(1, "w", b"HOME=/home/me\0", ""), p12=(1, "w", named, ""))
    for pid in (11, 12):
        write(
            tmp_path,
            {
                f"proc/{pid}/root/etc/nccl.conf": "NCCL_NET=IB\nGLOO_X=1\n",
                f"proc/{pid}/root/home/me/.nccl.conf": "NCCL_NET=Socket\n#NCCL_X=1\n",
                f"proc/{pid}/root/x.conf": "NCCL_Y=2",
            },
        )
    assert [one["path"] for one in delivered.files(11, root)] == ["/home/me/.nccl.conf", "/etc/nccl.conf"]
    assert delivered.files(11, root)[0]["values"] == {"NCCL_NET": "Socket"}
    assert [one["path"] for one in delivered.files(12, root)] == ["/x.conf", "/etc/nccl.conf"]


def test_a_relative_conf_file_is_told(tmp_path: Path) -> None:
    root = tree(tmp_path, p11=(1, "w", b"NCCL_CONF_FILE=x.conf\0", ""))
    assert "not absolute" in delivered.files(11, root)["unknown"]


def test_what_may_not_be_read_is_a_reason(tmp_path: Path) -> None:
    root = tree(tmp_path, p11=(1, "w", b"", ""))
    for name in ("environ", "maps"):
        (tmp_path / "proc/11" / name).unlink()
    one = delivered.process(11, 1, frozenset(), root)
    assert all("unknown" in one[key] for key in ("environ", "library", "files"))


@pytest.mark.parametrize(
    ("said", "unread"),
    [
        ({"problem": "no docker here"}, "no container vllm: no docker here"),
        ({"pid": 0}, "container vllm is not running"),
    ],
)
def test_a_container_that_is_not_there(monkeypatch: pytest.MonkeyPatch, said: dict[str, Any], unread: str) -> None:
    monkeypatch.setattr(runtimes, "inspect", lambda _name, _root: said)
    assert look(container="vllm")["unread"] == unread


def test_a_container_is_looked_into_by_its_first_process(
    monkeypatch: pytest.MonkeyPatch, server: subprocess.Popen[str]
) -> None:
    monkeypatch.setattr(runtimes, "inspect", lambda _name, _root: {"pid": server.pid})
    assert look(container="vllm")["processes"][0]["pid"] == server.pid


def test_a_circle_of_parents_ends(tmp_path: Path) -> None:
    assert delivered.family([1], {1: 2, 2: 1, 3: 2}) == [1, 2, 3]
    assert len(delivered.family([1], dict.fromkeys(range(2, 5000), 1))) <= delivered.MAX_PROCESSES


def test_it_leaves_itself_out() -> None:
    assert os.getpid() not in [one["pid"] for one in look(pids=[os.getpid()])["processes"]]


class Line:
    """A wire that holds one request and keeps the answers."""

    def __init__(self, request: dict[str, Any] | None) -> None:
        self.request, self.said = request, list[dict[str, Any]]()

    def read(self, _timeout_s: float) -> dict[str, Any] | None:
        return self.request

    def write(self, message: dict[str, Any]) -> None:
        self.said.append(message)


@pytest.mark.parametrize(("request_", "status"), [(None, 1), ({"do": "scan"}, 2), ({"do": "look", "pids": []}, 0)])
def test_one_request_one_answer(request_: dict[str, Any] | None, status: int) -> None:
    line = Line(request_)
    assert delivered.main(line) == status  # type: ignore[arg-type]
    assert len(line.said) == (1 if status != 1 else 0)
