"""Rules of the choice of HCAs: filters, lists of nodes, fused NICs; each with what only looks like it."""

from __future__ import annotations

import pytest

from fabricdoc.explain.rules.selection import fits
from tests.excerpts import addresses, gids, links, log, modify_qp, told, using, version, warn

pytestmark = pytest.mark.unit

Files = dict[str, str]
IB, SOCKETS = "Using network IB", "Using network Socket"
HCA = "NCCL_IB_HCA set to {}"


@pytest.mark.parametrize(
    ("value", "hca", "taken"),
    [
        ("mlx5_1", "mlx5_10", True),
        ("=mlx5_1", "mlx5_10", False),
        ("^mlx5_1", "mlx5_10", False),
        ("^=mlx5_1", "mlx5_10", True),
        ("=^mlx5_1", "mlx5_1", False),
        ("=mlx5_1:2", "mlx5_1", False),
        ("", "mlx5_1", True),
        ("^", "mlx5_1", False),
        ("a, mlx5_1", "mlx5_1", False),
    ],
)
def test_a_filter_takes_what_nccl_would(value: str, hca: str, taken: bool) -> None:
    assert fits(value, hca) is taken


PREFIX = {
    "the log says both": {"a.log": log("alpha", HCA.format("mlx5_1"), using("mlx5_1", "mlx5_12"), IB)},
    "a virtual function": {"a.log": log("alpha", HCA.format("rocep3s0f0:1"), using("rocep3s0f0", "rocep3s0f0v0"), IB)},
    "told by the env file": {"a.log": log("alpha", using("mlx5_1", "mlx5_12"), IB), "nccl.env": "NCCL_IB_HCA=mlx5_1\n"},
}
NOT_PREFIX = {
    "exact": {"a.log": log("alpha", HCA.format("=mlx5_1"), using("mlx5_1"), IB)},
    "meant for all": {"a.log": log("alpha", HCA.format("mlx5"), using("mlx5_1", "mlx5_12"), IB)},
    "both are named": {"a.log": log("alpha", HCA.format("mlx5_1,mlx5_12"), using("mlx5_1", "mlx5_12"), IB)},
}
NOTHING = {
    "sockets follow": {"a.log": log("alpha", HCA.format("mlx5_0:2"), "NET/IB : No device found.", using(), SOCKETS)},
    "the port is down": {
        "a.log": log("alpha", HCA.format("=mlx5_1"), "NET/IB : No device found.", SOCKETS),
        "rdma_link.txt": links(("mlx5_0", "ACTIVE"), ("mlx5_1", "DOWN")),
    },
    "NCCL_NET=IB refuses": {
        "a.log": log(
            "alpha",
            HCA.format("rocep9"),
            "NET/IB : No device found.",
            warn("plugin/net.cc:379", "Failed to initialize any NET plugin"),
        )
    },
}
NAMES = {
    "down there": {
        "nccl.env": "NCCL_IB_HCA=mlx5_0\n",
        "alpha_rdma_link.txt": links(("mlx5_0", "ACTIVE")),
        "bravo_rdma_link.txt": links(("mlx5_0", "DOWN"), ("mlx5_3", "ACTIVE")),
    },
    "not there": {
        "run.env": "NCCL_IB_HCA==rocep1s0f0\n",
        "alpha_ibdev2netdev.txt": "rocep1s0f0 port 1 ==> enp1s0f0np0 (Up)\n",
        "bravo_ibdev2netdev.txt": "roceP2p1s0f1 port 1 ==> enP2p1s0f1np1 (Up)\n",
    },
}
ELSEWHERE = {
    "tables of both": {
        "nccl.env": "NCCL_IB_HCA=mlx5_0,mlx5_1\n",
        "alpha_show_gids.txt": gids(("mlx5_0", 3, "10.1.0.5", "v2"), ("mlx5_1", 3, "10.77.0.5", "v2")),
        "bravo_show_gids.txt": gids(("mlx5_0", 3, "10.1.0.6", "v2"), ("mlx5_1", 3, "172.16.0.6", "v2")),
    },
}
COUNTS = {
    "NCCL counts": {
        "alpha.log": log(
            "alpha",
            using("mlx5_0", "mlx5_1"),
            warn("init.cc:900", "Detected mixed local Net device counts across ranks (min 1, max 2)"),
        ),
        "bravo.log": log("bravo", using("mlx5_0")),
    },
    "lists alone": {
        "alpha.log": log("alpha", using("mlx5_0", "mlx5_1"), IB),
        "bravo.log": log("bravo", using("mlx5_0"), IB),
    },
}
MIXED = {
    "in one list": {
        "a.log": log(
            "alpha",
            using("mlx5_0", link="IB").replace(" [RO]", " [1]mlx5_4:1/RoCE [RO]"),
            warn("net_ib.cc:1", "NET/IB : Attempted to connect incompatible devices"),
        )
    },
    "one kind a node": {
        "alpha.log": log("alpha", using("mlx5_0", link="IB"), IB),
        "bravo.log": log("bravo", using("mlx5_0"), IB),
    },
}
FUSED = "NET/IB : Using [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE} [RO]; OOB eno1:192.0.2.1<0>"
MERGED = {
    "members": {
        "a.log": log(
            "alpha",
            FUSED,
            warn(
                "net_ib.cc:1100",
                "NET/IB : Local mergedDev=mlx5_0+mlx5_1 has a different number of devices=2 as "
                "remoteDev=mlx5_2 nRemDevs=1",
            ),
        )
    },
    "newer words": {
        "a.log": log(
            "alpha",
            warn(
                "net_ib.cc:1200",
                "NET/IB : Local mergedDev mlx5_0+mlx5_1 has a different number of devices=2 as remote mlx5_2 1",
            ),
        )
    },
}
ONE_END = {
    "alpha.log": log("alpha", version("2.21.5"), FUSED, IB),
    "bravo.log": log("bravo", using("mlx5_0", "mlx5_1"), IB),
}
MADE = "NET/IB : Made virtual device [0] name={} speed=400000 ndevs=2"
ORDER = {
    "names": {
        "alpha.log": log(
            "alpha",
            MADE.format("mlx5_0+mlx5_1"),
            modify_qp(110, "Connection timed out", "mlx5_0", "::ffff:10.1.0.5", "::ffff:10.2.0.6"),
        ),
        "bravo.log": log("bravo", MADE.format("mlx5_1+mlx5_0")),
    },
    "NCCL says so": {
        "alpha.log": log(
            "alpha",
            warn(
                "net_ib.cc:1",
                "NET/IB : mismatched physical devices between local (mlx5_0 mlx5_1) and remote (mlx5_1 mlx5_0)",
            ),
        ),
    },
    "by subnets": {
        "alpha.log": log(
            "alpha",
            MADE.format("mlx5_0+mlx5_1"),
            modify_qp(110, "Connection timed out", "mlx5_0", "::ffff:10.1.0.5", "::ffff:10.2.0.6"),
        ),
        "alpha_show_gids.txt": gids(("mlx5_0", 3, "10.1.0.5", "v2"), ("mlx5_1", 3, "10.2.0.5", "v2")),
        "bravo_show_gids.txt": gids(("mlx5_0", 3, "10.2.0.6", "v2"), ("mlx5_1", 3, "10.1.0.6", "v2")),
    },
}
UNUSABLE = {
    "another namespace": {
        "a.log": log(
            "alpha",
            version("2.28.9"),
            using("mlx5_0", "mlx5_5"),
            modify_qp(19, "No such device", "mlx5_5", "fe80::1", "fe80::2", index=0),
        )
    },
    "the old words": {
        "a.log": log(
            "alpha",
            version("2.16.2"),
            using("mlx5_0", "mlx5_5"),
            IB,
            warn("misc/ibvwrap.cc:284", "Call to ibv_modify_qp failed with error No such device"),
        )
    },
    "no route": {
        "a.log": log(
            "alpha",
            version("2.28.9"),
            using("mlx5_0", "mlx5_5"),
            modify_qp(101, "Network is unreachable", "mlx5_5", "::ffff:10.9.0.1", "::ffff:10.8.0.1"),
        )
    },
}


