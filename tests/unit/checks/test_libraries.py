"""Libraries that a process started on a node would load."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.libraries import check_libraries
from fabricdoc.checks.limits import checks_data
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Library
from fabricdoc.nccl import parse_conditions
from tests.fabrics.altering import changed
from tests.fabrics.recorded import HEALTHY, RECORDED
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable
from tests.unit.checks.judged import ids, only, texts

pytestmark = pytest.mark.unit

UNREAD: Any = Unknown(unknown="x")


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_fabrics_have_no_more_than_information(name: str) -> None:
    assert {severity for _id, severity, _subject in ids(check_libraries, RECORDED[name]())} <= {"info"}


def server(**facts: Any) -> Fabric:
    return changed(eight_rail_servers(1), "server-001", "host", **facts)


@pytest.mark.parametrize(
    ("driver", "providers", "told"),
    [
        ("mlx5_core", ("libmlx5-rdmav34.so",), False),
        ("mlx5_core", ("/usr/lib/libibverbs/libmlx5-rdmav34.so",), False),
        ("mlx5_core", (), True),
        ("mlx5_core", ("libmlx4-rdmav34.so", "librxe-rdmav34.so"), True),
        ("bnxt_re", ("libmlx5-rdmav34.so",), True),
        ("some_new_driver", (), False),
        ("mlx5_core", UNREAD, False),
        (UNREAD, (), False),
    ],
)
def test_the_driver_library_of_an_hca(driver: Any, providers: Any, told: bool) -> None:
    fabric = changed(server(ibverbs_providers=providers), "server-001", "hca", "*", driver=driver)
    found = [one for one in ids(check_libraries, fabric) if one[0] == "ibverbs-provider-missing"]
    assert found == ([("ibverbs-provider-missing", "error", "server-001/mlx5_0")] if told else [])


def test_without_libibverbs_its_drivers_do_not_matter() -> None:
    missing = Unknown(unknown="libibverbs.so.1 can't be loaded")
    assert ids(check_libraries, server(ibverbs_providers=(), libibverbs=missing)) == []


def test_the_missing_driver_library_is_named() -> None:
    found = only(check_libraries, server(ibverbs_providers=("librxe-rdmav34.so",)), "ibverbs-provider-missing")
    assert texts(found) == ["mlx5_0 driver mlx5_core needs libmlx5", "providers: librxe-rdmav34.so"]
    assert found.fix[1] == "sudo apt-get install ibverbs-providers"


def builds(*versions: Any, spark: bool = False, **facts: Any) -> Fabric:
    found = tuple(
        Library(path=f"/opt/{k}/libnccl.so.2", version=version, sha256=f"{k:064x}")
        for k, version in enumerate(versions)
    )
    fabric = changed(spark_one_cable(), "*", "host", libnccl=found, **facts)
    return fabric if spark else server(libnccl=found, **facts)


@pytest.mark.parametrize(
    ("version", "spark", "id"),
    [
        ("2.28.9", False, "nccl-build-specific-hang"),
        ("2.28.9", True, "nccl-build-specific-hang"),
        ("2.28.9+cuda13.0", True, "nccl-build-specific-hang"),
        ("2.28.8", False, None),
        ("2.29.1", False, None),
        ("2.27.2", True, "nccl-too-old-for-platform"),
        ("2.27.2", False, None),
        ("2.27.3", True, None),
        ("2.30.4", True, None),
        ("2.30.7", True, "nccl-many-channels"),
        ("2.30.7", False, None),
        ("2.32.3", True, None),
        ("nonsense", True, None),
        (UNREAD, True, None),
    ],
)
def test_builds_that_are_known(version: Any, spark: bool, id: str | None) -> None:
    found = {one[0] for one in ids(check_libraries, builds(version, spark=spark))}
    assert found == ({id} if id else set())


def test_the_library_found_first_is_the_one_that_counts() -> None:
    assert "nccl-build-specific-hang" in [one[0] for one in ids(check_libraries, builds("2.28.9", "2.30.4"))]
    assert "nccl-build-specific-hang" not in [one[0] for one in ids(check_libraries, builds("2.30.4", "2.28.9"))]


def test_every_row_of_the_table_can_be_read() -> None:
    rows = checks_data("libraries")["nccl"]
    assert rows and all(parse_conditions(row["versions"]) for row in rows)
    assert all(row["source"] and row["cause"].endswith(".") for row in rows)


def test_an_nccl_without_a_choice_of_its_own_takes_index_0() -> None:
    found = only(check_libraries, builds("2.20.5"), "nccl-without-gid-choice")
    assert (found.severity, found.subject) == ("warning", "server-001: NCCL 2.20.5")
    assert texts(found)[0] == "/opt/0/libnccl.so.2: 2.20.5, below 2.21.5"
    assert "GID 0 fe80:" in texts(found)[1]


def test_a_choice_by_hand_or_a_newer_nccl_is_enough() -> None:
    by_hand = builds("2.20.5", environment={"NCCL_IB_GID_INDEX": "3"})
    assert "nccl-without-gid-choice" not in [one[0] for one in ids(check_libraries, by_hand)]
    assert "nccl-without-gid-choice" not in [one[0] for one in ids(check_libraries, builds("2.21.5"))]


def test_several_builds_are_information() -> None:
    found = only(check_libraries, builds("2.30.4", "2.29.2"), "libnccl-several")
    assert (found.severity, found.subject) == ("info", "server-001")
    assert texts(found) == ["/opt/0/libnccl.so.2: 2.30.4", "/opt/1/libnccl.so.2: 2.29.2"]


def test_one_build_in_two_places_is_one() -> None:
    one = Library(path="/a/libnccl.so.2", version="2.30.4", sha256="5a" * 32)
    same = server(libnccl=(one, one.model_copy(update={"path": "/b/libnccl.so.2"})))
    assert ids(check_libraries, same) == []
    unhashed = tuple(x.model_copy(update={"sha256": UNREAD}) for x in (one, one))
    assert ids(check_libraries, server(libnccl=unhashed)) == []


@pytest.mark.parametrize(
    ("found", "torch", "told"), [((), "2.9.0", True), ((), UNREAD, False), (UNREAD, "2.9.0", False)]
)
def test_torch_without_nccl(found: Any, torch: Any, told: bool) -> None:
    fabric = server(libnccl=found, torch=torch)
    assert ids(check_libraries, fabric) == ([("libnccl-missing", "warning", "server-001")] if told else [])
    assert ids(check_libraries, changed(fabric, "*", "node", gpus=())) == []


def test_a_network_plugin_is_information_unless_it_was_decided() -> None:
    plugin = Library(path="/opt/hpcx/lib/libnccl-net.so")
    found = only(check_libraries, server(nccl_plugins=(plugin,)), "net-plugin-found")
    assert (found.severity, texts(found)) == ("info", ["/opt/hpcx/lib/libnccl-net.so"])
    decided = server(nccl_plugins=(plugin,), environment={"NCCL_NET_PLUGIN": "none"})
    assert ids(check_libraries, decided) == []
    tuner = Library(path="/opt/lib/libnccl-tuner.so")
    assert ids(check_libraries, server(nccl_plugins=(tuner,))) == []
