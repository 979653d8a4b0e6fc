"""Rules of GIDs: pins against tables, what NCCL chose by itself, and what only looks like either."""

from __future__ import annotations

import pytest

from tests.excerpts import FE80, addresses, bare, completion, gids, log, modify_qp, told, using, version, warn

pytestmark = pytest.mark.unit

Files = dict[str, str]
PIN = "NCCL_IB_GID_INDEX set by environment to {}."
IB = "Using network IB"


def usual(hca: str, address: str, *, index: int = 2) -> list[tuple[str, int, str, str]]:
    """A table as the kernel fills it: fe80 v1 and v2, then the address as v1 and v2 from `index`."""
    return [(hca, 0, FE80, "v1"), (hca, 1, FE80, "v2"), (hca, index, address, "v1"), (hca, index + 1, address, "v2")]


TABLE = gids(*usual("mlx5_0", "10.1.0.5"))
SCAN = {
    "read": {
        "a.log": log(
            "alpha",
            version("2.22.3"),
            using("mlx5_0"),
            warn("net_ib.cc:300", "NET/IB: read failed in ncclIbRoceGetVersionNum: Invalid argument"),
        ),
    },
    "open, with a table": {
        "a.log": log(
            "alpha", warn("net_ib.cc:290", "NET/IB: open failed in ncclIbRoceGetVersionNum: No such file or directory")
        ),
        "show_gids.txt": gids(("mlx5_0", 8, "10.1.0.5", "v1"), ("mlx5_0", 9, "10.1.0.5", "v2")),
    },
}
WRONG = {
    "RoCE v1": {"a.log": log("alpha", PIN.format(2), using("mlx5_0"), IB, completion(12)), "show_gids.txt": TABLE},
    "the table of a plain env file": {"nccl.env": "NCCL_IB_GID_INDEX=0\n", "show_gids.txt": TABLE},
    "past the table": {
        "a.log": log(
            "alpha",
            PIN.format(9),
            warn("misc/ibvwrap.cc:162", "Call to ibv_query_gid failed with error Unknown error -1 errno -1"),
        )
    },
    "an empty slot": {"a.log": log("alpha", PIN.format(3), modify_qp(61, "No data available", "mlx5_0", "::", "::"))},
    "error 22, no table": {
        "a.log": log(
            "alpha", PIN.format(3), modify_qp(22, "Invalid argument", "mlx5_0", "::ffff:10.1.0.5", "::ffff:10.1.0.6")
        )
    },
}
LINK_LOCAL = {
    "told by the table": {"nccl.env": "NCCL_IB_GID_INDEX=1\n", "show_gids.txt": TABLE},
    "told by the queue pair": {
        "a.log": log(
            "alpha",
            PIN.format(1),
            modify_qp(
                110, "Connection timed out", "mlx5_0", "fe80::a00:27ff:fe11:2233", "fe80::a00:27ff:fe11:4455", index=1
            ),
        )
    },
    "told by a completion": {
        "a.log": log(
            "alpha", PIN.format(1), completion(12, local="fe80::a00:27ff:fe11:2233", remote="fe80::1", hca="mlx5_0")
        )
    },
}
DRIFTED = {
    "one HCA moved": {
        "nccl.env": "NCCL_IB_GID_INDEX=3\n",
        "show_gids.txt": gids(*usual("mlx5_0", "10.1.0.5"), *usual("mlx5_1", "10.2.0.5", index=4)),
    },
    "with its failure": {
        "a.log": log("alpha", PIN.format(3), modify_qp(61, "No data available", "mlx5_1", "::", "::ffff:10.2.0.6")),
        "show_gids.txt": gids(*usual("mlx5_1", "10.2.0.5", index=5)),
    },
}
DIFFERS = {
    "zeroconf first on one": {
        "nccl.env": "NCCL_IB_GID_INDEX=3\n",
        "alpha_show_gids.txt": gids(
            *usual("mlx5_0", "169.254.7.7"), ("mlx5_0", 4, "10.1.0.5", "v1"), ("mlx5_0", 5, "10.1.0.5", "v2")
        ),
        "bravo_show_gids.txt": gids(*usual("mlx5_0", "10.1.0.6")),
    },
    "no common index": {
        "nccl.env": "NCCL_IB_GID_INDEX=1\n",
        "alpha_show_gids.txt": gids(*usual("mlx5_0", "10.1.0.5", index=4)),
        "bravo_show_gids.txt": gids(*usual("mlx5_0", "10.1.0.6")),
    },
}
AUTOMATIC = {
    "an IPv6 fabric": {
        "a.log": log(
            "alpha",
            version("2.23.4"),
            warn("misc/ibvwrap.cc:160", "Call to ibv_modify_qp failed with error Connection timed out"),
        ),
        "show_gids.txt": gids(
            ("mlx5_0", 0, FE80, "v1"),
            ("mlx5_0", 1, FE80, "v2"),
            ("mlx5_0", 3, "2001:0db8:0000:0000:0000:0000:0000:0005", "v2"),
        ),
    },
    "110 from fe80": {
        "a.log": log(
            "alpha",
            version("2.23.4"),
            using("mlx5_0"),
            modify_qp(
                110, "Connection timed out", "mlx5_0", "fe80::a00:27ff:fe11:2233", "fe80::a00:27ff:fe11:4455", index=0
            ),
        )
    },
    "with a bare table": {
        "a.log": log(
            "alpha", version("2.23.4"), completion(12, local="fe80::a00:27ff:fe11:2233", remote="fe80::1", hca="mlx5_0")
        ),
        "show_gids.txt": gids(("mlx5_0", 0, FE80, "v1"), ("mlx5_0", 1, FE80, "v2")),
    },
}


