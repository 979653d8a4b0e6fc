"""Who reads what is written: real shells, the docker client, systemd's own parser, and the rules of those not here."""

from __future__ import annotations

import ctypes
import http.server
import json
import os
import re
import shutil
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import yaml

SHELLS = [shell for shell in ("bash", "dash", "ksh", "zsh") if shutil.which(shell)]
SYSTEMD = next((str(path) for path in sorted(Path("/usr/lib").glob("*/systemd/libsystemd-shared-*.so"))), "")
ENV = shutil.which("env") or "/usr/bin/env"


def shell_reads(shell: str, script: str, folder: Path) -> dict[str, str]:
    """What `shell` exports after `script` in an empty environment, besides what it exports by itself.

    It must say nothing on stderr.
    """
    found = _exported([shutil.which(shell) or shell, "-c", f"{script}\n{ENV} -0"], folder, {})
    return {name: value for name, value in found.items() if name not in _by_itself(shell)}


@cache
def _by_itself(shell: str) -> frozenset[str]:
    words = ["--no-config", "-c", f"{ENV} -0"] if shell == "fish" else ["-c", f":\n{ENV} -0"]
    return frozenset(_exported([shutil.which(shell) or shell, *words], Path("/"), {}))


def _exported(command: Sequence[str], folder: Path, env: Mapping[str, str]) -> dict[str, str]:
    result = subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=20, check=True)
    assert result.stderr == b"", result.stderr
    return dict(entry.decode().split("=", 1) for entry in result.stdout.split(b"\0") if entry)


def shell_words(shell: str, line: str, folder: Path) -> list[str]:
    """The words `shell` makes of a command line."""
    command = [shutil.which(shell) or shell, "-c", f"printf '%s\\0' {line}"]
    result = subprocess.run(command, cwd=folder, env={}, capture_output=True, timeout=20, check=True)
    return [word.decode() for word in result.stdout.split(b"\0")[:-1]]


def fish_reads(text: str, folder: Path) -> dict[str, str]:
    (folder / "x.fish").write_text(text)
    home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    command = [shutil.which("fish") or "fish", "--no-config", "-c", f"source x.fish; {ENV} -0"]
    found = _exported(command, folder, home)
    return {name: value for name, value in found.items() if name not in {*_by_itself("fish"), *home}}


def systemd_reads(text: str, folder: Path) -> dict[str, str]:
    """systemd's own load_env_file, which EnvironmentFile= uses, out of its library."""
    libc, shared = ctypes.CDLL(None), ctypes.CDLL(SYSTEMD)
    libc.fopen.restype = ctypes.c_void_p
    file = folder / "x.systemd"
    file.write_text(text)
    stream = ctypes.c_void_p(libc.fopen(str(file).encode(), b"re"))
    found = ctypes.POINTER(ctypes.c_char_p)()
    try:
        assert shared.load_env_file(stream, str(file).encode(), ctypes.byref(found)) >= 0
    finally:
        libc.fclose(stream)
    pairs: list[str] = []
    while found and (entry := found[len(pairs)]) is not None:
        pairs.append(entry.decode())
    return dict(pair.split("=", 1) for pair in pairs)


def docker_reads(text: str, *, strips_quotes: bool = False) -> dict[str, str]:
    """docker/cli pkg/kvfile: all after the first `=`; `strips_quotes` as an edition would that takes a pair off."""
    found = {}
    for number, raw in enumerate(text.encode().split(b"\n")):
        line = raw.removesuffix(b"\r").decode()
        line = (line.removeprefix("\ufeff") if number == 0 else line).lstrip()
        if not line or line.startswith("#"):
            continue
        name, sign, value = line.partition("=")
        assert name
        assert not set(name) & set(" \t")
        assert sign, "a bare name takes the host's value"
        paired = strips_quotes and len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
        found[name] = value[1:-1] if paired else value
    return found