def rows(table: dict[str, Files]) -> list[object]:
    return [pytest.param(files, id=name) for name, files in table.items()]


@pytest.mark.parametrize("files", rows(PREFIX))
def test_a_prefix_that_takes_more_is_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "ib-hca-prefix-match"
    assert any("NCCL_IB_HCA==" in line for line in document.findings[0].fix)


@pytest.mark.parametrize("files", rows(NOT_PREFIX))
def test_a_filter_that_takes_what_it_says_is_nothing_wrong(files: Files) -> None:
    assert told(files).verdict == "none"


@pytest.mark.parametrize("files", rows(NOTHING))
def test_a_filter_that_fits_nothing_is_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "ib-hca-matches-nothing"
    assert document.findings[0].severity == ("error" if "NET plugin" in files["a.log"] else "warning")


def test_an_empty_list_without_a_filter_fits_everything() -> None:
    assert told({"a.log": log("alpha", "NET/IB : No device found.", using(), SOCKETS)}).verdict == "none"


@pytest.mark.parametrize("files", rows(NAMES))
def test_names_that_are_right_on_one_node_are_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "ib-hca-names-differ-between-nodes"
    assert document.findings[0].subject == "bravo"


def test_names_that_are_up_on_both_do_not_differ() -> None:
    files = {
        "nccl.env": "NCCL_IB_HCA=mlx5_0\n",
        "alpha_rdma_link.txt": links(("mlx5_0", "ACTIVE")),
        "bravo_rdma_link.txt": links(("mlx5_0", "ACTIVE"), ("mlx5_3", "DOWN")),
    }
    assert told(files).verdict == "none"


