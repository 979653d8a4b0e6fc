"""Builders for tests of explain: short own excerpts of logs and dumps, written after the kind, as a case.

log("alpha", "NET/IB : No device found.", warn("misc/x.cc:1", "..."))   one process' lines
told({"alpha.log": log(...), "nccl.env": "..."})                        what explain says of these files
"""

from __future__ import annotations

from collections.abc import Mapping

from fabricdoc.explain.case import Case
from fabricdoc.explain.explaining import explain
from fabricdoc.explain.files import node_in
from fabricdoc.explain.logs import read_log
from fabricdoc.explain.reading import case_of
from fabricdoc.explain.seen import Material
from fabricdoc.explain.texts import read_short
from fabricdoc.model.findings import Findings

ROCE = "NET/IB : Using {devices} [RO]; OOB {interface}:{address}<0>"


def log(host: str, *lines: str, gpu: int = 0, pid: int = 4321) -> str:
    """Lines of one process; a line made by `warn` keeps its place in NCCL's source."""
    text = ""
    for line in lines:
        front = f"{host}:{pid}:{pid + 7} [{gpu}] "
        if line.startswith("@"):
            place, _, message = line[1:].partition(" ")
            text += f"\n{front}{place} NCCL WARN {message}\n"
        elif line.startswith("="):
            text += f"{line[1:]}\n"
        else:
            text += f"{front}NCCL INFO {line}\n"
    return text


def warn(place: str, message: str) -> str:
    """A WARN line for `log`."""
    return f"@{place} {message}"


def bare(text: str) -> str:
    """A line of another program, or of NCCL without its front, for `log`."""
    return f"={text}"


def using(*devices: str, interface: str = "eno1", address: str = "192.0.2.1", link: str = "RoCE") -> str:
    """NCCL's list of HCAs; none gives an empty list."""
    listed = " ".join(f"[{at}]{name}:1/{link}" for at, name in enumerate(devices))
    return ROCE.format(devices=listed, interface=interface, address=address).replace("  ", " ")


def version(number: str) -> str:
    """NCCL's version line."""
    return f"NCCL version {number}+cuda12.4"


def gids(*rows: tuple[str, int, str, str]) -> str:
    """`show_gids` of (HCA, index, IPv4 or GID, v1|v2)."""
    text = "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n---\t----\t-----\t---\t---\t---\t---\n"
    for hca, index, address, kind in rows:
        if "." in address:
            parts = [int(part) for part in address.split(".")]
            gid = f"0000:0000:0000:0000:0000:ffff:{parts[0]:02x}{parts[1]:02x}:{parts[2]:02x}{parts[3]:02x}"
            text += f"{hca}\t1\t{index}\t{gid}\t{address}  \t{kind}\tif_{hca}\n"
        else:
            text += f"{hca}\t1\t{index}\t{address}\t\t\t{kind}\tif_{hca}\n"
    return text


FE80 = "fe80:0000:0000:0000:0a00:27ff:fe11:2233"


def links(*rows: tuple[str, str]) -> str:
    """`rdma link` of (HCA, ACTIVE|DOWN)."""
    physical = {"ACTIVE": "LINK_UP", "DOWN": "DISABLED"}
    return "".join(
        f"link {hca}/1 state {state} physical_state {physical[state]} netdev if_{hca} \n" for hca, state in rows
    )


def addresses(*rows: tuple[str, str], mtu: int = 1500) -> str:
    """`ip addr` of (interface, ADDRESS/PREFIX)."""
    text = ""
    for at, (name, address) in enumerate(rows, 2):
        text += f"{at}: {name}: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu {mtu} qdisc mq state UP group default qlen 1000\n"
        text += f"    inet {address} scope global {name}\n"
    return text


def modify_qp(
    errno: int, text: str, hca: str, local: str, remote: str, index: int = 3, place: str = "misc/ibvwrap.cc:307"
) -> str:
    """A queue pair that could not be connected, in the form since 2.24."""
    return warn(
        place,
        f"Call to ibv_modify_qp failed with {errno} {text}, on dev {hca}:1, curr state INIT, next state RTR, "
        f"local GID index {index}, local GID {local}, remote GID {remote}",
    )


def completion(status: int, vendor: int = 129, local: str = "", remote: str = "", hca: str = "") -> str:
    """A completion error, in the form of 2.20 to 2.28."""
    gid = f" localGid {local} remoteGids{remote}" if local else ""
    end = f" hca {hca}" if hca else ""
    return warn(
        "transport/net_ib.cc:1700",
        f"NET/IB: Got completion from peer 192.0.2.9<40000> with status={status} opcode=0 len=0 vendor err {vendor}"
        f" (Send){gid}{end}",
    )


def material(name: str, text: str) -> Material:
    """What one file tells."""
    made = Material(name, node_in(name.rpartition("/")[2]))
    read_log(made, [text])
    read_short(made, text)
    return made


def case(files: Mapping[str, str]) -> Case:
    """A case of these files."""
    return case_of(material(name, text) for name, text in files.items())


def told(files: Mapping[str, str]) -> Findings:
    """What explain says of these files."""
    return explain(case(files))
