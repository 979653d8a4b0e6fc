"""What the writers write, read back by the real readers this machine has: shells, the docker client, systemd."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import UsageError
from fabricdoc.export import FORMATS, render
from fabricdoc.model.preset import Line, NodePreset, Preset

pytestmark = pytest.mark.unit

ALGO = "ring;allreduce:tree"
HARD = {
    "NCCL_NET": "IB",
    "NCCL_IB_HCA": "=rocep1s0f0,roceP2p1s0f0",
    "NCCL_SOCKET_IFNAME": "^=docker0",
    "NCCL_ALGO": ALGO,
    "NCCL_TOPO_FILE": "/etc/a b&c|d<e>f(g)*h?[i]!{j}~",
    "NCCL_EMPTY": "",
}
HARDER = {**HARD, "A_QUOTE": 'it\'s "x"', "A_DOLLAR": "$HOME`id`$(id)", "A_HASH": " # x ", "A_SLASH": "a\\b\\"}
GENERATOR = Path("/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator")


def node(values: dict[str, str], evidence: str = "seen in the log", name: str = "alpha") -> NodePreset:
    lines = tuple(Line(name=key, value=value, kind="placed", evidence=evidence) for key, value in values.items())
    return NodePreset(name=name, target=name, lines=lines)


def preset(*nodes: NodePreset) -> Preset:
    return Preset(
        name="pair",
        run="r1",
        backend="nccl",
        objective="decode",
        profile="tiny",
        choice="tree",
        reason="",
        exercised="two namespaces",
        created="2026-01-01T00:00:00Z",
        nodes=nodes,
    )


def rendered(values: dict[str, str], fmt: str, evidence: str = "seen in the log") -> str:
    one = node(values, evidence)
    return render(preset(one), one, fmt)


class FakeEngine(http.server.BaseHTTPRequestHandler):
    """Just enough of the engine's API for `docker create`: it keeps the Env list that the client sent."""

    protocol_version = "HTTP/1.1"
    heard: list[list[str]] = []

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Api-Version", "1.41")
        self.send_header("OSType", "linux")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self) -> None:
        self.answer(200, b"")

    def do_GET(self) -> None:
        self.answer(200, b"{}")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        FakeEngine.heard.append(json.loads(body)["Env"])
        self.answer(201, b'{"Id":"abc","Warnings":[]}')

    def address_string(self) -> str:
        return "client"

    def log_message(self, *_: object) -> None:
        return


class Engine(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@contextmanager
def engine(folder: Path) -> Iterator[str]:
    path = folder / "engine.sock"
    with Engine(str(path), FakeEngine) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        FakeEngine.heard.clear()
        yield f"unix://{path}"
        server.shutdown()
        thread.join(5)


def shell_reads(shell: str, script: str, names: list[str], folder: Path) -> dict[str, str]:
    """The values `shell` exports after running `script` in an empty environment."""
    show = Path(shutil.which("env") or "env")
    command = [shell, "-c", f"{script}\n{show} -0"]
    result = subprocess.run(command, cwd=folder, env={}, capture_output=True, text=True, timeout=20, check=True)
    assert result.stderr == ""
    pairs = dict(entry.split("=", 1) for entry in result.stdout.split("\0") if entry)
    return {name: pairs[name] for name in names if name in pairs}


SHELLS = [shell for shell in ("bash", "dash", "zsh") if shutil.which(shell)]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_reads_the_bash_format_back(shell: str, tmp_path: Path) -> None:
    (tmp_path / "nccl.sh").write_text(rendered(HARDER, "bash"))
    path = shutil.which(shell)
    assert path
    assert shell_reads(path, ". ./nccl.sh", list(HARDER), tmp_path) == HARDER


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shell != "zsh"])
def test_an_env_file_without_a_split_note_can_be_sourced_too(shell: str, tmp_path: Path) -> None:
    plain = {name: value for name, value in HARD.items() if name not in {"NCCL_ALGO", "NCCL_TOPO_FILE"}}
    text = rendered(plain, "env")
    assert "source" not in text
    (tmp_path / "nccl.env").write_text(text)
    path = shutil.which(shell)
    assert path
    assert shell_reads(path, "set -a; . ./nccl.env", list(plain), tmp_path) == plain


def test_a_value_a_shell_would_split_is_said_to_be_right_above_it() -> None:
    text = rendered(HARD, "env").splitlines()
    for name in ("NCCL_ALGO", "NCCL_TOPO_FILE"):
        at = next(number for number, line in enumerate(text) if line.startswith(f"{name}="))
        assert "--format bash" in text[at - 1]
        assert text[at - 2] == "# placed: seen in the log"
    at = next(number for number, line in enumerate(text) if line.startswith("NCCL_IB_HCA="))
    assert text[at - 1] == "# placed: seen in the log"