@pytest.mark.parametrize("files", rows(ELSEWHERE))
def test_a_port_that_leads_elsewhere_is_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "ib-hca-includes-port-cabled-elsewhere"
    assert any("NCCL_IB_HCA==mlx5_0" in line for line in document.findings[0].fix)


def test_rails_in_shared_subnets_lead_nowhere_else() -> None:
    files = {
        "nccl.env": "NCCL_IB_HCA=mlx5_0,mlx5_1\n",
        "alpha_show_gids.txt": gids(("mlx5_0", 3, "10.1.0.5", "v2"), ("mlx5_1", 3, "10.2.0.5", "v2")),
        "bravo_show_gids.txt": gids(("mlx5_0", 3, "10.1.0.6", "v2"), ("mlx5_1", 3, "10.2.0.6", "v2")),
    }
    assert told(files).verdict == "none"


@pytest.mark.parametrize("files", rows(COUNTS))
def test_unequal_lists_are_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "hca-sets-differ-between-nodes"
    assert "1 on bravo, 2 on alpha" in document.findings[0].cause


def test_lists_that_differ_in_a_run_that_works_are_only_considered() -> None:
    files = {
        "alpha.log": log("alpha", using("mlx5_0", "mlx5_1"), IB, "Connected all rings"),
        "bravo.log": log("bravo", using("mlx5_0"), IB),
    }
    document = told(files)
    assert document.verdict == "none"
    assert [one.id for one in document.considered] == ["hca-sets-differ-between-nodes"]


def test_equal_lists_do_not_differ() -> None:
    files = {"alpha.log": log("alpha", using("mlx5_0"), IB), "bravo.log": log("bravo", using("mlx5_0"), IB)}
    assert told(files).verdict == "none"


@pytest.mark.parametrize("files", rows(MIXED))
def test_mixed_link_layers_are_told(files: Files) -> None:
    assert told(files).verdict == "mixed-link-layers"