def dotenv_reads(text: str) -> dict[str, str]:
    """compose-go dotenv and python-dotenv, for values without quotes: blanks trimmed, ` #` ends, `$` is expanded."""
    found = {}
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, _, value = line.strip().removeprefix("export ").partition("=")
        assert not set(value) & set("$'\"\\"), "would be expanded or unquoted"
        found[name.strip()] = re.split(r"\s#|#", value)[0].strip()
    return found


def nccl_reads(text: str) -> dict[str, str]:
    """NCCL's param.cc: `#` in the first column, the first `=` parts, nothing is trimmed, 1023 bytes, first wins."""
    found: dict[str, str] = {}
    for line in text.encode().split(b"\n"):
        name, sign, value = line[:1023].partition(b"=")
        if sign and not line.startswith(b"#"):
            found.setdefault(name.decode(), value.decode())
    return found


def _libnccl() -> str:
    """An NCCL on this machine: of a wheel beside our packages, or the system's; LIBNCCL names another."""
    places = [Path(entry) / "nvidia/nccl/lib/libnccl.so.2" for entry in sys.path if entry]
    places += sorted(Path("/usr/lib").glob("*/libnccl.so.2"))
    return os.environ.get("LIBNCCL") or next((str(path) for path in places if path.is_file()), "")


LIBNCCL = _libnccl()
_ASK_NCCL = """
import ctypes, subprocess, sys
ctypes.CDLL(sys.argv[1]).ncclGetUniqueId(ctypes.create_string_buffer(128))
subprocess.run(["/usr/bin/env", "-0"], check=True)
"""


def nccl_itself(text: str, folder: Path) -> dict[str, str]:
    """What NCCL puts into its process' environment from that file, first of all when it is asked for a unique id.

    That needs no GPU; it may then find no such interface, which is all the same here.
    """
    (folder / "nccl.conf").write_text(text)
    environment = {"NCCL_CONF_FILE": str(folder / "nccl.conf"), "HOME": str(folder)}
    command = [sys.executable, "-I", "-c", _ASK_NCCL, LIBNCCL]
    result = subprocess.run(command, env=environment, cwd=folder, capture_output=True, timeout=60, check=True)
    found = dict(entry.decode().split("=", 1) for entry in result.stdout.split(b"\0") if entry)
    return {name: value for name, value in found.items() if name not in {*environment, "LC_CTYPE", "PWD", "SHLVL", "_"}}


def interpolated(text: str) -> str:
    """compose: `$$` is a dollar, `$NAME` and `${` are expanded (here: an error)."""
    assert not re.search(r"(?<!\$)(?:\$\$)*\$(?:[A-Za-z_{]|\Z|[^$])", text), text
    return text.replace("$$", "$")


def kubernetes_expands(text: str) -> str:
    """k8s third_party/forked/golang/expansion: `$$` is `$`, `$(NAME)` of an unknown name stays, a lone `$` stays."""
    made, at = "", 0
    while at < len(text):
        if text[at] != "$" or at + 1 == len(text):
            made, at = made + text[at], at + 1
        elif text[at + 1] == "$":
            made, at = made + "$", at + 2
        else:
            assert text[at + 1] != "(", "would be expanded"
            made, at = made + text[at : at + 2], at + 2
    return made


def yaml_reads(text: str) -> Any:
    return yaml.safe_load(text)


def slurm_reads(output: str) -> dict[str, str]:
    """slurmd task.c _proc_stdout."""
    found = {}
    for line in output.split("\n"):
        if line.startswith("export "):
            name, sign, value = line.removeprefix("export ").lstrip().partition("=")
            assert sign
            found[name.rstrip()] = value
        else:
            assert not line or line.startswith("print "), line
    return found


