"""Rights for raw sockets: sudo without a password, then a throw-away container; exact words, and whole conversations.

`sudo`, `docker` and `podman` are programs of the tests on PATH that keep the words they got.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fabricdoc.transport import Channels, NodeSpec, loader, open_some, raised
from fabricdoc.transport.channel import Process
from fabricdoc.transport.loader import raised_argv
from fabricdoc.transport.targets import Command, raised_as
from tests.unit.transport.clients import Clients

pytestmark = pytest.mark.lab  # whole processes with deadlines: too slow for every check

CONTAINER = ["run", "--rm", "-i", "--pull=never", "--network=host", "--cap-drop=ALL", "--cap-add=NET_RAW", "--user=0:0"]
CONTAINER += ["--security-opt=no-new-privileges", "--label=fabricdoc=ab12", "--entrypoint=python3", "--"]
NAMED = ["run", "--name=fabricdoc-ab12", *CONTAINER[1:]]
YES = "#!/bin/sh\nprintf '%s\\0' \"$@\" >>{log}\nprintf '\\n' >>{log}\n{body}\n"
TRIED = 'case "$*" in *"socket.socket("*) exit 0 ;; esac'
SUDO = f'shift 2\n{TRIED}\nexec "$@"'
NO_PASSWORD = "echo 'sudo: a password is required' >&2; exit 1"
IMAGE = 'case "$1" in image) exit 0 ;; container) echo sha256:0123; exit 0 ;; esac'
RUN = f'while [ "$1" != -- ]; do shift; done\nshift 2\n{TRIED}\nexec {sys.executable} "$@"'
HERE = NodeSpec("n", "local")


def put(clients: Clients, name: str, body: str) -> None:
    clients.write(name, YES.format(log=clients.folder / f"{name}.words", body=body))


def run(folder: Path, *words: str) -> tuple[int, str]:
    """The program as a node gets it, with only the tests' programs and the system's on PATH."""
    argv = raised_argv(sys.executable, ("run", *words))
    env = {"PATH": f"{folder}:/usr/bin:/bin"}
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, env=env, check=False)
    return done.returncode, (done.stdout + done.stderr).strip()


def test_a_user_whom_sudo_lets_becomes_root_by_it_and_no_container_is_asked(clients: Clients) -> None:
    put(clients, "sudo", SUDO)
    put(clients, "docker", "exit 9")
    assert run(clients.folder, "engine:1", "", "ab12", "-c", "print(6*7)", "more") == (0, "42")
    first, second = clients.calls("sudo")
    assert first == ["-n", "--", sys.executable, "-I", "-c", raised.TRY]
    assert second == ["-n", "--", sys.executable, "-c", "print(6*7)", "more"]
    assert not (clients.folder / "docker.words").exists()


def test_a_password_is_never_asked_for_and_then_the_image_is_used(clients: Clients) -> None:
    put(clients, "sudo", NO_PASSWORD)
    put(clients, "docker", f"{IMAGE}\n{RUN}")
    assert run(clients.folder, "engine:1", "", "ab12", "-c", "print(6*7)", "more") == (0, "42")
    assert [call[:2] for call in clients.calls("sudo")] == [["-n", "--"]]
    look, trial, probe = clients.calls("docker")
    assert look == ["image", "inspect", "--format={{.Id}}", "--", "engine:1"]
    assert trial == [*CONTAINER, "engine:1", "-I", "-c", raised.TRY]
    assert probe == [*NAMED, "engine:1", "-c", "print(6*7)", "more"]


def test_of_a_running_container_only_its_image_is_used(clients: Clients) -> None:
    put(clients, "podman", f"{IMAGE}\n{RUN}")
    put(clients, "sudo", NO_PASSWORD)
    put(clients, "docker", "exit 1")
    assert run(clients.folder, "", "serving", "ab12", "-c", "print(6*7)", "more") == (0, "42")
    look, *started = clients.calls("podman")
    assert look == ["container", "inspect", "--format={{.Image}}", "--", "serving"]
    assert [call[:-3] for call in started] == [[*CONTAINER, "sha256:0123"], [*NAMED, "sha256:0123"]]
    assert [call[:2] for call in clients.calls("docker")] == [["container", "inspect"]]


def test_an_image_that_is_not_there_is_not_pulled(clients: Clients) -> None:
    put(clients, "sudo", NO_PASSWORD)
    put(clients, "docker", "exit 1")
    status, said = run(clients.folder, "engine:1", "", "ab12", "-c", "x")
    assert (status, said) == (raised.NO_WAY, "sudo: a password is required")
    assert [call[:2] for call in clients.calls("docker")] == [["image", "inspect"]]


def test_without_a_named_image_no_runtime_is_asked(clients: Clients) -> None:
    put(clients, "sudo", NO_PASSWORD)
    put(clients, "docker", "exit 0")
    assert run(clients.folder, "", "", "ab12", "-c", "x")[0] == raised.NO_WAY
    assert not (clients.folder / "docker.words").exists()


def test_each_way_that_fails_is_told_in_its_own_words(clients: Clients) -> None:
    put(clients, "sudo", "echo a lecture; echo '[Errno 1] Operation not permitted' >&2; exit 1")
    put(clients, "docker", f"{IMAGE}\necho 'exec: \"python3\": not found' >&2; exit 127")
    status, said = run(clients.folder, "engine:1", "", "ab12", "-c", "x")
    assert status == raised.NO_WAY
    assert said == 'sudo: [Errno 1] Operation not permitted; docker: exec: "python3": not found'


def test_a_sudo_that_hangs_is_left_at_its_deadline(clients: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    put(clients, "sudo", "exec sleep 60")
    assert raised.said_by([str(clients.folder / "sudo")], 0.2) == (False, "no answer within 0.2 s")


def test_a_late_command_of_another_user_can_not_be_killed_and_that_is_no_error() -> None:
    class Roots:
        def kill(self) -> None:
            raise PermissionError(1, "Operation not permitted")

    raised.end(Roots())  # type: ignore[arg-type]


def test_neither_sudo_nor_runtime_is_said_plainly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert list(raised.ways("engine:1", "", "ab12")) == []
    assert raised.said_by(["no-such-program"], 1.0) == (False, "No such file or directory")


def test_the_trial_opens_a_raw_socket_and_does_nothing_else() -> None:
    done = subprocess.run([sys.executable, "-I", "-c", raised.TRY], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) in ((0, ""), (1, done.stderr))
    assert done.returncode == 0 or done.stderr.endswith("PermissionError: [Errno 1] Operation not permitted\n")
    assert "send" not in raised.TRY
    assert "bind" not in raised.TRY


def test_the_status_is_known_to_who_reads_it() -> None:
    assert loader.NO_RAW == raised.NO_WAY


def test_the_words_of_a_node_are_its_image_its_container_and_a_label_of_its_own() -> None:
    node = NodeSpec("n", "local", python="/opt/python3", image="engine:1", container="serving")
    (first, ending), (second, _) = raised_as(node), raised_as(node)
    assert first[:3] == ("/opt/python3", "-I", "-c")
    assert first[4:7] == ("run", "engine:1", "serving")
    assert ending == (*first[:4], "end", *first[5:])
    assert first[7] != second[7]


def test_what_was_started_is_ended_under_sudo_and_by_the_containers_own_name(clients: Clients) -> None:
    put(clients, "sudo", SUDO)
    put(clients, "docker", "exit 1")
    put(clients, "podman", "exit 0")
    argv = raised_argv(sys.executable, ("end", "engine:1", "", "ab12", "-I", "-c", "print(6*7)", "7"))
    env = {"PATH": f"{clients.folder}:/usr/bin:/bin"}
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, env=env, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert clients.calls("sudo") == [["-n", "--", sys.executable, "-I", "-c", "print(6*7)", "7"]]
    assert clients.calls("docker") == clients.calls("podman") == [["rm", "-f", "fabricdoc-ab12"]]


def test_without_a_named_image_no_container_is_removed(clients: Clients) -> None:
    put(clients, "docker", "exit 0")
    put(clients, "sudo", NO_PASSWORD)
    argv = raised_argv(sys.executable, ("end", "", "", "ab12", "-I", "-c", "x"))
    env = {"PATH": f"{clients.folder}:/usr/bin:/bin"}
    assert subprocess.run(argv, timeout=30, env=env, check=False).returncode == 0
    assert not (clients.folder / "docker.words").exists()


def test_a_group_that_is_roots_can_not_be_killed_and_that_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process(Command("local", (sys.executable, "-c", "input()"), dict(os.environ)))
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "killpg", lambda *_words: (_ for _ in ()).throw(PermissionError(1, "not permitted")))
            process.kill()
        assert not process.has_exited()
    finally:
        process.kill()
        process.leave()


def start(node: NodeSpec, **words: bool) -> tuple[Channels, dict[str, str]]:
    channels, failed = open_some([node], "beacon", **words)
    return channels, {name: str(error) for name, error in failed.items()}


def test_a_probe_starts_with_those_rights_and_ends_with_its_input(clients: Clients) -> None:
    put(clients, "sudo", SUDO)
    channels, failed = start(HERE, raised=True)
    with channels:
        assert (channels.names, failed) == (("n",), {})
        channels.send("n", {"do": "listen", "node": "n", "nonce": "00" * 8, "key": "00", "ports": []})
        assert (channels.receive(10) or ("", {}))[1]["event"] == "ready"
    assert len(clients.calls("sudo")) == 2


def test_a_node_without_a_way_is_named_and_no_exception(clients: Clients) -> None:
    put(clients, "sudo", NO_PASSWORD)
    channels, failed = start(HERE, raised=True)
    with channels:
        assert channels.names == ()
    assert failed == {"n": "n: raw sockets are not allowed (sudo: a password is required)"}


def test_of_several_nodes_one_that_does_not_start_costs_only_itself() -> None:
    bad = NodeSpec("bad", "local", python="/no/such/python")
    channels, failed = open_some([bad, HERE], "beacon")
    with channels:
        assert channels.names == ("n",)
    assert [(name, error.id) for name, error in failed.items()] == [("bad", "python-missing")]


def test_a_node_that_never_starts_is_given_up_and_leaves_no_process(tmp_path: Path) -> None:
    """A killed process that is not waited for would stay as a zombie."""
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    before = children()
    channels, failed = open_some([NodeSpec("slow", "local", python=str(slow)), HERE], "beacon", start_deadline_s=1.5)
    with channels:
        assert channels.names == ("n",)
        assert failed["slow"].id == "node-timeout"
        assert len(children() - before) == 1, "the one that runs"
    assert children() == before


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_a_stopped_probe_that_is_roots_is_ended_by_the_sudo_that_made_it_so(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On this machine, where no ssh stands between: the user may not signal what sudo started."""
    put(clients, "sudo", SUDO)
    monkeypatch.setattr("fabricdoc.transport.channels.CLOSE_S", 0.3)
    channels, failed = open_some([HERE], "beacon", raised=True)
    (pid,) = (int(child) for child in children())
    real = os.killpg

    def refuse(group: int, number: int) -> None:
        if group == pid:
            raise PermissionError(1, "Operation not permitted")
        real(group, number)

    monkeypatch.setattr(os, "killpg", refuse)
    with channels:
        assert failed == {}
        os.kill(pid, signal.SIGSTOP)
    assert str(pid) not in children(), "ended and waited for"
    ender = clients.calls("sudo")[-1]
    assert ender[:3] == ["-n", "--", sys.executable]
    assert str(pid) in ender


def test_a_container_that_never_starts_python_is_removed_by_its_name(clients: Clients) -> None:
    put(clients, "sudo", NO_PASSWORD)
    put(clients, "docker", f'{IMAGE}\n[ "$1" = rm ] && exit 0\n{TRIED}\nexec sleep 60')
    channels, failed = open_some(
        [NodeSpec("n", "local", image="engine:1")], "beacon", start_deadline_s=2.0, raised=True
    )
    channels.close()
    assert failed["n"].id == "node-timeout"
    started, removed = clients.calls("docker")[-2:]
    name = next(word for word in started if word.startswith("--name=")).removeprefix("--name=")
    assert removed == ["rm", "-f", name]
