from __future__ import annotations

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import ExitStatus, NodeError
from fabricdoc.transport.failures import Ending, cant_start, garbage, owner_of, too_late, why_ended
from fabricdoc.transport.nodes import NodeSpec

pytestmark = pytest.mark.unit

NODE = NodeSpec("beta", "me@spark-2")
NETNS = NodeSpec("beta", "netns:1")
CHANGED = """@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!
Host key for spark-2 has changed and you have requested strict checking.
Host key verification failed.
"""


def ended(status: int, stderr: str, *, kind: str = "ssh", started: bool = False) -> NodeError:
    return why_ended(NODE, Ending(kind, "scan", status, started, stderr))


@pytest.mark.parametrize(
    ("stderr", "id_"),
    [
        ("ssh: connect to host spark-2 port 22: Connection refused", "ssh-refused"),
        (CHANGED, "ssh-host-key"),
        ("something new", "ssh-failed"),
        ("", "ssh-failed"),
    ],
)
def test_what_ssh_says_becomes_an_id_and_a_fix(stderr: str, id_: str) -> None:
    error = ended(255, stderr)
    assert error.id == id_
    assert error.status == ExitStatus.FAILED
    assert error.message.startswith("beta: ")
    assert error.fix
    assert "{" not in error.fix


def test_the_fix_names_the_node_as_the_user_reaches_it() -> None:
    assert ended(255, CHANGED).fix.endswith("ssh-keygen -R spark-2")
    assert "ssh-copy-id me@spark-2" in ended(255, "Permission denied (publickey).").fix
    assert "beta=[user@]ADDRESS" in ended(255, "Could not resolve hostname").fix


def test_where_only_gateways_lead_the_fix_names_the_way_past_them() -> None:
    levels = ((NodeSpec("gw1", "me@gw1:2222"), NodeSpec("gw2", "gw2")), (NodeSpec("sub1", "sub1"),))
    node = NodeSpec("beta", "me@spark-2", via=levels)
    unresolved, refused, key = (
        why_ended(node, Ending("ssh", "beacon", 255, False, text))
        for text in ("Could not resolve hostname", "connect to host x port 22: Connection refused", CHANGED)
    )
    way = "in ~/.ssh/config, under `Host spark-2`, `ProxyJump me@gw1:2222,sub1`; or "
    assert unresolved.fix.startswith(f"this needs ssh from here, past the gateways: {way}check the spelling")
    assert way in refused.fix
    assert "ProxyJump" not in key.fix
    assert "ProxyJump" not in ended(255, "Could not resolve hostname").fix


@pytest.mark.parametrize(
    ("status", "stderr", "id_"),
    [
        (127, "bash: line 1: python3: command not found", "python-missing"),
        (126, "bash: /opt/python3: Permission denied", "python-missing"),
        (1, "python3: Command not found.", "python-missing"),
        (97, "python 3.8", "python-too-old"),
        (2, "Unknown option: -I", "python-too-old"),
        (1, "This account is currently not available.", "start-failed"),
        (-9, "", "start-failed"),
    ],
)
def test_a_start_that_failed_on_the_node(status: int, stderr: str, id_: str) -> None:
    error = ended(status, stderr)
    assert error.id == id_
    assert stderr in error.message


def test_words_of_the_login_shell_do_not_hide_that_the_probe_ran() -> None:
    error = ended(1, "rc: command not found\nKeyError: 'x'", started=True)
    assert (error.id, error.message) == ("probe-failed", "beta: the scan probe ended with status 1 (KeyError: 'x')")
    assert "signal 9" in ended(-9, "", started=True).message


def test_a_connection_that_broke_later_is_a_lost_node() -> None:
    error = ended(255, "client_loop: send disconnect: Broken pipe", started=True)
    assert error.id == "node-lost"
    assert ended(255, "Traceback", kind="local", started=True).id == "probe-failed"


def test_namespaces_that_can_not_be_entered() -> None:
    assert ended(125, "can't enter netns:7: Bad file descriptor", kind="netns").id == "netns-enter"
    assert ended(125, "", kind="ssh").id == "start-failed"