def test_both_kinds_in_a_run_that_works_are_only_considered() -> None:
    both = using("mlx5_0", link="IB").replace(" [RO]", " [1]mlx5_4:1/RoCE [RO]")
    document = told({"a.log": log("alpha", both, IB, "Connected all rings")})
    assert document.verdict == "none"
    assert [one.id for one in document.considered] == ["mixed-link-layers"]


def test_one_kind_everywhere_is_not_mixed() -> None:
    files = {
        "alpha.log": log("alpha", using("mlx5_0", link="IB"), IB),
        "bravo.log": log("bravo", using("mlx5_0", link="IB"), IB),
    }
    assert told(files).verdict == "none"


@pytest.mark.parametrize("files", rows(MERGED))
def test_unequal_fusion_is_told(files: Files) -> None:
    assert told(files).verdict == "nic-merge-asymmetric"


def test_fusion_alone_is_nothing_wrong() -> None:
    assert told({"a.log": log("alpha", FUSED, IB)}).verdict == "none"


@pytest.mark.parametrize("files", rows(ORDER))
def test_another_order_of_members_is_told(files: Files) -> None:
    assert told(files).verdict == "fused-nic-subdevice-order-differs"


def test_the_same_order_is_nothing_wrong() -> None:
    files = {
        "alpha.log": log("alpha", MADE.format("mlx5_0+mlx5_1")),
        "bravo.log": log("bravo", MADE.format("mlx5_0+mlx5_1")),
    }
    assert told(files).verdict == "none"


def test_a_forced_fusion_of_unknown_names_is_told() -> None:
    line = warn("graph/topo.cc:1061", "TOPO/NET : Only matched 1 devices, 2 requested from mlx5_0,mlx5_9")
    assert told({"a.log": log("alpha", using("mlx5_0"), line)}).verdict == "force-merge-unknown-hca"


def test_an_automatic_fusion_that_fails_is_nothing_wrong() -> None:
    line = (
        "TOPO/NET : Tried merging multiple devices together and failed. vProps={ndevs=2}. Set NCCL_NET_MERGE_LEVEL=LOC"
    )
    assert told({"a.log": log("alpha", using("mlx5_0", "mlx5_1"), line, IB)}).verdict == "none"


@pytest.mark.parametrize("files", rows(UNUSABLE))
def test_an_hca_that_can_not_be_used_is_told(files: Files) -> None:
    assert told(files).verdict == "unusable-hca-visible"


def test_an_hca_of_the_list_was_not_taken_by_default() -> None:
    files = {
        "a.log": log(
            "alpha",
            HCA.format("=mlx5_5"),
            using("mlx5_5"),
            modify_qp(19, "No such device", "mlx5_5", "fe80::1", "fe80::2"),
        )
    }
    assert told(files).verdict != "unusable-hca-visible"


def test_an_address_dump_alone_says_nothing_of_hcas() -> None:
    assert told({"ip_addr.txt": addresses(("eno1", "10.1.0.5/24"))}).verdict == "none"


def test_fusion_on_one_end_of_a_run_that_stands_still_is_told() -> None:
    assert told(ONE_END).verdict == "nic-merge-asymmetric"


def test_fusion_on_one_end_of_a_run_that_works_is_nothing_wrong() -> None:
    text = ONE_END["alpha.log"] + log("alpha", "Connected all rings")
    assert told({**ONE_END, "alpha.log": text}).verdict == "none"


LIST = {"nccl.env": "NCCL_IB_HCA==mlx5_0,mlx5_3\n", "alpha_rdma.txt": links(("mlx5_0", "ACTIVE"), ("mlx5_3", "ACTIVE"))}


@pytest.mark.parametrize("third", [("mlx5_3", "DOWN"), ("mlx5_9", "ACTIVE")])
def test_a_list_of_which_a_node_lacks_one_name_and_has_another_is_told(third: tuple[str, str]) -> None:
    other = links(("mlx5_0", "ACTIVE"), ("mlx5_1", "ACTIVE"), third)
    document = told({**LIST, "bravo_rdma.txt": other})
    assert document.verdict == "ib-hca-names-differ-between-nodes"
    assert any("mlx5_1" in line for line in document.findings[0].fix)


