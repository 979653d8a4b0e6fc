"""Why a node's program ended before it should: from an exit status and stderr to an id, one line, and what to do.

Pure text work. The ids: node-unreachable, ssh-refused, ssh-permission, ssh-host-key, ssh-host-unknown, ssh-config,
ssh-failed, node-lost, python-missing, python-too-old, netns-enter, start-failed, probe-failed, garbage, node-timeout.
The wording matched is OpenSSH's (it isn't translated) and the shells'.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fabricdoc.errors import NodeError
from fabricdoc.transport.enter import CANT_ENTER
from fabricdoc.transport.loader import TOO_OLD
from fabricdoc.transport.nodes import NodeSpec

_LINE_LIMIT = 300
_PYTHON_FIX = "install python3 (3.10 or later) there, or name one in fabric.toml: python = '/path/to/python3'"


@dataclass(frozen=True)
class Ending:
    """How a node's program ended. `kind` is how it was reached, `status` as Popen gives it (negative: a signal)."""

    kind: str
    module: str
    status: int
    started: bool
    stderr: str


# (pattern in ssh's stderr, id, what to say, what to do); the first that matches counts
_SSH = (
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        "ssh-host-key",
        "its ssh host key is not the one known here: another machine answers, or it was set up anew",
        "make sure which, then remove the old key: ssh-keygen -R {host}",
    ),
    (
        r"Host key verification failed|No .*host key is known",
        "ssh-host-unknown",
        "its ssh host key is not known here yet",
        "connect once by hand and compare the key: ssh {login}",
    ),
    (
        r"Permission denied|Too many authentication failures|No supported authentication",
        "ssh-permission",
        "ssh login refused",
        "set up a key for {login} (ssh-copy-id {login}) or load it (ssh-add); under sudo ssh uses root's keys",
    ),
    (
        r"[Cc]onnection refused",
        "ssh-refused",
        "nothing listens for ssh there",
        "start sshd on it, or name its port: {host}:PORT",
    ),
    (
        r"Could not resolve hostname",
        "node-unreachable",
        "its name can't be resolved",
        "check the spelling, or give the address: {name}=[user@]ADDRESS",
    ),
    (
        r"timed out|No route to host|unreachable|Connection (closed|reset)|kex_exchange_identification|not responding",
        "node-unreachable",
        "no ssh connection to it",
        "check that it is up and that this works: ssh {login} true",
    ),
    (
        r"[Bb]ad (configuration|owner)|Can't open user config|terminating, \d+ bad|(?m:^\S+ line \d+:)",
        "ssh-config",
        "ssh doesn't accept its configuration",
        "check it with: ssh -G {login}",
    ),
)


def why_ended(node: NodeSpec, ending: Ending) -> NodeError:
    """The error for a program that ended without having done its work."""
    if ending.kind == "ssh" and ending.status == 255:
        return _ssh_failure(node, ending)
    if not ending.started:
        return _start_failure(node, ending)
    return _error(node, "probe-failed", f"the {ending.module} probe {_how(ending.status)}", ending.stderr)


def _ssh_failure(node: NodeSpec, ending: Ending) -> NodeError:
    if ending.started:
        fix = "check the link to it and that nobody ended its processes"
        return _error(node, "node-lost", "the ssh connection broke", ending.stderr, fix)
    where = node.where
    words = {"host": where.host, "login": f"{where.user}@{where.host}" if where.user else where.host, "name": node.name}
    for pattern, id_, message, fix in _SSH:
        if re.search(pattern, ending.stderr):
            return _error(node, id_, message, _telling(pattern, ending.stderr), fix.format(**words))
    return _error(node, "ssh-failed", "ssh failed", ending.stderr, f"try: ssh {words['login']} true")


def _telling(pattern: str, stderr: str) -> str:
    """The line that holds the matched words."""
    return next((line for line in stderr.splitlines() if re.search(pattern, line)), stderr)


def _start_failure(node: NodeSpec, ending: Ending) -> NodeError:
    if ending.status == TOO_OLD:
        return _error(node, "python-too-old", f"{node.python} is older than 3.10", ending.stderr, _PYTHON_FIX)
    if ending.kind == "netns" and ending.status == CANT_ENTER:
        forbidden = re.search(r"Permission denied|not permitted", ending.stderr)
        fix = "become root, or the user who made it" if forbidden else "see which lab nodes are up: fabricdoc lab list"
        return _error(node, "netns-enter", "its namespaces can't be entered", ending.stderr, fix)
    if ending.status in (126, 127) or re.search(r"[Cc]ommand not found", ending.stderr):
        return _error(node, "python-missing", f"{node.python} can't be run there", ending.stderr, _PYTHON_FIX)
    return _error(node, "start-failed", f"nothing of ours started: its shell {_how(ending.status)}", ending.stderr)


def _how(status: int) -> str:
    return f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"


def cant_start(node: NodeSpec, program: str, error: OSError) -> NodeError:
    """The error for a program of this machine (ssh, or the node's python) that can't be started."""
    if isinstance(error, FileNotFoundError | PermissionError | NotADirectoryError):
        if program == "ssh":
            return _error(node, "ssh-missing", "there is no ssh client here", "", "install openssh-client")
        return _error(node, "python-missing", f"{program} can't be run", error.strerror or "", _PYTHON_FIX)
    return _error(node, "start-failed", f"{program} can't be started", str(error))


def garbage(node: NodeSpec, module: str, reason: str) -> NodeError:
    """The error for a probe whose output broke the protocol."""
    return _error(node, "garbage", f"the {module} probe sent {reason}", "")


def too_late(node: NodeSpec, module: str, started: bool, deadline_s: float) -> NodeError:
    """The error for a node that did not do its work in time; it says how far it came."""
    far = f"the {module} probe started but did not answer" if started else "nothing of ours started there"
    fix = "check that it is up and not overloaded" if started else "check that it is up and that a login there is quick"
    return _error(node, "node-timeout", f"{far} within {deadline_s:g} s", "", fix)


def _error(node: NodeSpec, id_: str, message: str, text: str, fix: str = "") -> NodeError:
    """`text` may be long and many-lined: its last line with words in it is quoted, in printable characters only."""
    lines = [line.strip() for line in text.splitlines() if re.search(r"\w", line)]
    said = "".join(char if char.isprintable() else "?" for char in lines[-1])[:_LINE_LIMIT] if lines else ""
    return NodeError(f"{node.name}: {message}{f' ({said})' if said else ''}", fix=fix, id=id_)