def test_a_namespace_that_is_gone_and_one_of_another_user_are_told_apart() -> None:
    def entering(reason: str) -> NodeError:
        return why_ended(NETNS, Ending("netns", "scan", 125, False, f"can't enter netns:1: {reason}"))

    gone = entering("[Errno 2] No such file or directory: '/proc/1/ns/user'")
    assert (gone.id, gone.message) == ("netns-gone", "beta: its namespace netns:1 is gone")
    assert "fabricdoc lab up" in gone.fix
    for reason in ("[Errno 13] Permission denied: '/proc/1/ns/user'", "[Errno 1] Operation not permitted"):
        theirs = entering(reason)
        assert theirs.id == "netns-forbidden"
        assert theirs.message.startswith("beta: its namespaces can't be entered: they are of user ")
        assert "with sudo" in theirs.fix
    assert owner_of(NodeSpec("beta", "netns:/no/such/file")) == "they are another user's"


def test_mpiruns_ssh_is_heard_through_it_and_its_fixes_are_mpiruns() -> None:
    node = NodeSpec("n", "mpirun:spark-2")

    def said(stderr: str, *, started: bool = False) -> NodeError:
        return why_ended(node, Ending("mpirun", "scan", 255, started, stderr))

    refused = said("ssh: connect to host spark-2 port 22: Connection refused\nLaunch proxy failed.")
    assert (refused.id, "mpirun -n 1 --host spark-2 hostname" in refused.fix) == ("ssh-refused", True)
    assert said(CHANGED).fix.endswith("ssh-keygen -R spark-2")
    assert said(CHANGED, started=True).id == "probe-failed"
    warning = "[vm:1] plm:ssh: Warning: setpgid(2,2) failed in parent with errno=Permission denied(13)"
    assert said(warning).id == "start-failed"


def test_a_python_too_old_is_quoted_and_not_what_a_client_adds() -> None:
    error = ended(97, "python 3.8\n-----\n  Exit code:    97\n-----", kind="mpirun")
    assert error.message == "beta: python3 is older than 3.10 (python 3.8)"


@pytest.mark.parametrize(("status", "stderr"), [(127, ""), (2, "ls: unrecognized option '-I'"), (0, ""), (1, "x")])
def test_a_named_python_is_named_in_the_fix(status: int, stderr: str) -> None:
    node = NodeSpec("alpha", "netns:7", python="/opt/py")
    error = why_ended(node, Ending("netns", "scan", status, False, stderr))
    assert error.fix.startswith("/opt/py on alpha: ")
    assert error.fix.endswith("name another with --python or python= in fabric.toml")
    missing = cant_start(node, "/opt/py", FileNotFoundError(errno.ENOENT, "No such file or directory"))
    assert missing.fix.startswith("/opt/py on alpha: not there; name another")


def test_a_default_python_is_not_blamed_on_an_option() -> None:
    missing = cant_start(NETNS, "python3", FileNotFoundError(errno.ENOENT, "No such file or directory"))
    assert missing.fix.startswith("install python3")
    assert "ssh me@spark-2 true" in ended(1, "This account is currently not available.").fix


@pytest.mark.parametrize(
    ("program", "number", "id_"),
    [
        ("ssh", errno.ENOENT, "ssh-missing"),
        ("/opt/python", errno.ENOENT, "python-missing"),
        ("/opt/python", errno.EACCES, "python-missing"),
        ("/opt/python", errno.EMFILE, "start-failed"),
    ],
)
def test_a_program_of_this_machine_that_can_not_start(program: str, number: int, id_: str) -> None:
    assert cant_start(NODE, program, OSError(number, "reason")).id == id_


def test_late_and_garbage() -> None:
    assert too_late(NODE, "scan", True, 10).message == "beta: the scan probe started but did not answer within 10 s"
    assert "nothing of ours started there within 0.5 s" in too_late(NODE, "scan", False, 0.5).message
    assert too_late(NODE, "scan", True, 10).id == "node-timeout"
    assert garbage(NODE, "scan", "a long line").id == "garbage"


@given(st.text(), st.integers(-64, 255), st.booleans(), st.sampled_from(["ssh", "local", "netns"]))
def test_whatever_a_node_prints_the_message_is_one_bounded_printable_line(
    stderr: str, status: int, started: bool, kind: str
) -> None:
    error = ended(status, stderr, kind=kind, started=started)
    assert error.message.isprintable()
    assert error.fix
    assert len(error.message) < 500
