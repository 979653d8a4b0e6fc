"""The agent in the server's container or image: exact words for the runtime, and whole conversations in there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fabricdoc.errors import NodeError
from fabricdoc.transport import NodeSpec, ask, box, open_channels, open_some
from fabricdoc.transport.loader import box_argv
from tests.unit.transport.clients import Clients
from tests.unit.transport.test_placed import wait_gone

pytestmark = pytest.mark.lab  # whole processes with deadlines: too slow for every check

COMMON = ["run", "--rm", "-i", "--pull=never", "--network=host", "--ipc=host", "--name=fabricdoc-ab12"]
COMMON += ["--label=fabricdoc=ab12", "--ulimit=memlock=-1:-1", "--cap-add=IPC_LOCK"]
END = ["--env=A", "--env=B", "--entrypoint=python3", "--", "engine:1", "-c", "x"]


def only(monkeypatch: pytest.MonkeyPatch, *paths: str) -> None:
    monkeypatch.setattr(box.os.path, "exists", lambda path: path in paths)


@pytest.mark.parametrize(
    ("tool", "there", "middle"),
    [
        ("docker", (), []),
        ("podman", (), []),
        ("docker", ("/dev/nvidiactl",), ["--gpus=all"]),
        ("podman", ("/dev/nvidiactl",), ["--device=nvidia.com/gpu=all"]),
        ("docker", ("/dev/infiniband",), ["--device=/dev/infiniband"]),
        (
            "docker",
            ("/dev/nvidiactl", "/dev/infiniband", "/dev/gdrdrv"),
            ["--gpus=all", "--device=/dev/infiniband", "--device=/dev/gdrdrv"],
        ),
    ],
)
def test_a_container_of_an_image_gets_what_the_node_has(
    monkeypatch: pytest.MonkeyPatch, tool: str, there: tuple[str, ...], middle: list[str]
) -> None:
    only(monkeypatch, *there)
    assert box.command(tool, ["of", "engine:1", "ab12", "A,B", "-c", "x"]) == [tool, *COMMON, *middle, *END]


def test_a_plain_container_gets_the_hcas_and_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "/dev/nvidiactl", "/dev/infiniband")
    argv = box.command("docker", ["plain", "engine:1", "ab12", "A,B", "-c", "x"])
    assert argv == ["docker", *COMMON, "--device=/dev/infiniband", *END]


def test_a_running_container_is_only_entered_and_only_ours_is_removed() -> None:
    words = ["in", "serving", "ab12", "A", "-c", "x"]
    assert box.command("podman", words) == ["podman", "exec", "-i", "--env=A", "serving", "python3", "-c", "x"]
    assert box.command("docker", ["end", "engine:1", "ab12", ""]) == ["docker", "rm", "-f", "fabricdoc-ab12"]


def test_the_runtime_is_the_first_that_is_there(clients: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(clients.folder))
    assert box.runtime() == ""
    clients.write("podman", "#!/bin/sh\n")
    assert box.runtime() == "podman"
    clients.write("docker", "#!/bin/sh\n")
    assert box.runtime() == "docker"


def test_as_it_is_sent_it_says_that_there_is_no_runtime(tmp_path: Path) -> None:
    argv = box_argv(sys.executable, ("of", "engine:1", "ab12", ""))
    done = subprocess.run(argv, capture_output=True, text=True, timeout=20, env={"PATH": str(tmp_path)}, check=False)
    assert (done.returncode, done.stderr) == (box.NO_RUNTIME, "neither docker nor podman is there\n")


# what stands for the runtime: `run` takes python3 out of an image, `exec` out of a container, `rm` ends one by its name
RUNTIME = """#!/bin/sh
printf '%s\\0' "$@" >>{folder}/docker.words
printf '\\n' >>{folder}/docker.words
case "$1" in
rm) kill -9 "$(cat {folder}/$3)"; exit ;;
esac
for word in "$@"; do case "$word" in --name=*) name="${{word#--name=}}" ;; esac; done
while [ "$1" != engine:1 ] && [ "$1" != serving ]; do shift; done
[ "$1" = serving ] && shift
shift
if [ -n "$name" ]; then
  exec setsid --wait sh -c 'echo $$ >"$0"; exec "$@"' {folder}/$name {python} "$@"
