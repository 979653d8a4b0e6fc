"""Presets to write in tests: one node, two that differ, two alike, a ring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from fabricdoc.model.documents import Unknown
from fabricdoc.model.preset import Fingerprint, Line, NodePreset, NodePrint, PortPrint, Preset

ALGO = "ring;allreduce:tree"
HEAD = {"NCCL_NET": "IB", "NCCL_IB_HCA": "=rocep1s0f1,roceP2p1s0f1", "NCCL_SOCKET_IFNAME": "=enp1s0f1np1"}
WORKER = {"NCCL_NET": "IB", "NCCL_IB_HCA": "=rocep1s0f0,roceP2p1s0f0", "NCCL_SOCKET_IFNAME": "=enp1s0f0np0"}
HARD = {**HEAD, "NCCL_ALGO": ALGO, "NCCL_TOPO_FILE": "/etc/a b&c|d<e>f(g)*h?[i]!{j}~", "NCCL_EMPTY": ""}
HARDER = {
    **HARD,
    "A_QUOTE": 'it\'s "x"',
    "A_DOLLAR": "$HOME`id`$(id) $$",
    "A_HASH": " # x ",
    "A_SLASH": "a\\b\\",
    "A_PCT": "%h%n",
}
NO = Unknown(unknown="not looked at")

HOSTILE = "'\"$;^=,\\`#%{}()&|*?~![]<> \t\n\r\0\x1b\x7f-éß€\u2028\U0001f600abc=NCCL_X:/"
PLAIN = ("", "IB", ALGO, "=a,b", "^=docker0", "yes", "0x1", "~", "null", "%h")
WRONG = (" x", "x ", "x\r", "x\n", "'x'", '"x"', "$$", "$(A)", "$A", "#x", "x#", "export A=b")
VALUES = st.one_of(
    st.text(alphabet=HOSTILE, max_size=24),
    st.text(max_size=12).filter(lambda text: not any(0xD800 <= ord(letter) < 0xE000 for letter in text)),
    st.sampled_from(PLAIN + WRONG),
)


def node(name: str, values: Mapping[str, str], target: str = "", evidence: str = "seen in the log") -> NodePreset:
    lines = tuple(Line(name=key, value=value, kind="placed", evidence=evidence) for key, value in values.items())
    return NodePreset(name=name, target=target or name, lines=lines)


def preset(*nodes: NodePreset, prints: Sequence[NodePrint] = ()) -> Preset:
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
        fingerprint=Fingerprint(nodes=tuple(prints)),
    )


def printed(name: str, netdev: str, *addresses: str, hostname: str = "", gpus: tuple[str, ...] = ()) -> NodePrint:
    port = PortPrint(netdev=netdev, hca=None, mac="m", mtu=9000, speed_mbps=1, addresses=addresses)
    host = hostname or NO
    return NodePrint(name=name, hostname=host, kernel=NO, torch=NO, nccl=NO, nvidia_driver=NO, gpus=gpus, ports=(port,))


def pair(more: Mapping[str, str] | None = None) -> Preset:
    """Two crossed Sparks, with addresses: what they share is NCCL_NET and `more`."""
    return preset(
        node("spark1", HEAD | dict(more or {})),
        node("spark2", WORKER | dict(more or {})),
        prints=(
            printed("spark1", "enp1s0f1np1", "fe80::1/64", "192.168.100.10/24", hostname="spark-a", gpus=("GB10",)),
            printed("spark2", "enp1s0f0np0", "192.168.100.11/24", hostname="spark-b", gpus=("GB10",)),
        ),
    )


def alone(values: Mapping[str, str], evidence: str = "seen in the log") -> Preset:
    return preset(node("alpha", values, evidence=evidence))
