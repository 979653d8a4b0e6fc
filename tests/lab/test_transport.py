"""The transport against what a user has: a real sshd on loopback, and namespaces held by another process."""

from __future__ import annotations

import getpass
import os
import pwd
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fabricdoc.errors import NodeError
from fabricdoc.transport import NodeSpec, ask, build_zip, load_config, open_channels, parse_nodes, probe_sources

pytestmark = pytest.mark.lab

SSHD = "/usr/sbin/sshd"
ROOT = Path(__file__).parents[2]
ECHO = ROOT / "tests" / "unit" / "transport" / "echo_probe.py"
NOISE = """echo "Welcome to the cluster"
echo '{"event":"facts","pid":1}'
printf '\\036deadbeef {"event":"facts","pid":2}\\n'
echo "quota: permission denied (publickey)" >&2
printf 'no newline at the end'
"""


def echo_zip() -> bytes:
    sources = {**probe_sources(), "probes/echo.py": ECHO.read_text()}
    sources["probes/__main__.py"] = sources["probes/__main__.py"].replace("MODULES = (", 'MODULES = ("echo", ')
    return build_zip(sources)


@pytest.fixture(scope="module")
def payload() -> bytes:
    return echo_zip()


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def wait_gone(pid: int, timeout_s: float) -> bool:
    """Whether the process, no child of ours, is gone within the time."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], timeout_s)[0])
    finally:
        os.close(handle)


def keygen(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True, timeout=20)


class Sshd:
    """A real sshd on 127.0.0.1 with its own keys; `quiet` and `noisy` are its ports, the latter with a chatty shell."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.quiet, self.noisy, self.closed = free_port(), free_port(), free_port()
        for name in ("host", "other", "user", "stranger"):
            keygen(folder / name)
        shutil.copy(folder / "user.pub", folder / "authorized")
        home = folder / "home"
        home.mkdir()
        (home / ".bashrc").write_text(NOISE)
        (folder / "sshd_config").write_text(
            f"ListenAddress 127.0.0.1\nPort {self.quiet}\nPort {self.noisy}\nHostKey {folder}/host\nPidFile none\n"
            f"AuthorizedKeysFile {folder}/authorized\nUsePAM no\nStrictModes no\nPermitRootLogin yes\n"
            f"PasswordAuthentication no\nKbdInteractiveAuthentication no\nUseDNS no\nMaxStartups 100\n"
            f"Match LocalPort {self.noisy}\n  SetEnv HOME={home}\n"
        )
        host, other = ((folder / f"{name}.pub").read_text() for name in ("host", "other"))
        (folder / "known").write_text(f"good {host}changed {other}")
        self.config = folder / "ssh_config"
        self.config.write_text(self._client())
        self._process: subprocess.Popen[bytes] | None = None

    def _client(self) -> str:
        hosts = [
            f"Host {names}\n  Port {port}\n  HostKeyAlias {alias}\n  IdentityFile {self.folder}/{key}\n"
            for names, port, alias, key in (
                ("alpha beta", self.quiet, "good", "user"),
                ("chatty", self.noisy, "good", "user"),
                ("down", self.closed, "good", "user"),
                ("changed", self.quiet, "changed", "user"),
                ("unknown", self.quiet, "unknown", "user"),
                ("stranger", self.quiet, "good", "stranger"),
            )
        ]
        return "".join(hosts) + (
            f"Host *\n  HostName 127.0.0.1\n  User {getpass.getuser()}\n  IdentitiesOnly yes\n  IdentityAgent none\n"
            f"  UserKnownHostsFile {self.folder}/known\n  GlobalKnownHostsFile /dev/null\n"
            "  StrictHostKeyChecking yes\n  KexAlgorithms curve25519-sha256\n"
        )

    def node(self, name: str, **more: object) -> NodeSpec:
        return NodeSpec(name, name, ssh_config=str(self.config), **{"python": sys.executable, **more})  # type: ignore[arg-type]

    def start(self) -> None:
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        log = (self.folder / "log").open("wb")
        words = ["timeout", "-k", "2", "110", SSHD, "-D", "-e", "-f", str(self.folder / "sshd_config")]
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()
        end = time.monotonic() + 10
        while f"port {self.noisy}" not in (text := (self.folder / "log").read_text()):
            assert time.monotonic() < end and self._process.poll() is None, text
            select.select([], [], [], 0.02)

    def sockets(self) -> list[Path]:
        return [path for path in (self.folder / "run" / "fabricdoc").glob("*") if path.is_socket()]

    def hang_up(self) -> None:
        """End the shared connections, as `ssh -O exit` does."""
        for path in self.sockets():
            words = ["ssh", "-F", str(self.config), "-o", f"ControlPath={path}", "-O", "exit", "alpha"]
            subprocess.run(words, timeout=5, capture_output=True, check=False)

    def stop(self) -> None:
        self.hang_up()
        if self._process:
            self._process.terminate()
            self._process.wait(5)