@pytest.mark.skipif(shutil.which("docker") is None, reason="no docker client on this machine")
def test_the_docker_client_reads_both_docker_formats_back(tmp_path: Path) -> None:
    (tmp_path / "nccl.env").write_text(rendered(HARD, "env", evidence="two\nlines \\"))
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    with engine(tmp_path) as host:
        command = ["docker", "-H", host, "create", "--env-file", "nccl.env", "image"]
        subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=30, check=True)
        line = f"exec docker -H {host} create {rendered(HARDER, 'docker').rstrip()} image"
        subprocess.run(["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, timeout=30, check=True)
    assert FakeEngine.heard[0] == [f"{name}={value}" for name, value in HARD.items()]
    assert sorted(FakeEngine.heard[1]) == sorted(f"{name}={value}" for name, value in HARDER.items())


@pytest.mark.skipif(not GENERATOR.exists(), reason="no systemd environment generator on this machine")
def test_systemd_reads_the_env_file_back(tmp_path: Path) -> None:
    """environment.d uses the parser of EnvironmentFile= (env-file.c); only its output is quoted, and an empty
    value is refused there alone, so it is left out here. The evidence ends in a backslash, which systemd before
    254 lets swallow the next line.
    """
    values = {name: value for name, value in HARD.items() if value}
    (tmp_path / "environment.d").mkdir()
    (tmp_path / "environment.d" / "nccl.conf").write_text(rendered(values, "env", evidence="continued \\"))
    environment = {"XDG_CONFIG_HOME": str(tmp_path), "HOME": "/nonexistent"}
    result = subprocess.run([GENERATOR], env=environment, capture_output=True, text=True, timeout=20, check=True)
    dash = shutil.which("dash") or "/bin/sh"
    assert result.stderr == ""
    assert shell_reads(dash, f"set -a\n{result.stdout}", list(values), tmp_path) == values


def test_the_head_says_what_it_is_for_and_who_shares_it() -> None:
    one, two, other = node(HARD), node(HARD, name="beta"), node({"NCCL_NET": "IB"}, name="gamma")
    text = render(preset(one, two, other), one, "env")
    assert text.startswith("# fabricdoc preset pair, node alpha (the same on alpha, beta)\n")
    assert "# exercised: two namespaces\n" in text
    assert "docker --env-file, compose env_file, systemd EnvironmentFile" in text
    assert text.endswith("\n")
    assert "the same" not in render(preset(one, other), other, "env")


def test_nothing_to_set_is_said() -> None:
    for fmt in ("env", "bash"):
        assert "nothing to set" in rendered({}, fmt)
    assert rendered({}, "docker") == "\n"


def test_json_is_a_document_with_the_variables() -> None:
    document = json.loads(rendered({"NCCL_TOPO_FILE": "/é\n"}, "json"))
    assert list(document)[:3] == ["schema", "fabricdoc", "created"]
    assert document["schema"] == "fabricdoc/env/1"
    assert document["created"] == "2026-01-01T00:00:00Z"
    assert document["variables"] == {"NCCL_TOPO_FILE": "/é\n"}
    assert document["evidence"] == {"NCCL_TOPO_FILE": "placed: seen in the log"}


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_variable_given_twice_is_refused(fmt: str) -> None:
    line = Line(name="A", value="1", kind="placed", evidence="")
    one = NodePreset(name="alpha", target="alpha", lines=(line, line))
    with pytest.raises(UsageError, match="twice"):
        render(preset(one), one, fmt)


@given(st.text(max_size=60), st.text(max_size=30))
def test_evidence_never_becomes_more_than_comment(evidence: str, title: str) -> None:
    line = Line(name="A", value="1", kind="placed", evidence=evidence)
    one = NodePreset(name=title, target="alpha", lines=(line,))
    for fmt, wanted in (("env", "A=1"), ("bash", "export A='1'")):
        text = render(preset(one), one, fmt)
        assert text.splitlines() == text.removesuffix("\n").split("\n")
        rest = [row for row in text.splitlines() if not row.startswith("#")]
        assert rest == [wanted]
        assert not any(row.endswith("\\") for row in text.splitlines())


@given(st.text(alphabet="\0\x01\n\r\"'\\$`# ab;=", max_size=12), st.sampled_from(sorted(FORMATS)))
def test_all_or_a_usage_error(value: str, fmt: str) -> None:
    refused = FORMATS[fmt].refuse("A", value)
    try:
        text = rendered({"A": value}, fmt)
    except UsageError:
        assert refused
    else:
        assert not refused
        assert text.endswith("\n")
