"""Why a node's program ended before it should: from an exit status and stderr to an id, one line, and what to do.

Pure text work. The ids: ssh-failed, node-lost, python-missing, python-too-old, netns-gone, netns-forbidden,
netns-enter, start-failed, probe-failed, garbage, node-timeout, no-raw-sockets, and those of `ssh_words` and
`refusals`.
The wording matched is OpenSSH's (it isn't translated) and the shells'.
"""

from __future__ import annotations

import pwd
import re
from dataclasses import dataclass
from pathlib import Path

from fabricdoc.errors import NodeError
from fabricdoc.transport.enter import CANT_ENTER
from fabricdoc.transport.grammar import BOXED
from fabricdoc.transport.loader import NO_RAW, TOO_OLD
from fabricdoc.transport.nodes import DEFAULT_PYTHON, NodeSpec
from fabricdoc.transport.refusals import CLIENTS, missing, refusal
from fabricdoc.transport.ssh_words import meaning, words_for

# what a shell and a container runtime make of SIGKILL: 128 + 9
KILLED = 137
_LINE_LIMIT = 300
# what ssh says where only a gateway leads to a node
NO_WAY_IDS = ("node-unreachable", "ssh-refused", "ssh-hung-up")
_AGAIN = "run it again; if it stays so, report this line with what `uname -a` and `python3 -V` print there"
_RAW_FIX = "run as root on that node, or give python3 there CAP_NET_RAW"
_PYTHON_FIX = "install python3 (3.10 or later) there, or name one in fabric.toml: python = '/path/to/python3'"


@dataclass(frozen=True)
class Ending:
    """How a node's program ended. `kind` is how it was reached, `status` as Popen gives it (negative: a signal)."""

    kind: str
    module: str
    status: int
    started: bool
    stderr: str


def why_ended(node: NodeSpec, ending: Ending) -> NodeError:
    """The error for a program that ended without having done its work."""
    if ending.kind == "ssh" and ending.status == 255:
        return _ssh_failure(node, ending)
    if not ending.started and ending.kind == "mpirun" and (found := meaning(node, ending.stderr)):
        by_hand = f"this must print its name, and nothing must ask: mpirun -n 1 --host {node.where.host} hostname"
        fix = by_hand if found[0].id in ("ssh-refused", "node-unreachable") else found[0].fix
        return _error(node, found[0].id, found[0].message, found[1], fix)
    if not ending.started and ending.status == NO_RAW:
        return _error(node, "no-raw-sockets", "raw sockets are not allowed", ending.stderr, _RAW_FIX)
    if not ending.started:
        return _refused(node, ending) or _start_failure(node, ending)
    if ending.status == KILLED and ending.kind in BOXED:
        fix = "see whether it was stopped or ran out of memory, then start it again"
        return _error(node, "node-lost", "its container, or the probe in it, was killed", ending.stderr, fix)
    return _error(node, "probe-failed", f"the {ending.module} probe {_how(ending.status)}", ending.stderr, _AGAIN)


def _refused(node: NodeSpec, ending: Ending) -> NodeError | None:
    """What srun, kubectl or a container runtime refused, where it was one of them."""
    found = refusal(node, ending.kind, ending.stderr) if ending.kind in CLIENTS else None
    return _error(node, found[0].id, found[0].message, found[1], found[0].fix) if found else None


def _ssh_failure(node: NodeSpec, ending: Ending) -> NodeError:
    if ending.started:
        fix = "check the link to it and that nobody ended its processes"
        return _error(node, "node-lost", "the ssh connection broke", ending.stderr, fix)
    if found := meaning(node, ending.stderr):
        fix = _past_gateways(node, found[0].fix) if found[0].id in NO_WAY_IDS else found[0].fix
        return _error(node, found[0].id, found[0].message, found[1], fix)
    return _error(node, "ssh-failed", "ssh failed", ending.stderr, f"try: {words_for(node)['try_it']}")


def _past_gateways(node: NodeSpec, fix: str) -> str:
    """What to do where ssh from here finds no way to a node that gateways lead to: it was not asked through them."""
    if not node.via:
        return fix
    firsts = [level[0] for level in node.via]
    jumps = ",".join(words_for(one)["place"] + (f":{one.where.port}" if one.where.port else "") for one in firsts)
    return (
        f"this needs ssh from here, past the gateways: in ~/.ssh/config, under `Host {node.where.host}`, "
        f"`ProxyJump {jumps}`; or {fix}"
    )