CLUSTER = r"""
while IFS='=' read -r key value || [ -n "$key" ]; do
  [[ "$key" =~ ^[[:space:]]*# ]] && continue
  [[ -z "$key" ]] && continue
  key=$(echo "$key" | xargs)
  value=$("$PYTHON" -ISE -c "value = '''$value'''.strip()
print(value[1:-1] if value[:1] == value[-1:] and value[:1] in ('\"', \"'\") else value)")
  export "DOTENV_$key=$value"
done < ./x.env
arguments=""
for name in $(compgen -v DOTENV_CONTAINER_); do
  [ "$name" = DOTENV_CONTAINER_NAME ] && continue
  quoted=$("$PYTHON" -ISE -c "import shlex; print(shlex.quote('${!name}'))")
  arguments="$arguments -e ${name#DOTENV_CONTAINER_}=$quoted"
done
printf '%s\0' $arguments
printf '\0'
sh -c "printf '%s\0' $arguments"
"""
"""How launch-cluster.sh of spark-vllm-docker reads its .env and makes arguments of it (as of November 2026)."""


def cluster_reads(text: str, folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The variables that its `docker run` on the head and the one it sends through ssh to a worker would get.

    It refuses a whole file with a line that is neither a comment nor NAME=value, or with a name given twice.
    """
    lines = [line.strip() for line in text.splitlines()]
    names = [line.split("=", 1)[0].strip() for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) for name in names)
    assert len(set(names)) == len(names)
    (folder / "x.env").write_text(text)
    environment = {"PATH": "/usr/bin:/bin", "PYTHON": sys.executable}
    command = [shutil.which("bash") or "bash", "-c", CLUSTER]
    result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=60, check=True)
    assert result.stderr == b"", result.stderr
    here, _, there = result.stdout.partition(b"\0\0")
    return _arguments(here), _arguments(there)


def _arguments(said: bytes) -> dict[str, str]:
    words = [word.decode() for word in said.split(b"\0") if word]
    assert words[::2] == ["-e"] * (len(words) // 2)
    return dict(word.split("=", 1) for word in words[1::2])


def program(folder: Path, *names: str) -> Path:
    """A folder with programs of these names that print their words and what they got, as JSON."""
    folder.mkdir(exist_ok=True)
    for name in names:
        file = folder / name
        file.write_text(
            f"#!{sys.executable}\nimport json, os, sys\nprint(json.dumps([sys.argv, dict(os.environ)]))\n",
        )
        file.chmod(0o755)
    return folder


def run_script(file: Path, *words: str, bins: Path, shell: str = "sh", **env: str) -> tuple[list[str], dict[str, str]]:
    """Start a written script in a clean environment; words and environment of the program it execs."""
    environment = {"PATH": f"{bins}:/usr/bin:/bin", **env}
    command = [shell, str(file), *words]
    result = subprocess.run(command, env=environment, cwd=file.parent, capture_output=True, text=True, timeout=20)
    assert result.returncode == 0, result.stderr
    argv, seen = json.loads(result.stdout)
    return argv, seen


def only(values: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    return {name: values[name] for name in names if name in values}


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
    path = folder / "docker.sock"
    with Engine(str(path), FakeEngine) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        FakeEngine.heard.clear()
        yield f"unix://{path}"
        server.shutdown()
        thread.join(5)


def docker_client(folder: Path, host: str, *words: str, line: str = "") -> dict[str, str]:
    """What the real client tells the engine for `docker create`, with these words or a line for a shell."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    command = ["sh", "-c", f"exec docker -H {host} create {line} image"] if line else ["docker", "-H", host, "create"]
    command += [] if line else [*words, "image"]
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=30, check=True)
    return dict(entry.split("=", 1) for entry in FakeEngine.heard.pop())


def run(command: Sequence[str], folder: Path) -> str:
    """What a command says."""
    home = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    return subprocess.run(command, cwd=folder, env=home, capture_output=True, text=True, timeout=20).stdout


def sets(shell: str, name: str, folder: Path) -> str:
    """What a program sees in a variable that a shell was told to set to 1."""
    line = f"set -gx {name} 1" if shell == "fish" else f"export {name}='1'"
    words = ["--no-config"] if shell == "fish" else []
    said = run([shell, *words, "-c", f"{line}; {ENV} -0"], folder)
    return dict(entry.split("=", 1) for entry in said.split("\0") if "=" in entry).get(name, "")