def rows(table: dict[str, Files]) -> list[object]:
    return [pytest.param(files, id=name) for name, files in table.items()]


@pytest.mark.parametrize("files", rows(SCAN))
def test_a_table_that_can_not_be_read_is_told(files: Files) -> None:
    assert told(files).verdict == "gid-scan-einval-container"


def test_the_pods_own_slot_is_in_the_fix() -> None:
    assert any("NCCL_IB_GID_INDEX=9" in line for line in told(SCAN["open, with a table"]).findings[0].fix)


def test_another_read_failure_is_no_scan_of_gids() -> None:
    files = {"a.log": log("alpha", warn("net_ib.cc:300", "NET/IB: read failed in somethingElse: Invalid argument"))}
    assert told(files).verdict == "unknown"


@pytest.mark.parametrize("files", rows(WRONG))
def test_a_wrong_pin_is_told(files: Files) -> None:
    assert told(files).verdict == "wrong-gid-index"


def test_the_right_slot_is_in_cause_and_fix() -> None:
    finding = told(WRONG["RoCE v1"]).findings[0]
    assert "stands at index 3" in finding.cause
    assert any("NCCL_IB_GID_INDEX=3" in line for line in finding.fix)


def test_a_pin_that_is_right_is_nothing_wrong() -> None:
    files = {"a.log": log("alpha", PIN.format(3), using("mlx5_0"), IB), "show_gids.txt": TABLE}
    assert told(files).verdict == "none"


def test_automatic_choice_is_no_pin() -> None:
    assert told({"nccl.env": "NCCL_IB_GID_INDEX=-1\n", "show_gids.txt": TABLE}).verdict == "none"


def test_a_pin_is_only_held_against_the_hcas_of_the_list() -> None:
    table = gids(*usual("mlx5_0", "10.1.0.5"), *usual("mlx5_1", "10.2.0.5", index=4))
    files = {"nccl.env": "NCCL_IB_GID_INDEX=3\nNCCL_IB_HCA==mlx5_0\n", "show_gids.txt": table}
    assert told(files).verdict == "none"


@pytest.mark.parametrize("files", rows(LINK_LOCAL))
def test_a_link_local_pin_is_told(files: Files) -> None:
    assert told(files).verdict == "gid-index-link-local"


def test_a_routable_queue_pair_with_a_pin_is_not_link_local() -> None:
    line = modify_qp(110, "Connection timed out", "mlx5_0", "::ffff:10.1.0.5", "::ffff:10.1.0.6")
    assert told({"a.log": log("alpha", PIN.format(3), line)}).verdict == "rdma-path-timeout"


@pytest.mark.parametrize("files", rows(DRIFTED))
def test_a_pin_that_moved_on_one_hca_is_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "gid-index-drifted"
    assert "mlx5_1" in document.findings[0].cause


def test_two_hcas_with_one_layout_have_not_drifted() -> None:
    files = {
        "nccl.env": "NCCL_IB_GID_INDEX=3\n",
        "show_gids.txt": gids(*usual("mlx5_0", "10.1.0.5"), *usual("mlx5_1", "10.2.0.5")),
    }
    assert told(files).verdict == "none"


@pytest.mark.parametrize("files", rows(DIFFERS))
def test_a_pin_that_is_right_on_one_node_is_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "gid-index-differs-between-nodes"
    assert document.findings[0].subject.startswith("alpha")