def _start_failure(node: NodeSpec, ending: Ending) -> NodeError:
    if ending.status == TOO_OLD or "Unknown option: -I" in ending.stderr:  # the latter is Python 2's word
        return _error(node, "python-too-old", f"{node.python} is older than 3.10", _version(ending.stderr), _PYTHON_FIX)
    if ending.kind == "netns" and ending.status == CANT_ENTER:
        return _cant_enter(node, ending.stderr)
    if ending.status in (126, 127) or re.search(r"[Cc]ommand not found", ending.stderr):
        barred = ending.status == 126 or "ermission denied" in ending.stderr
        fix = _python_fix(node, "not to be run" if barred else "not there")
        return _error(node, "python-missing", f"{node.python} can't be run there", ending.stderr, fix)
    if ending.kind in CLIENTS:
        message = f"nothing of ours started: {CLIENTS[ending.kind]} {_how(ending.status)}"
        return _error(
            node, "start-failed", message, ending.stderr, f"by hand, {node.python} -V must run in {node.target}"
        )
    if node.python != DEFAULT_PYTHON:
        message, fix = f"{node.python} {_how(ending.status)} and ran nothing of ours", _python_fix(node, "no python")
        return _error(node, "start-failed", message, ending.stderr, fix)
    fix = f"see what a login there prints or ends: ssh {words_for(node)['login']} true"
    message = f"nothing of ours started: its shell {_how(ending.status)}"
    return _error(node, "start-failed", message, ending.stderr, fix if ending.kind == "ssh" else _PYTHON_FIX)


def _version(stderr: str) -> str:
    """The loader's line: mpirun adds its own after it."""
    lines = [line for line in stderr.splitlines() if re.fullmatch(r"python \d+\.\d+|Unknown option: -I", line.strip())]
    return lines[0] if lines else stderr


def _python_fix(node: NodeSpec, what: str) -> str:
    """What to do about a node's python: name another, where one was named."""
    if node.python == DEFAULT_PYTHON:
        return _PYTHON_FIX
    return f"{node.python} on {node.name}: {what}; name another with --python or python= in fabric.toml"


def _cant_enter(node: NodeSpec, stderr: str) -> NodeError:
    """A namespace that is gone, or that is another user's."""
    if re.search(r"No such (file or directory|process)", stderr):
        fix = "see which lab nodes are up: `fabricdoc lab list`; start a lab anew: `fabricdoc lab up`"
        return _error(node, "netns-gone", f"its namespace {node.target} is gone", "", fix)
    if re.search(r"Permission denied|not permitted", stderr):
        owner = owner_of(node)
        fix = "run the same command with sudo, or as that user; a lab of your own: `fabricdoc lab up`"
        message = f"its namespaces can't be entered: {owner}"
        return _error(node, "netns-forbidden", message, stderr, fix)
    fix = "see which lab nodes are up: `fabricdoc lab list`"
    return _error(node, "netns-enter", "its namespaces can't be entered", stderr, fix)


def owner_of(node: NodeSpec) -> str:
    """`they are of root`: the user of a netns node's process or file on this machine; a number where it has no name."""
    where = node.where
    try:
        uid = Path(f"/proc/{where.pid}" if where.pid else where.path).stat().st_uid
    except OSError:
        return "they are another user's"
    try:
        return f"they are of user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"they are of user {uid}"


def _how(status: int) -> str:
    return f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"


def cant_start(node: NodeSpec, program: str, error: OSError) -> NodeError:
    """The error for a program of this machine (ssh, or the node's python) that can't be started."""
    if isinstance(error, FileNotFoundError | PermissionError | NotADirectoryError):
        if program == "ssh":
            return _error(node, "ssh-missing", "there is no ssh client here", "", "install openssh-client")
        if program in CLIENTS.values():
            row = missing(program)
            return _error(node, row.id, f"{row.message} here", "", row.fix)
        fix = _python_fix(node, "not there" if isinstance(error, FileNotFoundError) else "not to be run")
        return _error(node, "python-missing", f"{program} can't be run", error.strerror or "", fix)
    return _error(node, "start-failed", f"{program} can't be started", str(error), _AGAIN)


def garbage(node: NodeSpec, module: str, reason: str) -> NodeError:
    """The error for a probe whose output broke the protocol."""
    return _error(node, "garbage", f"the {module} probe sent {reason}", "", _AGAIN)


def too_late(node: NodeSpec, module: str, started: bool, deadline_s: float) -> NodeError:
    """The error for a node that did not do its work in time; it says how far it came."""
    far = f"the {module} probe started but did not answer" if started else "nothing of ours started there"
    fix = "check that it is up and not overloaded" if started else "check that it is up and that a login there is quick"
    return _error(node, "node-timeout", f"{far} within {deadline_s:g} s", "", fix)


def _error(node: NodeSpec, id_: str, message: str, text: str, fix: str) -> NodeError:
    """Always with a fix.

    `text` may be long and many-lined: its last line with words in it is quoted, in printable characters only.
    """
    lines = [line.strip() for line in text.splitlines() if re.search(r"\w", line)]
    said = "".join(char if char.isprintable() else "?" for char in lines[-1])[:_LINE_LIMIT] if lines else ""
    return NodeError(f"{node.name}: {message}{f' ({said})' if said else ''}", fix=fix, id=id_)
