"""No name, address or id of a document survives; what was equal stays equal; checks find the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from fabricdoc.checks import check_fabric
from fabricdoc.dumps import read_dumps, save
from fabricdoc.dumps.anonymizing import RUN, anonymized
from fabricdoc.dumps.words import Words
from fabricdoc.model.fabric import Fabric, FailedNode
from fabricdoc.model.findings import Evidence, Finding
from tests.fabrics import crossed_pair, netdev, node
from tests.fabrics.recorded import RECORDED

pytestmark = pytest.mark.unit

FIELDS = (
    "mac",
    "ip",
    "gid",
    "node_guid",
    "sys_image_guid",
    "machine_id",
    "boot_id",
    "hostname",
    "uuid",
    "name",
    "target",
)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path, value


def raw(fabric: Fabric) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(fabric.model_dump_json(by_alias=True))
    return document


def secrets_of(fabric: Fabric) -> set[str]:
    """Every name, address and id, as the fields say them."""
    found: set[str] = set()
    for path, value in leaves(raw(fabric)):
        of_node = len(path) == 3 and path[0] in ("nodes", "failed")
        wanted = path[-1] in FIELDS and (path[-1] not in ("name", "target") or of_node)
        if wanted and isinstance(value, str) and len(value) > 1 and value not in ("local", "127.0.0.1", "::1"):
            found.add(value)
    return {one for one in found if not re.fullmatch(r"[0:]+|(ff:)*ff", one)}


def words_of(fabric: Fabric) -> set[str]:
    """Every word of every text, with and without what may be around an address."""
    values = (value for _path, value in leaves(raw(fabric)) if isinstance(value, str))
    found = {word for value in values for word in re.findall(r"[\w.:@-]+", value)}
    return found | {word.strip(":.") for word in found}


@pytest.mark.parametrize("name", RECORDED)
def test_nothing_survives(name: str) -> None:
    fabric = RECORDED[name]()
    assert secrets_of(fabric) & words_of(anonymized(fabric)) == set()


def test_a_survivor_would_be_seen() -> None:
    fabric = RECORDED["spark-straight"]()
    assert len(secrets_of(fabric) & words_of(fabric)) > 20


@pytest.mark.parametrize("name", RECORDED)
def test_checks_find_the_same(name: str) -> None:
    fabric = RECORDED[name]()
    before, after = check_fabric(fabric), check_fabric(anonymized(fabric))
    assert sorted((one.id, one.severity) for one in after) == sorted((one.id, one.severity) for one in before)


@pytest.mark.parametrize("name", RECORDED)
def test_equal_things_stay_equal_and_others_other(name: str) -> None:
    fabric = RECORDED[name]()
    before, after = dict(leaves(raw(fabric))), dict(leaves(raw(anonymized(fabric))))
    assert list(before) == list(after)
    there: dict[Any, Any] = {}
    back: dict[Any, Any] = {}
    for path, old in before.items():
        if path[-1] in FIELDS:
            assert there.setdefault(old, after[path]) == after[path], path
            assert back.setdefault(after[path], old) == old, path


@pytest.mark.parametrize("name", RECORDED)
def test_everything_else_stays(name: str) -> None:
    fabric = RECORDED[name]()
    before, after = dict(leaves(raw(fabric))), dict(leaves(raw(anonymized(fabric))))
    for path, old in before.items():
        if not isinstance(old, str) or path[-1] in ("pci", "firmware", "kernel", "driver", "state", "netdev", "hca"):
            assert after[path] == old, path


def test_two_calls_differ() -> None:
    fabric = RECORDED["spark-straight"]()
    assert anonymized(fabric) != anonymized(fabric)


def full() -> Fabric:
    """Names and addresses in every place where text may hold one."""
    host = node("spark-one").host.model_copy(
        update={
            "hostname": "spark-one.lab.example.com",
            "machine_id": "0123456789abcdef0123456789abcdef",
            "environment": {"NCCL_HOSTID": "rack7-u3", "NCCL_TOPO_FILE": "/home/alice/topo.xml", "NCCL_DEBUG": "INFO"},
        }
    )
    one = node(
        "spark-one",
        target="alice@spark-one.lab.example.com:2222",
        netdevs=[
            netdev("enx0a0b0c031110", ip="192.168.100.1", mac="0a:0b:0c:03:11:10").model_copy(
                update={"altnames": ("enp1s0f0np0", "alices-port")}
            )
        ],
    ).model_copy(update={"host": host})
    finding = Finding(
        id="port-not-probed",
        severity="warning",
        subject="spark-one/enx0a0b0c031110",
        evidence=(Evidence(file="spark-one", text="192.168.100.1:4791 0x0a0b0c0300d01110 at 0a:0b:0c:03:11:10."),),
        cause="spark-one (192.168.100.0/24, fe80::80b:cff:fe03:1110%enp1s0) at 10:00:01 did not answer spark-two.",
        fix=("ssh alice@spark-one.lab.example.com", "cat /home/alice/x 01234567-89ab-cdef-0123-456789abcdef"),
    )
    lost = FailedNode(name="spark-two", target="bob@10.1.2.3", id="x", message="spark-two: bob@10.1.2.3: refused")
    return Fabric(nodes=(one,), failed=(lost,), findings=(finding,))


@pytest.mark.parametrize(
    "secret",
    [
        "spark-one", "spark-two", "lab.example.com", "alice", "bob", "rack7-u3", "192.168.100", "10.1.2.3", "03:11:10",
        "031110", "d01110", "03:1110", "01234567", "0123456789abcdef0123456789abcdef", "alices-port",
    ],
)  # fmt: skip
def test_free_text_is_rewritten_too(secret: str) -> None:
    assert secret not in anonymized(full()).model_dump_json(by_alias=True)


def test_what_is_no_secret_stays() -> None:
    text = anonymized(full()).model_dump_json(by_alias=True)
    for word in ("10:00:01", "NCCL_DEBUG", "INFO", "topo.xml", "enp1s0f0np0", ":4791", "/24", "did not answer"):
        assert word in text


def test_a_saved_dump_is_anonymous_on_disk(tmp_path: Any) -> None:
    paths = save(full(), tmp_path / "d", anonymize=True)
    told = "".join(path.read_text() + str(path.relative_to(tmp_path)) for path in paths)
    for secret in ("spark-one", "alice", "192.168.100", "0a:0b:0c:03:11:10"):
        assert secret not in told
    assert [one.name for one in read_dumps([tmp_path / "d"]).nodes] == ["node-1"]


def test_names_that_would_be_given_are_not_given_twice() -> None:
    nodes = tuple(one.model_copy(update={"name": f"node-{2 - k}"}) for k, one in enumerate(crossed_pair().nodes))
    made = anonymized(Fabric(nodes=nodes))
    assert not {one.name for one in made.nodes} & {"node-1", "node-2"}
    assert len({one.name for one in made.nodes}) == 2


def test_names_are_replaced_as_words_only() -> None:
    words = Words({"nodes": [{"name": "al", "target": "al", "host": {}}]})
    assert words.names("al: also al-pha, al/p0 (al)") == "node-1: also al-pha, node-1/p0 (node-1)"


def test_versions_are_no_addresses() -> None:
    assert [match["run"] for match in RUN.finditer("fw 28.45.4028 v1.2.3.4 2.27.5 mlx5_0:1 0000:01:00.0")] == [
        "28.45.4028", "2.27.5", "0000:01:00.0",
    ]  # fmt: skip


@pytest.mark.long
def test_a_thousand_addresses_in_one_private_network_are_quick() -> None:
    fabric = Fabric(
        nodes=tuple(node(f"n{k}", netdevs=[netdev("p0", ip=f"10.0.{k // 250}.{k % 250 + 1}")]) for k in range(500))
    )
    assert len(anonymized(fabric).nodes) == 500


def test_a_wide_network_moves_too_where_its_class_allows_it() -> None:
    """Of 172.16.0.0/12 a /16 has sixteen places, so one key in sixteen would leave it; 10.0.0.0/8 has only one."""
    finding = Finding(
        id="port-not-probed",
        severity="info",
        subject="x",
        evidence=(Evidence(file="n", text="172.17.0.0/16 10.0.0.0/8 192.168.0.0/16 172.16.0.0/13"),),
    )
    fabric = Fabric(nodes=(node("n"),), findings=(finding,))
    for _ in range(100):
        text = anonymized(fabric).findings[0].evidence[0].text
        assert not text.startswith("172.17.0.0/16") and not text.endswith("172.16.0.0/13")
        assert "10.0.0.0/8" in text and "192.168.0.0/16" in text


@pytest.mark.long
def test_no_network_is_left_where_it_was_by_chance() -> None:
    """One key in 256 flips no bit of a /24 of 192.168: such a key is not taken."""
    for _ in range(300):
        told = anonymized(full()).model_dump_json(by_alias=True)
        assert "192.168.100" not in told
