"""Commands are found in prompts, headings and marks, and output lines are not taken for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.dumps.prompts import find_command, known_command

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("line", "tool", "argument", "host"),
    [
        ("$ ibv_devinfo -v", "ibv_devinfo", "", ""),
        ("# ip addr", "ip", "", ""),
        ("# ip -j -d link show", "ip", "", ""),
        ("root@spark1:~# ip -br a", "ip", "", "spark1"),
        ("root@spark1:~# show_gids", "show_gids", "", "spark1"),
        ("me@spark-2:/tmp/x y$ sudo ethtool -S enp1s0f0np0 | grep pause", "ethtool", "enp1s0f0np0", "spark-2"),
        ("[me@node01 ~]$ rdma -j link", "rdma", "", "node01"),
        ("(base) me@node01:~$ nvidia-smi topo -m", "nvidia-smi topo", "", "node01"),
        ("spark1$ show_gids", "show_gids", "", "spark1"),
        ("spark1> ibdev2netdev", "ibdev2netdev", "", "spark1"),
        ("+ mlnx_qos -i eth7", "mlnx_qos", "eth7", ""),
        ("=== ibv_devinfo ===", "ibv_devinfo", "", ""),
        ("--- spark1: ip route ---", "ip route", "", "spark1"),
        ("##### lspci -vvv", "lspci", "", ""),
        ("ibv_devinfo -v:", "ibv_devinfo", "", ""),
        ("`rdma link show`", "rdma", "", ""),
        ("$ ssh spark9 ibstat", "ibstat", "", "spark9"),
        ("$ docker exec -it vllm ibv_devinfo", "ibv_devinfo", "", ""),
        ("$ NCCL_DEBUG=INFO timeout 5 /usr/sbin/lspci", "lspci", "", ""),
        ("$ dmesg | tail", None, "", ""),
        ("root@spark1:~# ", None, "", "spark1"),
        ("$ ethtool --show-fec enp1s0", "ethtool", "enp1s0", ""),
        ("$ ulimit -l", "ulimit", "-l", ""),
    ],
)
def test_commands(line: str, tool: str | None, argument: str, host: str) -> None:
    found = find_command(line)
    assert found is not None
    assert (found.format.tool if found.format else None, found.argument, found.host) == (tool, argument, host)


@pytest.mark.parametrize(
    "line",
    [
        "# nThread 1 nGpus 1",
        "# this file is for ip addresses",
        "ip",
        "hostname",
        "link mlx5_0/1 state ACTIVE",
        "---\t----\t-----\t---",
        "| NVIDIA-SMI 580.95.05 |",
        "spark1:123:456 [0] NCCL INFO NET/IB : No device found.",
        "        100% done",
        "$HOME/x",
        "****** WARNING ******",
        "x" * 5000 + "$ ibv_devinfo",
        "",
    ],
)
def test_output_is_no_command(line: str) -> None:
    assert find_command(line) is None


def test_what_follows_a_pipe_does_not_matter() -> None:
    one = known_command("lspci -vvv | grep -i ethtool").format
    assert one is not None
    assert one.tool == "lspci"


@pytest.mark.long
@given(st.text(max_size=400))
def test_any_line_is_looked_at(line: str) -> None:
    find_command(line)
