"""The argv of the user's own ssh client, and the folder of its shared connections.

The user's configuration, agent, jump hosts and known hosts work as they are; host keys are checked as it says. What is
set here is only what a program without a terminal needs. Reading ssh's complaints is `failures`' work.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from fabricdoc.transport.nodes import NodeSpec
from fabricdoc.transport.quoting import remote_command

CONNECT_S = 5
PERSIST_S = 60
# a socket's path holds 107 bytes; ssh puts `/%C-` and our 8 digits after the folder (50) and 17 more while it binds
FOLDER_LIMIT = 107 - 50 - 17
OPTIONS = (
    "BatchMode=yes",
    f"ConnectTimeout={CONNECT_S}",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "LogLevel=INFO",  # below it ssh does not say why a connection was closed or no algorithm agreed (log.c, logdie)
    "RequestTTY=no",
    "RemoteCommand=none",
    "PermitLocalCommand=no",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
)


def ssh_argv(node: NodeSpec, argv: Sequence[str]) -> list[str]:
    """The local argv that runs `argv` (and `node.env`) on `node` through its login shell; raises UsageError."""
    where = node.where
    words = ["ssh", *(["-F", node.ssh_config] if node.ssh_config else [])]
    for option in (*OPTIONS, *_sharing(node)):
        words += ["-o", option]
    words += ["-p", str(where.port)] if where.port else []
    words += ["-l", where.user] if where.user else []
    env = ["env", *(f"{key}={value}" for key, value in sorted(node.env.items()))] if node.env else []
    return [*words, "--", where.host, remote_command([*env, *argv])]


def _sharing(node: NodeSpec) -> tuple[str, ...]:
    folder = runtime_folder() if node.lingers else None
    if folder is None:
        return ("ControlMaster=no", "ControlPath=none")
    # %C knows neither the alias nor the jump host: two nodes behind two jump hosts may have one address
    import hashlib

    own = hashlib.sha256(f"{node.target}\0{node.user}\0{node.ssh_config}".encode()).hexdigest()[:8]
    path = str(folder).replace("%", "%%")
    return ("ControlMaster=auto", f"ControlPath={path}/%C-{own}", f"ControlPersist={PERSIST_S}")


def runtime_folder() -> Path | None:
    """This user's private folder for connection sockets, made when missing; None when there can be none.

    Under XDG_RUNTIME_DIR, or /tmp when that is unset or too long for a socket's path. A folder that is not ours
    alone is not used: whoever owns the socket owns the connection.
    """
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = Path(base) / "fabricdoc"
    if not base.startswith("/") or len(os.fsencode(folder)) > FOLDER_LIMIT or not Path(base).is_dir():
        folder = Path(f"/tmp/fabricdoc-{os.geteuid()}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.lstat()
    except OSError:
        return None
    private = stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid() and not stat.S_IMODE(state.st_mode) & 0o077
    return folder if private else None
