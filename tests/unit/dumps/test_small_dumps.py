"""A few lines of the usual commands, as people paste them: the finding they prove, and none where they nearly do."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.checks import check_fabric
from fabricdoc.dumps import read_dumps

pytestmark = pytest.mark.unit

Files = dict[str, str]
UP = "link {0}/1 state ACTIVE physical_state LINK_UP netdev {1} \n"
BOTH = UP.format("mlx5_0", "ens1np0") + UP.format("mlx5_1", "ens2np0")
ADDR = "{0}: {1}: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu {3} qdisc mq state UP\n    inet {2} scope global {1}\n"
HEAD = "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---\n"
GID = "{0}\t1\t{1}\t0000:0000:0000:0000:0000:ffff:0a4d:{2}\t10.77.{3}  \tv2\t{4}\n"
DEVICE = "hca_id:\tmlx5_0\n\tfw_ver:\t\t{0}\n\tvendor_id:\t\t0x02c9\n\tvendor_part_id:\t\t4129\n\tboard_id:\t\tX1\n"
PORT = "\t\tport:\t1\n\t\t\tstate:\t\tPORT_ACTIVE (4)\n\t\t\tactive_mtu:\t\t{0}\n\t\t\tlink_layer:\t\tEthernet\n"
NO_FOLDER = "ls: cannot access '/dev/infiniband': No such file or directory\n"
INFINIBAND = "link mlx5_4/1 subnet_prefix fe80:0000:0000:0000 lid 9 sm_lid 1 lmc 0 state {} physical_state {} \n"
DOWN = "link mlx5_0/1 state DOWN physical_state DISABLED netdev ens1np0 \n"


def gids(second: int) -> str:
    first = GID.format("rocep1s0f1", 3, "0101", "1.1", "enp1s0f1np1")
    return HEAD + first + GID.format("roceP2p1s0f1", second, "0201", "2.1", "enP2p1s0f1np1")


def addr(*cidrs: str, mtu: int = 9000) -> str:
    return "".join(ADDR.format(k + 1, f"ens{k}np0", cidr, mtu) for k, cidr in enumerate(cidrs, 1))


def two(first: str, second: str) -> Files:
    """Two nodes with a port each, and these addresses on them."""
    ips = {"n1": addr(first), "n2": addr(second)}
    links = {f"{name}_rdma_link.txt": UP.format("mlx5_0", "ens1np0") for name in ips}
    return {**links, **{f"{name}_ip_addr.txt": text for name, text in ips.items()}}


def devinfo(firmware: str = "28.45.4028", mtu: str = "4096 (5)") -> str:
    return DEVICE.format(firmware) + PORT.format(mtu)


def qos(pfc: str, trust: str = "dscp") -> str:
    head = f"DCBX mode: OS controlled\nPriority trust state: {trust}\nPFC configuration:\n"
    return f"{head}\tpriority    0   1   2   3   4   5   6   7\n\tenabled     {pfc}\n"


def ports_with(first: str, second: str) -> Files:
    return {"rdma_link.txt": BOTH, "mlnx_qos-ens1np0.txt": first, "mlnx_qos-ens2np0.txt": second}


LOSSLESS, LOSSY = "0   0   0   1   0   0   0   0", "0   0   0   0   0   0   0   0"
CASES: dict[str, tuple[Files, Files]] = {
    "gid-index-differs-between-hcas": ({"show_gids.txt": gids(4)}, {"show_gids.txt": gids(3)}),
    "firmware-differs-between-nodes": (
        {"n1_ibv_devinfo.txt": devinfo(), "n2_ibv_devinfo.txt": devinfo("28.43.1000")},
        {"n1_ibv_devinfo.txt": devinfo(), "n2_ibv_devinfo.txt": devinfo("28.43.1000").replace("4129", "4131")},
    ),
    "mtu-mismatch": (
        {"n1_ibv_devinfo.txt": devinfo(), "n2_ibv_devinfo.txt": devinfo(mtu="1024 (3)")},
        {"n1_ibv_devinfo.txt": devinfo(), "n2_ibv_devinfo.txt": devinfo(mtu="4096 (5)")},
    ),
    "memlock-limit-too-low": (
        {"rdma_link.txt": BOTH, "ulimit.txt": "max locked memory           (kbytes, -l) 8192\n"},
        {"rdma_link.txt": BOTH, "ulimit.txt": "max locked memory           (kbytes, -l) unlimited\n"},
    ),
    "container-rdma-device-missing": (
        {"rdma_link.txt": BOTH, "dev_infiniband.txt": NO_FOLDER},
        {"rdma_link.txt": BOTH, "dev_infiniband.txt": "$ ls /dev/infiniband\nrdma_cm uverbs0\n"},
    ),
    "nics-share-subnet": (
        {"rdma_link.txt": BOTH, "ip_addr.txt": addr("10.40.0.11/24", "10.40.0.12/24")},
        {"rdma_link.txt": BOTH, "ip_addr.txt": addr("10.40.0.11/24", "10.40.1.12/24")},
    ),
    "duplicate-address": (two("10.1.0.1/24", "10.1.0.1/24"), two("10.1.0.1/24", "10.1.0.2/24")),
    "no-active-port": ({"rdma_link.txt": DOWN}, {"rdma_link.txt": DOWN + UP.format("mlx5_1", "ens2np0")}),
    "port-down-netdev-up": (
        {"rdma_link.txt": BOTH.replace("ACTIVE", "INIT", 1), "ip_addr.txt": addr("10.1.0.1/24")},
        {
            "rdma_link.txt": BOTH.replace("ACTIVE", "INIT", 1),
            "ip_addr.txt": addr("10.1.0.1/24").replace("LOWER_UP", "NO-CARRIER"),
        },
    ),
    "half-duplex": (
        {"rdma_link.txt": BOTH, "ethtool.txt": "Settings for ens1np0:\n\tSpeed: 100000Mb/s\n\tDuplex: Half\n"},
        {"rdma_link.txt": BOTH, "ethtool.txt": "Settings for ens1np0:\n\tSpeed: 100000Mb/s\n\tDuplex: Full\n"},
    ),
    "qos-trust-differs": (ports_with(qos(LOSSLESS), qos(LOSSLESS, "pcp")), ports_with(qos(LOSSY), qos(LOSSY, "pcp"))),
    "mixed-link-layers": (
        {"rdma_link.txt": BOTH + INFINIBAND.format("ACTIVE", "LINK_UP")},
        {"rdma_link.txt": BOTH + INFINIBAND.format("DOWN", "POLLING")},
    ),
    "payload-corrupt": (
        {"rdma_link.txt": BOTH, "x.txt": "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/rx_icrc_encapsulated:4\n"},
        {"rdma_link.txt": BOTH, "x.txt": "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/rx_icrc_encapsulated:0\n"},
    ),
}


def ids(folder: Path, files: Files) -> set[str]:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return {one.id for one in check_fabric(read_dumps([folder]).fabric())}


@pytest.mark.parametrize("id_", CASES)
def test_what_the_lines_prove_is_told_and_what_they_nearly_prove_is_not(id_: str, tmp_path: Path) -> None:
    has, nearly = CASES[id_]
    assert id_ in ids(tmp_path / "has", has)
    assert id_ not in ids(tmp_path / "nearly", nearly)


@pytest.mark.parametrize("id_", CASES)
@pytest.mark.parametrize("how", ["crlf", "coloured", "tabs-lost", "one-file"])
def test_however_it_was_pasted(id_: str, how: str, tmp_path: Path) -> None:
    has = CASES[id_][0]
    changed = {
        "crlf": {name: text.replace("\n", "\r\n") for name, text in has.items()},
        "coloured": {name: f"\x1b[1m{text}\x1b[0m" for name, text in has.items()},
        "tabs-lost": {name: text.expandtabs(8) for name, text in has.items()},
        "one-file": {"all.txt": "".join(f"==> {name} <==\n{text}\n" for name, text in has.items())},
    }[how]
    assert id_ in ids(tmp_path / "d", changed)