def test_a_list_of_which_a_node_lacks_one_name_and_has_nothing_else_is_not() -> None:
    other = links(("mlx5_0", "ACTIVE"), ("mlx5_3", "DOWN"))
    assert told({**LIST, "bravo_rdma.txt": other}).verdict != "ib-hca-names-differ-between-nodes"


@pytest.mark.parametrize("name", ["common.env", "lab7.env"])
def test_a_list_in_a_file_of_no_node_is_everybodys(name: str) -> None:
    files = {
        name: "NCCL_IB_HCA=rocep1s0f1\n",
        "alpha_rdma.txt": links(("rocep1s0f0", "DOWN"), ("rocep1s0f1", "ACTIVE")),
        "bravo_rdma.txt": links(("rocep1s0f0", "ACTIVE"), ("rocep1s0f1", "DOWN")),
    }
    assert told(files).verdict == "ib-hca-names-differ-between-nodes"


def test_a_list_in_a_file_of_one_node_is_its_own() -> None:
    files = {
        "alpha.env": "NCCL_IB_HCA=rocep1s0f1\n",
        "alpha_rdma.txt": links(("rocep1s0f0", "DOWN"), ("rocep1s0f1", "ACTIVE")),
        "bravo_rdma.txt": links(("rocep1s0f0", "ACTIVE"), ("rocep1s0f1", "DOWN")),
    }
    assert told(files).verdict == "none"


def test_a_fused_nic_brings_as_many_hcas_as_it_has_members() -> None:
    said = warn(
        "transport/net_ib.cc:1100",
        "NET/IB : Local mergedDev=mlx5_0+mlx5_1 has a different number of devices=2 as remoteDev=mlx5_0 nRemDevs=1",
    )
    files = {
        "alpha.log": log("alpha", using("mlx5_0+mlx5_1"), IB, said),
        "bravo.log": log("bravo", using("mlx5_0", "mlx5_1"), IB),
    }
    document = told(files)
    assert document.verdict == "nic-merge-asymmetric"
    assert "hca-sets-differ-between-nodes" not in [one.id for one in document.considered]


PLANES = {
    "alpha.log": log(
        "alpha",
        version("2.29.3"),
        MADE.format("mlx5_10+mlx5_14"),
        IB,
        modify_qp(110, "Connection timed out", "mlx5_10", "::ffff:10.1.0.5", "::ffff:10.2.0.6"),
    ),
    "alpha_show_gids.txt": gids(("mlx5_10", 1, "10.1.0.5", "v2"), ("mlx5_14", 1, "10.2.0.5", "v2")),
}


def test_members_of_other_names_in_crossed_planes_are_another_order() -> None:
    files = {
        **PLANES,
        "bravo.log": log("bravo", version("2.29.3"), MADE.format("mlx5_12+mlx5_18"), IB),
        "bravo_show_gids.txt": gids(("mlx5_12", 1, "10.2.0.6", "v2"), ("mlx5_18", 1, "10.1.0.6", "v2")),
    }
    document = told(files)
    assert document.verdict == "fused-nic-subdevice-order-differs"
    assert document.findings[0].confidence == "certain"
    assert "mlx5_12+mlx5_18 on bravo" in document.findings[0].cause


def test_the_peer_of_a_member_in_the_subnet_of_another_member_is_another_order() -> None:
    document = told(PLANES)
    assert document.verdict == "fused-nic-subdevice-order-differs"
    assert document.findings[0].confidence == "likely"


def test_a_peer_in_the_subnet_of_no_member_is_another_rail() -> None:
    table = gids(("mlx5_10", 1, "10.1.0.5", "v2"), ("mlx5_14", 1, "10.3.0.5", "v2"), ("mlx5_15", 1, "10.2.0.5", "v2"))
    assert told({**PLANES, "alpha_show_gids.txt": table}).verdict == "cross-rail-unreachable"
