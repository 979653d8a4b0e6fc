"""What OpenSSH's client says when it comes to no connection: from its words to an id, a line, and what to do.

Pure text work, as `refusals` does it for other clients. The ids: node-unreachable, ssh-refused, ssh-permission,
ssh-host-key, ssh-host-unknown, ssh-algorithms, ssh-hung-up, ssh-jump, ssh-config. ssh translates nothing (it sets
LC_CTYPE alone).
The wording is that of the sources of OpenSSH 7.4 to 10.5 (V_7_4_P1, 8.0, 8.2, 8.9, 9.2, 9.6, 9.9, 10.5: sshconnect.c,
sshconnect2.c, packet.c, kex.c, readconf.c, authfile.c, ssh.c), and that of 9.2 itself where a test makes it speak. A
server's banner is heard too, which is where its account modules say why they let nobody in; not heard is a jump host
on the way to a shared connection (sshconnect.c, ssh_proxy_connect, gives it no stderr then).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from fabricdoc.transport.nodes import NodeSpec


class Row(NamedTuple):
    """A pattern of ssh's stderr, and what it means; message and fix take the words of `words_for`."""

    pattern: str
    id: str
    message: str
    fix: str


# the first that matches counts
ROWS = (
    Row(  # packet.c: a connection without a socket, which is a ProxyJump's or a ProxyCommand's; ssh.c: -W
        r"UNKNOWN port 65535|stdio forwarding failed",
        "ssh-jump",
        "the way to it over a jump host or a ProxyCommand broke",
        "by hand it says which step broke: ssh {login} true (its steps: ssh -G {login} | grep -i proxy)",
    ),
    Row(  # Slurm's contribs/pam_slurm_adopt and pam_slurm
        r"pam_slurm|no active jobs on this node",
        "ssh-permission",
        "its Slurm lets in only who has a job there",
        "take one there (salloc -w {place}) and name its nodes with --slurm",
    ),
    Row(  # systemd's /run/nologin, shown by pam_nologin
        r"System is (booting up|going down)|pam_nologin",
        "node-unreachable",
        "it is starting up or going down",
        "wait until it is up; on it: ls /run/nologin /etc/nologin",
    ),
    Row(  # sshconnect.c, HOST_REVOKED
        r"REVOKED HOST KEY DETECTED|host key for .* was revoked",
        "ssh-host-key",
        "its ssh host key is marked as revoked here: do not trust what answers there",
        "ask who marked it; a new key for the node replaces the @revoked line of known_hosts",
    ),
    Row(  # sshconnect.c, warn_changed_key
        r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        "ssh-host-key",
        "its ssh host key is not the one known here: another machine answers, or it was set up anew",
        "make sure which, then remove the old key: ssh-keygen -R {known}",
    ),
    Row(  # sshconnect.c, check_host_cert
        r"Certificate invalid|Host certificate ",
        "ssh-host-key",
        "its ssh host certificate is not valid for this name now",
        "have its host certificate signed anew, and check both clocks",
    ),
    Row(  # sshconnect.c: StrictHostKeyChecking yes, and ask, which a batch can't answer; sshconnect2.c
        r"Host key verification failed|No .*host key is known",
        "ssh-host-unknown",
        "its ssh host key is not known here yet",
        "connect once by hand and compare the key: ssh {login}",
    ),
    Row(  # packet.c, sshpkt_vfatal with ssherr.c
        r"Unable to negotiate with|no matching .* found",
        "ssh-algorithms",
        "its sshd and this ssh have no algorithm in common",
        "update the older one; what it offers stands in this line, and `ssh -G {login}` shows what is allowed here",
    ),
    Row(  # authfile.c, sshkey_perm_ok
        r"UNPROTECTED PRIVATE KEY FILE|Permissions 0\d+ for .* are too open",
        "ssh-permission",
        "ssh login refused: the key was not tried, since others may read its file",
        "take their rights away: chmod 600 on the file that this line names",
    ),
    Row(  # sshconnect.c with strerror: EACCES and EPERM of connect(), a prohibit route or a firewall of this machine
        r"connect to host .*(Permission denied|Operation not permitted)",
        "node-unreachable",
        "this machine does not let a connection to it out",
        "see this machine's routes and firewall: ip route get ADDRESS; nft list ruleset",
    ),
    Row(  # sshconnect2.c: `Permission denied (` before 7.6, with user and host in front since; auth.c
        r"Permission denied \(|Too many authentication failures|No supported authentication",
        "ssh-permission",
        "ssh login refused",
        "set up a key for {who} (ssh-copy-id {login}) or load it (ssh-add); under sudo ssh uses root's keys",
    ),
    Row(
        r"[Cc]onnection refused",
        "ssh-refused",
        "nothing listens for ssh there",
        "start sshd on it, or name its port: {place}:PORT",
    ),
    Row(  # ssh.c, resolve_host
        r"Could not resolve hostname",
        "node-unreachable",
        "its name can't be resolved",
        "check the spelling, or give the address: {name}=[user@]ADDRESS",
    ),
    Row(  # sshconnect.c, waitrfd; kex.c, banner exchange; clientloop.c, ServerAlive
        r"timed out|not responding",
        "node-unreachable",
        "it does not answer ssh in time",
        "check that it is up and not overloaded, and that no firewall drops it: ssh {login} true",
    ),
    Row(
        r"No route to host|is unreachable|is down|Address family not supported|Cannot assign requested",
        "node-unreachable",
        "no way to it from this machine: it is off, or on no network of this one",
        "check that it is up, its address, and this machine's routes: ip route get ADDRESS",
    ),
    Row(  # kex.c (ssh_exchange_identification before 8.0; from 10.x below ERROR when the other side just closes)
        r"_exchange_identification|banner line|No SSH version",
        "ssh-hung-up",
        "it hangs up before ssh begins",
        "too many logins at once (MaxStartups), a penalty of some minutes (PerSourcePenalties), or no sshd: {try_it}",
    ),
    Row(  # packet.c: sshd, or an account module (pam_slurm_adopt, pam_nologin), ended it
        r"Connection (closed|reset)|Disconnected from|Received disconnect|Broken pipe",
        "ssh-hung-up",
        "it closed the ssh connection at the login",
        "see what it says: {try_it} (Slurm may let in only who has a job there: use --slurm in one)",
    ),
    Row(  # readconf.c
        r"[Bb]ad (configuration|owner)|Can't open user config|terminating, \d+ bad|(?m:^\S*[^\s:] line \d+:)",
        "ssh-config",
        "ssh doesn't accept its configuration",
        "check it with: ssh -G {login}",
    ),
)