def test_two_nodes_with_one_layout_do_not_differ() -> None:
    files = {
        "nccl.env": "NCCL_IB_GID_INDEX=3\n",
        "alpha_show_gids.txt": gids(*usual("mlx5_0", "10.1.0.5")),
        "bravo_show_gids.txt": gids(*usual("mlx5_0", "10.1.0.6")),
    }
    assert told(files).verdict == "none"


LAYOUTS = {
    "alpha_show_gids.txt": gids(("mlx5_0", 2, "10.1.0.5", "v1"), ("mlx5_0", 3, "10.1.0.5", "v2")),
    "bravo_show_gids.txt": gids(("mlx5_0", 4, "10.1.0.6", "v1"), ("mlx5_0", 5, "10.1.0.6", "v2")),
}


@pytest.mark.parametrize(
    ("alpha", "bravo", "verdict"),
    [
        ("NCCL_IB_GID_INDEX=3\n", "NCCL_IB_GID_INDEX=5\n", "none"),
        ("NCCL_IB_GID_INDEX=3\n", "NCCL_IB_GID_INDEX=3\n", "gid-index-differs-between-nodes"),
        ("NCCL_IB_GID_INDEX=3\n", "NCCL_IB_GID_INDEX=4\n", "wrong-gid-index"),
        ("NCCL_IB_GID_INDEX=3\n", "NCCL_DEBUG=WARN\n", "none"),
        ("NCCL_IB_GID_INDEX=3\n", "NCCL_IB_GID_INDEX=-1\n", "none"),
    ],
)
def test_a_nodes_own_pin_is_held_against_its_own_table(alpha: str, bravo: str, verdict: str) -> None:
    document = told(LAYOUTS | {"alpha.env": alpha, "bravo.env": bravo})
    assert document.verdict == verdict
    if verdict == "wrong-gid-index":
        assert {piece.file for piece in document.findings[0].evidence} == {"bravo.env", "bravo_show_gids.txt"}


def test_a_pin_of_no_node_is_held_against_every_table() -> None:
    assert told(LAYOUTS | {"prod.env": "NCCL_IB_GID_INDEX=3\n"}).verdict == "gid-index-differs-between-nodes"


@pytest.mark.parametrize("files", rows(AUTOMATIC))
def test_an_automatic_link_local_choice_is_told(files: Files) -> None:
    assert told(files).verdict == "gid-auto-selected-link-local"


def test_a_table_with_something_better_speaks_against_it() -> None:
    files = {**AUTOMATIC["110 from fe80"], "show_gids.txt": TABLE}
    document = told(files)
    assert document.verdict == "rdma-path-timeout"
    assert "gid-auto-selected-link-local" in [one.id for one in document.considered]


BARE = "fe80::a00:27ff:fe11:2233"


def test_an_end_without_an_address_is_an_automatic_choice_of_the_link_local_one() -> None:
    line = modify_qp(22, "Invalid argument", "mlx5_0", BARE, "::ffff:10.1.0.6", index=0)
    document = told({"a.log": log("alpha", version("2.28.9"), line)})
    assert document.verdict == "gid-auto-selected-link-local"
    [behind] = [one for one in document.considered if one.id == "gid-missing-at-one-end"]
    assert "this end" in behind.why


def test_a_peer_without_an_address_is_told_as_the_peers() -> None:
    line = modify_qp(22, "Invalid argument", "mlx5_0", "::ffff:10.1.0.6", BARE, index=3)
    document = told({"a.log": log("alpha", version("2.28.9"), line)})
    assert document.verdict == "gid-auto-selected-link-local"
    assert document.findings[0].subject.startswith("the peer")


def test_a_peer_that_does_not_answer_from_a_link_local_gid_misses_an_address() -> None:
    line = modify_qp(110, "Connection timed out", "mlx5_0", "::ffff:10.1.0.6", BARE, index=3)
    document = told({"a.log": log("alpha", version("2.28.9"), line)})
    assert document.verdict == "gid-auto-selected-link-local"
    [behind] = [one for one in document.considered if one.id == "gid-missing-at-one-end"]
    assert "the peer" in behind.why


