"""OpenSSH's own lines, of several of its versions, become an id and a fix; the lines are those of its sources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.transport.failures import Ending, why_ended
from fabricdoc.transport.nodes import NodeSpec
from fabricdoc.transport.ssh_words import ROWS, may_pass, meaning, words_for

pytestmark = pytest.mark.unit

NODE = NodeSpec("beta", "me@spark-2")
CONNECT = "ssh: connect to host spark-2 port 22: "
AT = "@" * 59
CHANGED = f"""{AT}
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
{AT}
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!
Host key for spark-2 has changed and you have requested strict checking.
Host key verification failed.
"""
REVOKED = f"""{AT}
@       WARNING: REVOKED HOST KEY DETECTED!               @
{AT}
The ED25519 host key for spark-2 is marked as revoked.
ED25519 host key for spark-2 was revoked and you have requested strict checking.
Host key verification failed.
"""
OPEN_KEY = f"""{AT}
@         WARNING: UNPROTECTED PRIVATE KEY FILE!          @
{AT}
Permissions 0644 for '/home/me/.ssh/id_ed25519' are too open.
It is required that your private key files are NOT accessible by others.
This private key will be ignored.
me@spark-2: Permission denied (publickey).
"""


@pytest.mark.parametrize(
    ("stderr", "id_", "words"),
    [
        (CONNECT + "Connection refused", "ssh-refused", "nothing listens"),
        (CONNECT + "Connection timed out", "node-unreachable", "does not answer"),
        (CONNECT + "No route to host", "node-unreachable", "no way to it"),
        (CONNECT + "Network is unreachable", "node-unreachable", "no way to it"),
        (CONNECT + "Network is down", "node-unreachable", "no way to it"),
        (CONNECT + "Permission denied", "node-unreachable", "let a connection to it out"),
        (CONNECT + "Operation not permitted", "node-unreachable", "let a connection to it out"),
        # 7.4 to 10.5; until 7.4 without the second line
        ("Connection timed out during banner exchange", "node-unreachable", "does not answer"),
        ("Connection timed out during banner exchange\r\nConnection to 10.0.0.1 port 22 timed out\r\n", None, "answer"),
        ("ssh: Could not resolve hostname spark-2: Name or service not known", "node-unreachable", "resolved"),
        ("ssh: Could not resolve hostname spark-2: Temporary failure in name resolution", None, "resolved"),
        ("ssh_exchange_identification: Connection closed by remote host", "ssh-hung-up", "before ssh begins"),  # 7.4
        ("kex_exchange_identification: Connection closed by remote host\nConnection", "ssh-hung-up", "before ssh"),
        ("kex_exchange_identification: read: Connection reset by peer", "ssh-hung-up", "before ssh begins"),
        ("kex_exchange_identification: banner line contains invalid characters", "ssh-hung-up", "before"),  # 8.0
        ("Connection closed by 10.0.0.1 port 22", "ssh-hung-up", "at the login"),  # pam_slurm_adopt; 10.x: all
        ("Connection reset by 10.0.0.1 port 22", "ssh-hung-up", "at the login"),
        ("Permission denied (publickey).", "ssh-permission", "login refused"),  # 7.4
        ("me@spark-2: Permission denied (publickey,password).", "ssh-permission", "login refused"),  # 8.0 and later
        ("Received disconnect from ::1 port 22:2: Too many authentication failures", "ssh-permission", "refused"),
        (OPEN_KEY, "ssh-permission", "others may read its file (Permissions 0644 for '/home/me/.ssh/id_ed25519'"),
        (CHANGED, "ssh-host-key", "not the one known here"),
        (REVOKED, "ssh-host-key", "revoked"),
        ("Certificate invalid: name is not a listed principal\nHost key verification failed.", "ssh-host-key", "cert"),
        ("No ED25519 host key is known for spark-2 and you have requested strict checking.", "ssh-host-unknown", ""),
        ("Host key verification failed.", "ssh-host-unknown", "not known here yet"),
        (
            "Unable to negotiate with 10.0.0.1 port 22: no matching host key type found. Their offer: ssh-rsa,ssh-dss",
            "ssh-algorithms",
            "Their offer: ssh-rsa",
        ),
        (
            "ssh: connect to host jump port 22: Connection refused\r\nConnection closed by UNKNOWN port 65535",
            "ssh-jump",
            "(ssh: connect to host jump port 22: Connection refused)",
        ),
        (
            "channel 0: open failed: connect failed: No route to host\nstdio forwarding failed\n"
            "Connection closed by UNKNOWN port 65535",
            "ssh-jump",
            "(channel 0: open failed: connect failed: No route to host)",
        ),
        (
            "Access denied by pam_slurm_adopt: you have no active jobs on this node\nConnection closed by ::1 port 22",
            "ssh-permission",
            "only who has a job there (Access denied by pam_slurm_adopt",
        ),
        (
            "System is booting up. Unprivileged users are not permitted to log in yet. pam_nologin(8)",
            None,
            "starting up",
        ),
        ("Bad owner or permissions on /home/me/.ssh/config", "ssh-config", ""),
        ("/home/me/.ssh/config: line 3: Bad configuration option: nope", "ssh-config", ""),
        ("/home/me/.ssh/config: terminating, 1 bad configuration options", "ssh-config", "terminating"),
        ('/home/me/.ssh/config line 3: unsupported option "maybe".', "ssh-config", "line 3"),
        ("Can't open user config file /x: No such file or directory", "ssh-config", ""),
    ],
)
def test_what_ssh_says_becomes_a_line_that_names_the_node(stderr: str, id_: str | None, words: str) -> None:
    error = why_ended(NODE, Ending("ssh", "scan", 255, False, stderr))
    assert error.id == (id_ or "node-unreachable")
    assert error.message.startswith("beta: ")
    assert words in error.message
    assert error.fix
    assert "{" not in error.fix


@pytest.mark.parametrize(
    "text", ["", "something new", "bash: x: Permission denied", "errno=Permission denied(13)", "Last login: today"]
)
def test_other_words_mean_nothing(text: str) -> None:
    assert meaning(NODE, text) is None


@pytest.mark.parametrize(
    ("stderr", "passes"),
    [
        ("kex_exchange_identification: Connection closed by remote host\nConnection closed by ::1 port 22", True),
        ("kex_exchange_identification: read: Connection reset by peer", True),
        ("Connection closed by UNKNOWN port 65535", True),
        ("Connection closed by ::1 port 22", True),  # from 10.x on, the only line
        ("Access denied by pam_slurm_adopt: you have no active jobs on this node\nConnection closed by ::1", False),
        ("me@spark-2: Permission denied (publickey).", False),
        (CONNECT + "Connection refused", False),
        (CONNECT + "Connection timed out", False),
        (CHANGED, False),
        ("", False),
    ],
)
def test_only_who_was_hung_up_on_is_tried_again(stderr: str, passes: bool) -> None:
    assert may_pass(stderr) is passes


def test_the_fix_names_the_node_as_the_user_reaches_it() -> None:
    def fix(target: str, stderr: str) -> str:
        found = meaning(NodeSpec("b", target), stderr)
        assert found is not None
        return found[0].fix

    assert fix("[::1]:1", "Connection refused").endswith("name its port: [::1]:PORT")
    assert fix("me@[::1]:1", "Connection refused").endswith("name its port: me@[::1]:PORT")
    assert fix("[::1]:1", CONNECT + "Connection timed out").endswith("ssh -p 1 ::1 true")
    assert "ssh-copy-id -p 22 me@spark" in fix("me@spark:22", "Permission denied (publickey).")
    assert fix("spark:2222", CHANGED).endswith("ssh-keygen -R '[spark]:2222'")
    assert fix("[::1]", CHANGED).endswith("ssh-keygen -R ::1")
    assert fix("spark-2", CHANGED).endswith("ssh-keygen -R spark-2")
    assert "b=[user@]ADDRESS" in fix("spark-2", "Could not resolve hostname")


def test_every_row_can_be_written_out() -> None:
    words = words_for(NODE)
    for row in ROWS:
        assert row.message.format(**words)
        assert row.fix.format(**words)


@given(st.text())
def test_whatever_it_says_one_line_is_quoted(text: str) -> None:
    if found := meaning(NODE, text + "\nConnection refused"):
        assert "\n" not in found[1]