@pytest.fixture(scope="module")
def sshd() -> Iterator[Sshd]:
    if not Path(SSHD).exists() or not shutil.which("ssh"):
        pytest.skip(f"needs an ssh client and {SSHD}: make deps installs both")
    if os.geteuid() == 0:
        try:
            pwd.getpwnam("sshd")
        except KeyError:
            pytest.skip("sshd as root needs the user sshd, which the package openssh-server makes")
    # a short path: the sockets of shared connections lie below it
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fd-", dir="/tmp")))
        (folder / "run").mkdir()
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("XDG_RUNTIME_DIR", str(folder / "run"))
        server = Sshd(folder)
        stack.callback(server.stop)
        server.start()
        yield server


def test_two_nodes_answer_over_one_connection_each(sshd: Sshd, payload: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRICDOC_TEST_SECRET", "do not pass on")
    value = "a 'quoted' \"value\" with \\ ! $HOME * and `ls`"
    nodes = [sshd.node("alpha", env={"LAB_VALUE": value}), sshd.node("beta")]
    answers = ask(nodes, "echo", {"do": "facts"}, deadline_s=20, payload=payload)
    assert [answer.error for answer in answers] == [None, None]
    alpha, beta = (answer.message or {} for answer in answers)
    assert alpha["env"]["LAB_VALUE"] == value
    assert "LAB_VALUE" not in beta["env"]
    for facts in (alpha, beta):
        assert "FABRICDOC_TEST_SECRET" not in facts["env"]
        assert "SSH_CONNECTION" in facts["env"]
        assert facts["isolated"]
    assert len(sshd.sockets()) == 2
    ask(nodes, "echo", {"do": "facts"}, deadline_s=20, payload=payload)
    assert len(sshd.sockets()) == 2


def test_the_names_on_the_command_line_lead_to_the_nodes(sshd: Sshd, payload: bytes, tmp_path: Path) -> None:
    file = tmp_path / "fabric.toml"
    file.write_text(
        f'[ssh]\nconfig = "{sshd.config}"\n[[node]]\nname = "one"\ntarget = "alpha"\npython = "{sys.executable}"\n'
    )
    nodes = parse_nodes([f"one,two={getpass.getuser()}@beta:{sshd.quiet}"], load_config(file))
    answers = ask(nodes, "echo", {"do": "echo", "value": 1}, deadline_s=20, payload=payload)
    assert [(answer.node.name, answer.message) for answer in answers] == [
        ("one", {"event": "echo", "value": 1}),
        ("two", {"event": "echo", "value": 1}),
    ]


def test_a_noisy_login_shell_is_not_mistaken_for_the_probe(sshd: Sshd, payload: bytes) -> None:
    if not pwd.getpwuid(os.geteuid()).pw_shell.endswith("/bash"):
        pytest.skip("the noise comes from a .bashrc, and this user's login shell is not bash")
    (answer,) = ask([sshd.node("chatty")], "echo", {"do": "facts"}, deadline_s=20, payload=payload)
    assert answer.message is not None, answer.error
    assert answer.message["pid"] > 2
    for words in ("Welcome to the cluster", '{"event":"facts","pid":1}', "deadbeef", "quota:", "no newline at the end"):
        assert words in answer.stderr


@pytest.mark.parametrize(
    ("name", "python", "id_", "words"),
    [
        ("down", sys.executable, "ssh-refused", "Connection refused"),
        ("changed", sys.executable, "ssh-host-key", "ssh-keygen -R changed"),
        ("unknown", sys.executable, "ssh-host-unknown", "ssh unknown"),
        ("stranger", sys.executable, "ssh-permission", "Permission denied"),
        ("alpha", "/nonexistent/python3", "python-missing", "/nonexistent/python3 can't be run there"),
        ("chatty", "/nonexistent/python3", "python-missing", "/nonexistent/python3 can't be run there"),
        ("alpha", "/bin/false", "start-failed", "ended with status 1"),
    ],
)
def test_each_failure_costs_its_node_alone_and_says_what_to_do(
    sshd: Sshd, payload: bytes, name: str, python: str, id_: str, words: str
) -> None:
    nodes = [sshd.node("beta"), NodeSpec("bad", name, python=python, ssh_config=str(sshd.config))]
    good, bad = ask(nodes, "echo", {"do": "echo", "value": 1}, deadline_s=20, payload=payload)
    assert good.message == {"event": "echo", "value": 1}
    assert bad.message is None
    assert bad.error is not None
    assert bad.error.id == id_
    assert bad.error.message.startswith("bad: ")
    assert words in f"{bad.error.message} {bad.error.fix}"


def test_a_host_that_never_speaks_is_unreachable(sshd: Sshd, payload: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        node = NodeSpec("silent", f"alpha:{silent.getsockname()[1]}", ssh_config=str(sshd.config))
        (answer,) = ask([node], "echo", {"do": "facts"}, deadline_s=20, payload=payload)
    assert answer.error is not None
    assert answer.error.id == "node-unreachable"
    assert answer.seconds < 10


def test_a_name_that_does_not_resolve_is_unreachable(sshd: Sshd, payload: bytes, tmp_path: Path) -> None:
    own = tmp_path / "ssh_config"
    own.write_text("")
    node = NodeSpec("typo", "no-such-host.invalid", ssh_config=str(own))
    (answer,) = ask([node], "echo", {"do": "facts"}, deadline_s=20, payload=payload)
    assert answer.error is not None
    assert answer.error.id == "node-unreachable"


def test_a_bad_ssh_configuration_is_named(sshd: Sshd, payload: bytes, tmp_path: Path) -> None:
    own = tmp_path / "ssh_config"
    own.write_text("NoSuchOption yes\n")
    (answer,) = ask([NodeSpec("n", "alpha", ssh_config=str(own))], "echo", {}, deadline_s=20, payload=payload)
    assert answer.error is not None
    assert answer.error.id == "ssh-config"


def test_a_stopped_probe_is_ended_on_its_node_at_the_deadline(sshd: Sshd, payload: bytes, tmp_path: Path) -> None:
    begun = time.monotonic()
    nodes = [sshd.node("alpha", env={"NOTE": str(tmp_path / "alpha")}), sshd.node("beta")]
    late, fine = ask(nodes, "echo", {"do": "stop-if-noted"}, deadline_s=2, payload=payload)
    assert late.error is not None
    assert (late.error.id, fine.message) == ("node-timeout", {"event": "fine"})
    assert 2 <= late.seconds < 3
    assert time.monotonic() - begun < 8
    assert wait_gone(int((tmp_path / "alpha").read_text()), 2)


def test_a_stopped_probe_is_ended_on_its_node_by_close(
    sshd: Sshd, payload: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabricdoc.transport.channels.CLOSE_S", 0.3)
    with open_channels([sshd.node("alpha")], "echo", payload=payload) as channels:
        channels.send("alpha", {"do": "facts"})
        pid = receive(channels)[1]["pid"]
        channels.send("alpha", {"do": "stop"})
    assert wait_gone(pid, 2)


def receive(channels: object, timeout_s: float = 10) -> tuple[str, dict[str, object]]:
    got = channels.receive(timeout_s)  # type: ignore[attr-defined]
    assert got is not None, "no message came"
    return got


def test_the_probe_ends_when_the_local_ssh_is_killed(sshd: Sshd, payload: bytes) -> None:
    with open_channels([sshd.node("alpha"), sshd.node("beta")], "echo", payload=payload) as channels:
        channels.broadcast({"do": "facts"})
        pids = {name: facts["pid"] for name, facts in (receive(channels), receive(channels))}
        client = channels._channels["alpha"]._process
        assert client is not None
        os.kill(client.pid, signal.SIGKILL)
        assert wait_gone(pids["alpha"], 10)
        name, farewell = receive(channels)
        assert (name, farewell["event"], farewell["status"]) == ("alpha", "closed", -9)
        channels.send("beta", {"do": "echo", "value": 2})
        assert receive(channels) == ("beta", {"event": "echo", "value": 2})
    assert wait_gone(pids["beta"], 5)


def test_a_broken_connection_is_a_lost_node(sshd: Sshd, payload: bytes) -> None:
    with open_channels([sshd.node("alpha")], "echo", payload=payload) as channels:
        channels.send("alpha", {"do": "facts"})
        pid = receive(channels)[1]["pid"]
        sshd.hang_up()
        _name, farewell = receive(channels)
        assert (farewell["event"], farewell["status"], farewell["id"]) == ("closed", 255, "node-lost")
    assert wait_gone(pid, 5)


CONTROLLER = """
import sys
from pathlib import Path
from fabricdoc.transport import NodeSpec, open_channels
payload = Path(sys.argv[1]).read_bytes()
nodes = [NodeSpec(item, item, python=sys.executable, ssh_config=sys.argv[2]) for item in sys.argv[3:]]
channels = open_channels(nodes, "echo", payload=payload)
channels.broadcast({"do": "facts"})
pids = [channels.receive(10)[1]["pid"] for _ in nodes]
sys.stdout.write(" ".join(map(str, pids)) + "\\n")
sys.stdout.flush()
while True:
    channels.receive(30)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_or_interrupted_controller_leaves_no_probe(
    sshd: Sshd, payload: bytes, tmp_path: Path, number: signal.Signals
) -> None:
    zipped = tmp_path / "payload.zip"
    zipped.write_bytes(payload)
    words = [sys.executable, "-c", CONTROLLER, str(zipped), str(sshd.config), "alpha", "local"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env) as controller:
        assert controller.stdout is not None
        pids = [int(word) for word in controller.stdout.readline().split()]
        assert len(pids) == 2
        controller.send_signal(number)
        for pid in pids:
            assert wait_gone(pid, 10)


@pytest.fixture
def inside() -> Iterator[int]:
    """The pid of a process in user, network, mount and UTS namespaces of its own."""
    script = "echo inner >/proc/sys/kernel/hostname && echo ready && exec cat"
    words = ["unshare", "--user", "--map-root-user", "--net", "--mount", "--uts", "sh", "-c", script]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stderr is not None
        if holder.stdout.readline() != b"ready\n":
            reason = holder.stderr.read().decode().strip()
            pytest.skip(f"this kernel makes no namespaces for us: {reason}")
        yield holder.pid


def namespaces(pid: int) -> dict[str, str]:
    return {kind: os.readlink(f"/proc/{pid}/ns/{kind}") for kind in ("user", "mnt", "uts", "net")}  # noqa: PTH115


def test_a_namespace_node_runs_inside_all_its_namespaces(
    inside: int, payload: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    nodes = parse_nodes([f"alpha=netns:{inside}", "here=local"], load_config())
    alpha, here = (
        answer.message or {} for answer in ask(nodes, "echo", {"do": "facts"}, deadline_s=20, payload=payload)
    )
    assert alpha["namespaces"] == namespaces(inside)
    assert here["namespaces"] == namespaces(os.getpid())
    assert (alpha["hostname"], alpha["netdevs"]) == ("inner", ["lo"])
    assert alpha["folder"] == str(tmp_path)
    assert alpha["python"] == sys.executable
    assert alpha["env"]["PYTHONPATH"] == "/somewhere"


def test_a_namespace_path_changes_the_network_only(payload: bytes) -> None:
    script = "echo ready && exec cat"
    with subprocess.Popen(
        ["unshare", "--net", "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as holder:
        assert holder.stdout is not None
        if holder.stdout.readline() != b"ready\n":
            pytest.skip("entering a network namespace by its file needs root")
        (answer,) = ask(
            [NodeSpec("alpha", f"netns:/proc/{holder.pid}/ns/net")],
            "echo",
            {"do": "facts"},
            deadline_s=20,
            payload=payload,
        )
        wanted = {**namespaces(os.getpid()), "net": namespaces(holder.pid)["net"]}
    assert answer.message is not None, answer.error
    assert answer.message["namespaces"] == wanted


def test_a_namespace_that_is_gone_is_named(payload: bytes) -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait(5)
    (answer,) = ask([NodeSpec("alpha", f"netns:{gone.pid}")], "echo", {"do": "facts"}, deadline_s=20, payload=payload)
    assert answer.error is not None
    assert answer.error.id == "netns-gone"
    assert "fabricdoc lab list" in answer.error.fix


def test_a_working_folder_that_is_not_there_becomes_the_root(
    inside: int, payload: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words = ["nsenter", "--user", "--mount", "--preserve-credentials", "-t", str(inside)]
    subprocess.run([*words, "mount", "-t", "tmpfs", "none", str(tmp_path)], check=True, timeout=10)
    (tmp_path / "only-here").mkdir()
    monkeypatch.chdir(tmp_path / "only-here")
    (answer,) = ask([NodeSpec("alpha", f"netns:{inside}")], "echo", {"do": "facts"}, deadline_s=20, payload=payload)
    assert answer.message is not None, answer.error
    assert answer.message["folder"] == "/"


@pytest.mark.parametrize("way", ["stop", "hang"])
def test_a_hanging_namespace_probe_and_its_children_end_with_close(
    inside: int, payload: bytes, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabricdoc.transport.channels.CLOSE_S", 0.3)
    with open_channels([NodeSpec("alpha", f"netns:{inside}")], "echo", payload=payload) as channels:
        channels.send("alpha", {"do": "facts"})
        channels.send("alpha", {"do": "child"})
        channels.send("alpha", {"do": way})
        pids = [receive(channels)[1]["pid"], receive(channels)[1]["pid"]]
    assert all(wait_gone(pid, 5) for pid in pids)


def test_start_failures_of_several_nodes_are_told_together(sshd: Sshd, payload: bytes) -> None:
    nodes = [sshd.node("alpha"), sshd.node("down"), sshd.node("beta", python="/nonexistent/python3")]
    with pytest.raises(NodeError, match=r"down: .*refused.*; beta: .*can't be run") as caught:
        open_channels(nodes, "echo", payload=payload)
    assert caught.value.id == "ssh-refused"