GOOD, ZEROCONF, NO_GID = "::ffff:10.1.0.6", "::ffff:169.254.7.7", "::"
ODD = {
    "fe80, pinned": (PIN.format(3), BARE, "gid-index-link-local"),
    "169.254, pinned": (PIN.format(3), ZEROCONF, "gid-index-link-local"),
    "no GID, pinned": (PIN.format(3), NO_GID, "wrong-gid-index"),
    "fe80": ("", BARE, "gid-auto-selected-link-local"),
    "169.254": ("", ZEROCONF, "gid-auto-selected-link-local"),
    "no GID": ("", NO_GID, "wrong-gid-index"),
}


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(("said", "odd", "verdict"), [pytest.param(*row, id=name) for name, row in ODD.items()])
@pytest.mark.parametrize("number", [110, 12])
def test_the_answer_does_not_depend_on_whose_log_it_is(
    number: int, said: str, odd: str, verdict: str, swapped: bool
) -> None:
    local, remote = (odd, GOOD) if swapped else (GOOD, odd)
    line = modify_qp(110, "Connection timed out", "mlx5_0", local, remote, index=3)
    if number == 12:
        line = completion(12, local=local, remote=f" {remote}", hca="mlx5_0")
    document = told({"a.log": log("alpha", version("2.28.9"), *filter(None, [said]), line)})
    assert document.verdict == verdict
    assert odd in document.findings[0].evidence[0].text
    assert "a GID that is wrong" not in document.findings[0].cause


def test_a_peer_whose_table_has_a_good_gid_did_not_choose_the_link_local_one_by_itself() -> None:
    line = modify_qp(110, "Connection timed out", "mlx5_0", GOOD, BARE, index=3)
    table = gids(("mlx5_1", 0, FE80, "v2"), ("mlx5_1", 3, "10.1.0.9", "v2"))
    document = told({"alpha.log": log("alpha", version("2.28.9"), line), "bravo_show_gids.txt": table})
    assert document.verdict != "gid-auto-selected-link-local"
    assert "gid-auto-selected-link-local" in [one.id for one in document.considered]


def test_two_ends_of_one_kind_are_not_told_apart_by_a_pin() -> None:
    line = modify_qp(110, "Connection timed out", "mlx5_0", GOOD, "::ffff:10.1.0.9", index=3)
    document = told({"a.log": log("alpha", version("2.28.9"), PIN.format(3), line)})
    assert document.verdict == "rdma-path-timeout"
    assert "a GID that is wrong" in document.findings[0].cause


UNREACHABLE = modify_qp(101, "Network is unreachable", "mlx5_1", BARE, "::ffff:10.1.0.6", index=1)


def test_an_unreachable_network_is_an_hca_of_no_use_unless_it_was_asked_for_or_its_table_is_bare() -> None:
    text = log("alpha", version("2.28.9"), UNREACHABLE)
    assert told({"a.log": text}).verdict == "unusable-hca-visible"
    only = gids(("mlx5_1", 0, FE80, "v1"), ("mlx5_1", 1, FE80, "v2"))
    assert told({"a.log": text, "show_gids.txt": only}).verdict == "gid-auto-selected-link-local"
    asked = told({"a.log": text, "nccl.env": "NCCL_IB_HCA=mlx5_0,mlx5_1\n"})
    assert asked.verdict == "gid-auto-selected-link-local"


def test_two_addressed_ends_miss_no_gid() -> None:
    line = modify_qp(22, "Invalid argument", "mlx5_0", "::ffff:10.1.0.5", "::ffff:10.1.0.6")
    assert told({"a.log": log("alpha", line), "ip_addr.txt": addresses(("eno1", "10.1.0.5/24"))}).verdict == "unknown"


def test_a_zeroconf_address_is_told() -> None:
    line = modify_qp(110, "Connection timed out", "mlx5_0", "::ffff:169.254.7.7", "::ffff:10.1.0.6", index=3)
    files = {"a.log": log("alpha", version("2.28.9"), line), "show_gids.txt": gids(("mlx5_0", 5, "10.1.0.5", "v2"))}
    document = told(files)
    assert document.verdict == "gid-choice-zeroconf"
    assert any("NCCL_IB_ADDR_RANGE=10.1.0.0/24" in fix for fix in document.findings[0].fix)


def test_a_zeroconf_address_beside_which_nothing_better_is_told_was_all_that_could_be_chosen() -> None:
    line = modify_qp(110, "Connection timed out", "mlx5_0", "::ffff:169.254.7.7", "::ffff:10.1.0.6", index=3)
    alone = {"a.log": log("alpha", version("2.28.9"), line)}
    for files in (alone, {**alone, "show_gids.txt": gids(("mlx5_0", 3, "169.254.7.7", "v2"))}):
        document = told(files)
        assert document.verdict == "gid-auto-selected-link-local"
        assert "169.254.7.7" in document.findings[0].cause
        assert "gid-choice-zeroconf" in [one.id for one in document.considered]