def may_pass(stderr: str) -> bool:
    """Whether ssh may come through a moment later: someone hung up on it, as sshd does above its MaxStartups.

    Its default drops a third of the logins beyond ten at once, which is what a jump host of many nodes sees.
    """
    first = next((row.id for row in ROWS if re.search(row.pattern, stderr)), "")
    return first in ("ssh-hung-up", "ssh-jump")


def meaning(node: NodeSpec, stderr: str) -> tuple[Row, str] | None:
    """What ssh's stderr means for this node, its words filled in, and the line that told it; None for other words."""
    for row in ROWS:
        if re.search(row.pattern, stderr):
            words = words_for(node)
            return row._replace(message=row.message.format(**words), fix=row.fix.format(**words)), telling(row, stderr)
    return None


def telling(row: Row, stderr: str) -> str:
    """The line that holds the matched words; of a broken jump that of the step that broke, where it speaks."""
    lines = [line for line in stderr.splitlines() if re.search(r"\w", line)]
    if row.id == "ssh-jump":
        own = r"_exchange_identification|UNKNOWN port|stdio forwarding failed|[Bb]anner exchange"
        return next((line for line in lines if not re.search(own, line)), lines[0])
    if "UNPROTECTED" in row.pattern:
        return next((line for line in lines if "too open" in line), stderr)
    return next((line for line in lines if re.search(row.pattern, line)), stderr)


def words_for(node: NodeSpec) -> dict[str, str]:
    """How a fix writes the node: as a target (`place`), for ssh (`login`), for known_hosts (`known`), as a user.

    An IPv6 address has brackets where a port may follow, and none where ssh takes the port as an option.
    """
    where = node.where
    who = f"{where.user}@{where.host}" if where.user else where.host
    place = f"[{where.host}]" if ":" in where.host else where.host
    login = f"-p {where.port} {who}" if where.port else who
    return {
        "name": node.name,
        "who": who,
        "place": f"{where.user}@{place}" if where.user else place,
        "login": login,
        "known": f"'[{where.host}]:{where.port}'" if where.port else where.host,
        "try_it": f"ssh -v {login} true",
    }
