"""Proof from real logs: what was seen, what was only echoed, and what a log does not say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.documents import Unknown
from fabricdoc.model.run import Choice, Proof
from fabricdoc.nccl.proof import MAX_CHOICES, MAX_WARNINGS, op_name, plain, read_proof

pytestmark = pytest.mark.unit

LOGS = Path(__file__).parents[2] / "fixtures" / "nccl_logs"
INFO = "n1:77:77 [0] NCCL INFO "
SHAPE = INFO + "comm 0x3d rank 0 nRanks {n} nNodes {n} localRanks 1 localRank 0 MNNVL 0\n"


def proof_of(name: str) -> Proof:
    return read_proof((LOGS / name).read_text())


def network_of(proof: Proof) -> str:
    return proof.network.unknown if isinstance(proof.network, Unknown) else proof.network


def choice(op: str, size: int, algorithm: str, protocol: str, channels: int) -> Choice:
    return Choice(op=op, size=size, algorithm=algorithm, protocol=protocol, channels=channels)


def test_a_socket_log_under_ll() -> None:
    proof = proof_of("socket_ll.log")
    assert proof.model_copy(update={"channels": (), "hcas": (), "ll128": {}}) == Proof(
        grade="seen",
        version="2.28.9",
        network="Socket",
        interfaces=("va0",),
        gpu_direct=False,
        choices=(choice("all_reduce", 32, "RING", "LL", 1), choice("all_reduce", 8, "RING", "LL", 1)),
        variables_read={
            "NCCL_SOCKET_IFNAME": "=va0",
            "NCCL_HOSTID": "nodeA",
            "NCCL_NVLS_ENABLE": "0",
            "NCCL_PROTO": "LL",
        },
    )


@pytest.mark.parametrize(
    ("name", "algorithm", "protocol", "interfaces"),
    [
        ("socket_simple.log", "RING", "SIMPLE", ("va0",)),
        ("socket_ll128.log", "RING", "LL128", ("va0",)),
        ("socket_tree.log", "TREE", "LL", ("va0",)),
        ("socket_two_rails.log", "RING", "LL", ("va2", "va3")),
        ("socket_loopback.log", "RING", "LL", ("lo",)),
    ],
)
def test_socket_logs_tell_their_settings_apart(
    name: str, algorithm: str, protocol: str, interfaces: tuple[str, ...]
) -> None:
    proof = proof_of(name)
    assert (proof.grade, proof.network, proof.interfaces) == ("seen", "Socket", interfaces)
    assert {(made.algorithm, made.protocol) for made in proof.choices} == {(algorithm, protocol)}


def test_the_two_ranks_of_a_roce_launch() -> None:
    head, other = proof_of("ib_two.rank0.log"), proof_of("ib_two.rank1.log")
    for proof in (head, other):
        assert (proof.grade, proof.network, proof.gpu_direct) == ("seen", "IB", False)
        assert proof.interfaces == ("rocep1s0f0", "roceP2p1s0f0")
    assert head.choices == (choice("all_reduce", 20480, "RING", "LL", 2),)
    assert other.choices == (), "NCCL logs choices on rank 0 alone"


@pytest.mark.parametrize(
    ("name", "interfaces"),
    [
        ("ib_four_fused.log", ("rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1")),
        ("ib_forced_pair.log", ("rocep1s0f0", "roceP2p1s0f0")),
        ("ib_one_channel.log", ("rocep1s0f0",)),
    ],
)
def test_interfaces_are_those_that_channels_run_over(name: str, interfaces: tuple[str, ...]) -> None:
    assert proof_of(name).interfaces == interfaces


def test_a_second_device_that_no_channel_uses_is_not_listed() -> None:
    using = INFO + "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n"
    channel = INFO + "Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/{}\n"
    network = INFO + "Using network IB\n"
    assert read_proof(using + network).interfaces == ("mlx5_0", "mlx5_1")
    assert read_proof(using + network + channel.format(1)).interfaces == ("mlx5_1",)
    assert read_proof(using + network + channel.format(7)).interfaces == ("mlx5_0", "mlx5_1"), "7 can't be told"


def test_a_fused_name_of_older_releases_is_two_hcas() -> None:
    using = INFO + "NET/IB : Using [0]mlx5_0+mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n"
    channel = INFO + "Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0\n"
    assert read_proof(using + INFO + "Using network IB\n" + channel).interfaces == ("mlx5_0", "mlx5_1")


def test_a_selector_that_matches_nothing_ends_in_no_network() -> None:
    proof = proof_of("ib_selector_matches_nothing.log")
    assert proof.grade == "echoed"
    assert network_of(proof) == "NCCL found no usable network: Failed to initialize any NET plugin"
    assert proof.interfaces == ()
    assert proof.variables_read["NCCL_IB_HCA"] == "mlx5"
    assert proof.warnings == ("Failed to initialize any NET plugin",)


def test_a_port_that_is_down_ends_in_sockets_without_a_warning() -> None:
    proof = proof_of("ib_port_down.log")
    assert (proof.grade, proof.network, proof.interfaces) == ("seen", "Socket", ("lo",))
    assert proof.variables_read["NCCL_IB_HCA"] == "=rocep1s0f1"
    assert proof.warnings == ()


def test_warnings_come_in_order_the_cause_first() -> None:
    warnings = proof_of("ib_cable_down.log").warnings
    assert warnings[0] == "NET/IB : rocep1s0f0:1 Got non-fatal async event: port error(10)"
    assert "status=IBV_WC_RETRY_EXC_ERR(12)" in warnings[1]


def test_warnings_are_few_short_and_not_repeated() -> None:
    lines = [f"n1:1:1 [0] a.cc:1 NCCL WARN problem {number // 2} {'x' * 900}\n" for number in range(200)]
    warnings = read_proof("".join(lines)).warnings
    assert len(warnings) == MAX_WARNINGS == len(set(warnings))
    assert max(map(len, warnings)) <= 400
    assert warnings[0].startswith("problem 0 ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA", True),
        ("Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0(0)/GDRDMA(PCI)/Shared", True),
        ("Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0", False),
        ("Connected all rings, use ring PXN 0 GDR 0", False),
    ],
)
def test_gpu_direct_comes_from_channels(text: str, expected: bool) -> None:
    assert read_proof(INFO + text).gpu_direct is expected


def test_a_rings_gdr_1_proves_nothing_and_channels_overrule_it() -> None:
    ring = INFO + "Connected all rings, use ring PXN 0 GDR 1\n"
    sockets = INFO + "Channel 00/0 : 1[0] -> 0[0] [send] via NET/Socket/0\n"
    assert isinstance(read_proof(ring).gpu_direct, Unknown)
    assert read_proof(sockets + ring).gpu_direct is read_proof(ring + sockets).gpu_direct is False


def test_gpu_direct_is_not_proved_by_what_the_nic_could_do() -> None:
    able = INFO + "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'\n" + INFO + "Using network IB\n"
    assert isinstance(read_proof(able).gpu_direct, Unknown)
    mixed = able + INFO + "Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0\n"
    assert read_proof(mixed).gpu_direct is False
    direct = INFO + "Channel 01/0 : 1[0] -> 0[0] [send] via NET/IB/0/GDRDMA\n"
    assert read_proof(mixed + direct).gpu_direct is read_proof(direct + mixed).gpu_direct is True


def test_an_all_gather_is_counted_per_rank_since_2_24() -> None:
    """enqueue.cc prints count x type size, and an all-gather's count is one rank's part."""
    line = INFO + "{}: 4096 Bytes -> Algo RING proto LL channel{{Lo..Hi}}={{0..3}}\n"
    log = SHAPE.format(n=4) + "".join(line.format(name) for name in ("AllGather", "ReduceScatter", "AllReduce"))
    sizes = {made.op: made.size for made in read_proof(log).choices}
    assert sizes == {"all_gather": 16384, "reduce_scatter": 16384, "all_reduce": 4096}


def test_an_all_gather_of_unknown_group_size_is_left_out() -> None:
    line = INFO + "AllGather: 4096 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..3}\n"
    assert read_proof(line).choices == ()
    assert read_proof(SHAPE.format(n=2) + SHAPE.format(n=8) + line).choices == ()
    assert [made.size for made in read_proof(SHAPE.format(n=2) + line).choices] == [8192]


def test_choices_up_to_2_23_are_numbers_and_whole_sizes() -> None:
    """2.22 and 2.23 print the whole size; 2.22 without the function; none says how many channels."""
    log = (
        SHAPE.format(n=4)
        + INFO
        + "AllGather: 65536 Bytes -> Algo 1 proto 2 time 24.500000\n"
        + INFO
        + "8192 Bytes -> Algo 0 proto 0 time 17.100000\n"
        + INFO
        + "AllReduce: 1 Bytes -> Algo 99 proto 0 time 1.0\n"
    )
    assert read_proof(log).choices == (
        choice("all_gather", 65536, "RING", "SIMPLE", 0),
        choice("unknown", 8192, "TREE", "LL", 0),
    )


def test_the_last_choice_for_a_size_wins() -> None:
    line = INFO + "AllReduce: 8 Bytes -> Algo {} proto LL channel{{Lo..Hi}}={{2..{}}}\n"
    proof = read_proof(INFO + "Using network IB\n" + line.format("RING", 9) + line.format("TREE", 3))
    assert proof.choices == (choice("all_reduce", 8, "TREE", "LL", 2),)
    assert proof.grade == "seen"


def test_grades_need_network_and_choices_or_channels() -> None:
    network, variable = INFO + "Using network IB\n", INFO + "NCCL_IB_TC set by environment to 106.\n"
    count = INFO + "16 coll channels, 16 collnet channels, 0 nvls channels, 16 p2p channels, 2 p2p channels per peer\n"
    assert read_proof("").grade == "none"
    assert read_proof(network).grade == "none"
    assert read_proof(network + variable).grade == "echoed"
    assert read_proof(count + variable).grade == "echoed"
    assert read_proof(network + count).grade == "seen"
    assert read_proof(INFO + "Channel 00/0 : 1[0] -> 0[0] [send] via NET/Socket/0").network == "Socket"


def test_a_log_without_nccl_lines_says_what_is_missing() -> None:
    proof = read_proof("[Gloo] Rank 0 is connected to 1 peer ranks.\n")
    assert (proof.grade, proof.interfaces, proof.choices) == ("none", (), ())
    assert network_of(proof) == "the log has no line that names the network"
    assert isinstance(proof.version, Unknown) and isinstance(proof.gpu_direct, Unknown)


def test_values_are_taken_as_read() -> None:
    log = "".join(
        INFO + text + "\n"
        for text in (
            "NCCL_ALGO set by environment to ring;allreduce:tree",
            "NCCL_MAX_CTAS set by environment to 1.",
            "NCCL_IB_HCA set to =mlx5_0,mlx5_1",
            "NCCL_SOCKET_IFNAME set to =eth0",
            "NCCL_NET set by environment to ",
        )
    )
    assert read_proof(log).variables_read == {
        "NCCL_ALGO": "ring;allreduce:tree",
        "NCCL_MAX_CTAS": "1",
        "NCCL_IB_HCA": "=mlx5_0,mlx5_1",
        "NCCL_SOCKET_IFNAME": "=eth0",
        "NCCL_NET": "",
    }


def test_names_and_texts() -> None:
    assert [op_name(name) for name in ("AllReduce", "AllGather", "ReduceScatter", "Broadcast", "AlltoAll")] == [
        "all_reduce",
        "all_gather",
        "reduce_scatter",
        "broadcast",
        "all_to_all",
    ]
    assert plain("a\x1b[31mb\u2028c", 6) == "a?[31m"


@pytest.mark.parametrize("file", sorted(LOGS.glob("*.log")), ids=lambda file: file.name)
def test_a_log_cut_anywhere_is_still_read(file: Path) -> None:
    text = file.read_text()
    for cut in range(0, len(text), 1501):
        for part in (text[:cut], text[cut:]):
            assert read_proof(part).version in ("2.28.9", Unknown(unknown="the log has no version line"))


def bounded(proof: Proof) -> bool:
    printable = json.loads(proof.model_dump_json())
    texts = [*proof.interfaces, *proof.warnings, *proof.variables_read.values(), network_of(proof)]
    return (
        len(proof.choices) <= MAX_CHOICES
        and len(proof.warnings) <= MAX_WARNINGS
        and len(proof.variables_read) <= 256
        and len(proof.interfaces) <= 4096
        and all(len(text) <= 1023 and text.isprintable() for text in texts)
        and Proof.model_validate(printable) == proof
    )


@given(st.text(max_size=400))
def test_no_text_breaks_it(text: str) -> None:
    assert bounded(read_proof(text))


PIECES = [
    INFO,
    "n1:1:1 [0] a.cc:1 NCCL WARN ",
    "Using network ",
    "NET/IB : Using [0]",
    "x:1/RoCE [RO]; OOB eth0:10.0.0.1<0>",
    "NCCL_ALGO set by environment to ",
    "Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/",
    "AllGather: ",
    "9" * 30,
    " Bytes -> Algo RING proto LL channel{Lo..Hi}={0..",
    "1}",
    "comm 0x3d rank 0 nRanks ",
    " nNodes 2 localRanks 1 localRank 0 MNNVL 0",
    "NET/IB : Made virtual device [0] name=a+b speed=1 ndevs=2",
    "7",
    "\n",
    "\x1b[0m",
    "\x07\x00",
    "é" * 50,
]


@given(st.lists(st.sampled_from(PIECES), max_size=60))
def test_no_mixture_of_its_own_words_breaks_it(pieces: list[str]) -> None:
    assert bounded(read_proof("".join(pieces)))


@pytest.mark.long
def test_a_log_of_endless_variety_stays_bounded() -> None:
    line = INFO + "AllReduce: {0} Bytes -> Algo RING proto LL channel{{Lo..Hi}}={{0..1}}\n"
    line += (
        INFO
        + "NCCL_X{0} set by environment to {0}.\n"
        + INFO
        + "NET/IB : Made virtual device [{0}] name=d{0} speed=1 ndevs=1\n"
    )
    proof = read_proof(line.format(number) for number in range(0))
    assert proof.grade == "none"
    proof = read_proof(text for number in range(6000) for text in line.format(number).splitlines())
    assert (len(proof.choices), len(proof.variables_read)) == (MAX_CHOICES, 256)