def test_two_zeroconf_ends_are_a_cable_without_addresses_and_reach_each_other() -> None:
    line = modify_qp(110, "Connection timed out", "mlx5_0", "::ffff:169.254.7.7", "::ffff:169.254.7.8", index=3)
    document = told({"a.log": log("alpha", version("2.28.9"), line)})
    assert document.verdict != "gid-auto-selected-link-local"


def test_a_zeroconf_address_that_is_pinned_is_the_pins_fault() -> None:
    line = modify_qp(110, "Connection timed out", "mlx5_0", "::ffff:169.254.7.7", "::ffff:10.1.0.6", index=3)
    assert told({"a.log": log("alpha", PIN.format(3), line)}).verdict == "gid-index-link-local"


def test_two_proper_addresses_are_no_zeroconf() -> None:
    line = modify_qp(110, "Connection timed out", "mlx5_0", "::ffff:10.1.0.5", "::ffff:10.1.0.6")
    assert told({"a.log": log("alpha", version("2.28.9"), line)}).verdict == "rdma-path-timeout"


def test_a_plugin_that_stops_over_the_table_is_told() -> None:
    line = warn("ib_plugin.c:244", "NET/IB : read failed in ncclIbRoceGetVersionNum: Invalid argument")
    assert told({"a.log": log("alpha", line)}).verdict == "gid-scan-einval-container"


TIMES = {
    "monday_show_gids.txt": gids(*usual("mlx5_0", "10.1.0.5"), *usual("mlx5_1", "10.2.0.5")),
    "today_show_gids.txt": gids(*usual("mlx5_0", "10.1.0.5"), *usual("mlx5_1", "10.2.0.5", index=4)),
}


def test_a_gid_that_moved_between_two_dumps_of_a_host_has_drifted() -> None:
    document = told({"nccl.env": "NCCL_IB_GID_INDEX=3\n", **TIMES})
    assert document.verdict == "gid-index-drifted"
    assert "5" in document.findings[0].cause


def test_dumps_whose_names_say_before_and_after_tell_the_same() -> None:
    files = {name.replace("monday", "before").replace("today", "after"): text for name, text in TIMES.items()}
    assert told({"nccl.env": "NCCL_IB_GID_INDEX=3\n", **files}).verdict == "gid-index-drifted"


def test_a_gid_that_moved_away_from_no_pin_is_nothing_wrong() -> None:
    assert told({"nccl.env": "NCCL_IB_GID_INDEX=-1\n", **TIMES}).verdict == "none"


def test_a_pin_on_a_slot_that_is_always_link_local_has_not_drifted() -> None:
    line = modify_qp(110, "Connection timed out", "mlx5_0", "fe80::a00:27ff:fe11:2233", "fe80::1", index=0)
    document = told({"a.log": log("alpha", PIN.format(0), line), "show_gids.txt": TABLE})
    assert document.verdict == "gid-index-link-local"
    assert "gid-index-drifted" not in [one.id for one in document.considered]


def test_a_link_local_gid_beside_infiniband_ports_is_the_mixtures_fault() -> None:
    both = using("mlx5_0", link="IB").replace(" [RO]", " [1]mlx5_4:1/RoCE [RO]")
    line = completion(12, local="fe80::a00:27ff:fe11:2233", remote="fe80::1", hca="mlx5_4")
    document = told({"a.log": log("alpha", version("2.23.4"), both, IB, line)})
    assert document.verdict == "mixed-link-layers"
    assert "gid-auto-selected-link-local" in [one.id for one in document.considered]


@pytest.mark.parametrize(("number", "verdict"), [("2.10.3", "wrong-gid-index"), ("2.21.5", "rdma-path-timeout")])
def test_old_releases_take_slot_0_where_nothing_is_pinned(number: str, verdict: str) -> None:
    text = log("alpha", bare(version(number)), using("mlx5_0"), IB, completion(12))
    assert told({"a.log": text, "show_gids.txt": TABLE}).verdict == verdict


def test_an_old_release_that_works_over_slot_0_is_nothing_wrong() -> None:
    assert told({"a.log": log("alpha", bare(version("2.10.3")), IB), "show_gids.txt": TABLE}).verdict == "none"


@pytest.mark.parametrize(
    ("errno", "text", "verdict"),
    [(19, "No such device", "unusable-hca-visible"), (110, "Connection timed out", "wrong-gid-index")],
)
def test_an_empty_gid_of_an_hca_that_is_gone_is_no_wrong_index(errno: int, text: str, verdict: str) -> None:
    failing = modify_qp(errno, text, "mlx5_1", "::", "::ffff:192.168.40.8", index=0)
    assert told({"alpha.log": log("alpha", version("2.26.2"), using("mlx5_1", "mlx5_24"), failing)}).verdict == verdict