fi
exec setsid --wait {python} "$@"
"""


@pytest.fixture
def docker(clients: Clients) -> Clients:
    clients.write("docker", RUNTIME.format(folder=clients.folder, python=sys.executable))
    return clients


@pytest.fixture
def agent(payload: bytes) -> bytes:
    """The tests' probe under the agent's name: only the agent is put into containers."""
    from io import BytesIO
    from zipfile import ZipFile

    from fabricdoc.transport import build_zip

    with ZipFile(BytesIO(payload)) as archive:
        sources = {name: archive.read(name).decode() for name in archive.namelist()}
    return build_zip({**sources, "probes/agent.py": sources["probes/echo.py"]})


@pytest.mark.parametrize("where", [{"image": "engine:1"}, {"container": "serving"}], ids=["image", "container"])
def test_an_agent_talks_from_inside_and_ends_with_its_input(
    docker: Clients, agent: bytes, where: dict[str, str]
) -> None:
    node = NodeSpec("n", "local", env={"LAB_VALUE": "a 'b' , c"}, **where)
    with open_channels([node], "agent", payload=agent) as channels:
        channels.send("n", {"do": "facts"})
        facts = (channels.receive(10) or ("", {}))[1]
    assert facts["env"]["LAB_VALUE"] == "a 'b' , c"
    assert wait_gone(facts["pid"])
    (words,) = docker.calls("docker")
    assert words[0] == ("run" if "image" in where else "exec")
    assert "--env=LAB_VALUE" in words
    assert not any("a 'b'" in word for word in words)


@pytest.mark.parametrize(
    ("where", "verb"), [({"image": "engine:1"}, "rm"), ({"container": "serving"}, "exec")], ids=["image", "container"]
)
def test_a_stopped_agent_is_ended_without_touching_another_container(
    docker: Clients, agent: bytes, where: dict[str, str], verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabricdoc.transport.channels.CLOSE_S", 0.3)
    with open_channels([NodeSpec("n", "local", **where)], "agent", payload=agent) as channels:
        channels.send("n", {"do": "facts"})
        pid = (channels.receive(10) or ("", {}))[1]["pid"]
        channels.send("n", {"do": "stop"})
    assert wait_gone(pid)
    first, second = docker.calls("docker")
    assert second[0] == verb
    if verb == "rm":
        name = next(word for word in first if word.startswith("--name=")).removeprefix("--name=")
        assert second == ["rm", "-f", name]


def test_a_container_that_never_starts_python_is_removed_at_the_deadline(clients: Clients, agent: bytes) -> None:
    clients.put("docker", "engine:1", '[ "$1" = rm ] && exit; exec sleep 60')
    with pytest.raises(NodeError) as caught:
        open_channels([NodeSpec("n", "local", image="engine:1")], "agent", start_deadline_s=1, payload=agent)
    assert caught.value.id == "node-timeout"
    assert [words[0] for words in clients.calls("docker")] == ["run", "rm"]


def test_an_image_that_is_not_there_is_named_with_what_to_do(clients: Clients, agent: bytes) -> None:
    clients.refuse("docker", "docker: Error response from daemon: No such image: engine:1", 125)
    with pytest.raises(NodeError) as caught:
        open_channels([NodeSpec("n", "local", image="engine:1")], "agent", payload=agent)
    assert (caught.value.id, caught.value.fix) == ("image-missing", "on that node: docker pull engine:1")


def test_a_scan_of_that_node_asks_no_runtime(clients: Clients, payload: bytes) -> None:
    clients.refuse("docker", "must not be asked", 1)
    node = NodeSpec("n", "local", image="engine:1")
    (answer,) = ask([node], "echo", {"do": "echo", "value": 1}, deadline_s=20, payload=payload)
    assert answer.message == {"event": "echo", "value": 1}
    assert os.environ["PATH"].startswith(str(clients.folder))


@pytest.mark.parametrize("where", [{"image": "engine:1"}, {"container": "serving"}], ids=["image", "container"])
def test_the_rdma_ping_runs_where_the_server_does_and_leaves_nothing(docker: Clients, where: dict[str, str]) -> None:
    """Its sources travel there, whatever python this is; what it says of verbs is that place's."""
    channels, failed = open_some([NodeSpec("n", "local", **where)], "rdma_ping")
    with channels:
        assert failed == {}
        name, said = channels.receive(20) or ("", {})
        assert (name, said["event"]) == ("n", "able")
        assert isinstance(said["reasons"], dict)
    (words,) = docker.calls("docker")
    assert words[0] == ("run" if "image" in where else "exec")
    assert not any(word.startswith("--gpus") for word in words)
