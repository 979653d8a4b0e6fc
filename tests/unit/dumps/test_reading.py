"""Whole folders of what users send: whose each output is, what is left, where each fact stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.checks import check_fabric
from fabricdoc.dumps import Place, read_dumps, save
from fabricdoc.errors import InputError
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Netdev, Node
from tests.fabrics import node
from tests.fabrics.recorded import RECORDED
from tests.unit.dumps.texts import FIXTURES

pytestmark = pytest.mark.unit

LINK = "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev e{0} \n"


def write(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, text in files.items():
        path = root / "d" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root / "d"


def names(path: Path) -> list[str]:
    return [one.name for one in read_dumps([path]).nodes]


def netdev_of(one: Node) -> dict[str, Netdev]:
    assert not isinstance(one.netdevs, Unknown)
    return {netdev.name: netdev for netdev in one.netdevs}


def test_a_pair_in_two_folders() -> None:
    read = read_dumps([FIXTURES / "pair"])
    assert [one.name for one in read.nodes] == ["spark-a", "spark-b"]
    assert [one.host.hostname for one in read.nodes] == ["spark-a", "spark-b"]
    second = netdev_of(read.nodes[1])
    assert (second["enP2p1s0f0np0"].mtu, second["enp1s0f0np0"].mtu) == (1500, 9000)
    assert read.sources["spark-b"][("netdev", "enP2p1s0f0np0", "mtu")] == Place("pair/spark-b/session.log", 14)
    assert isinstance(read.links, Unknown)
    assert [(note.kind, note.file, note.first, note.text) for note in read.notes] == [
        ("unrecognised", f"pair/{name}/session.log", 29, "ask Bob about the cable") for name in ("spark-a", "spark-b")
    ]
    ids = {finding.id for finding in check_fabric(read.fabric())}
    assert "mtu-mismatch" in ids
    assert "duplicate-address" not in ids


def test_every_source_points_at_a_line_with_the_value() -> None:
    read = read_dumps([FIXTURES / "pair"])
    for path in (("netdev", "enP2p1s0f0np0", "mtu"), ("netdev", "enp1s0f0np0", "mac"), ("host", "kernel")):
        place = read.sources["spark-b"][path]
        assert place.line is not None
        line = (FIXTURES / place.file).read_text().splitlines()[place.line - 1]
        assert {"mtu": "1500", "mac": "0a:0b:0c:d0:22:10", "kernel": "6.14.0-1013-nvidia"}[str(path[-1])] in line


def test_prefixes_name_nodes(tmp_path: Path) -> None:
    place = write(tmp_path, {"n1_rdma_link.txt": LINK.format(0), "n2_rdma_link.txt": LINK.format(1), "x.env": "A=1\n"})
    assert names(place) == ["n1", "n2"]


def test_hosts_in_prompts_name_nodes_of_one_file(tmp_path: Path) -> None:
    text = f"me@a1:~$ rdma link\n{LINK.format(0)}me@a2:~$ rdma link\n{LINK.format(1)}"
    place = write(tmp_path, {"paste.txt": text})
    read = read_dumps([place / "paste.txt"])
    assert [one.name for one in read.nodes] == ["a1", "a2"]
    assert set(netdev_of(read.nodes[1])) == {"e1"}


def test_a_folder_beats_the_prompt(tmp_path: Path) -> None:
    text = f"me@spark-7f3a:~$ rdma link\n{LINK.format(0)}"
    read = read_dumps([write(tmp_path, {"left/x.txt": text, "right/x.txt": text})])
    assert [one.name for one in read.nodes] == ["left", "right"]
    assert [one.host.hostname for one in read.nodes] == ["spark-7f3a"] * 2


def test_files_of_one_node_are_put_together(tmp_path: Path) -> None:
    place = write(
        tmp_path,
        {"rdma.txt": LINK.format(0), "ip_link.txt": "3: e0: <UP,LOWER_UP> mtu 9000 qdisc mq\n", "ulimit.txt": "\n"},
    )
    (one,) = read_dumps([place]).nodes
    assert one.name == "d"
    assert netdev_of(one)["e0"].mtu == 9000
    assert not isinstance(one.hcas, Unknown)
    assert one.hcas[0].ports[0].netdev == "e0"


def test_bad_files_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    place = write(
        tmp_path,
        {
            "rdma.txt": LINK.format(0),
            "core": b"\x7fELF\0\0\0",
            "fabric.json": '{"schema": "fabricdoc/fabric/1", "nodes": [{}]}',
            "cut.json": '[{"ifname": "e9", "mtu": 1500, "flags": []}, {"ifname": "e1',
        },
    )
    read = read_dumps([place])
    assert set(netdev_of(read.nodes[0])) == {"e0", "e9"}
    said = {(note.kind, Path(note.file).name) for note in read.notes}
    assert said == {("unreadable", "core"), ("unreadable", "fabric.json"), ("unreadable", "cut.json")}


def test_contradictions_are_named(tmp_path: Path) -> None:
    place = write(
        tmp_path,
        {f"{k}/{k}-ip_link.txt": f"3: e0: <UP,LOWER_UP> mtu {m} qdisc mq\n" for k, m in (("a", 9000), ("b", 9000))}
        | {"a/later_ip_link.txt": "3: e0: <UP,LOWER_UP> mtu 1500 qdisc mq\n"},
    )
    (note,) = read_dumps([place]).notes
    assert note.kind == "contradiction"
    assert "mtu is 1500 here and 9000 in d/a/a-ip_link.txt:1" in note.message


def test_a_document_beats_a_text_of_the_same_name(tmp_path: Path) -> None:
    save(Fabric(nodes=(node("n1"),)), tmp_path / "saved")
    place = write(tmp_path, {"n1_rdma_link.txt": LINK.format(0)})
    read = read_dumps([tmp_path / "saved", place])
    assert [one.host.os for one in read.nodes] == ["Test OS"]
    assert [note.kind for note in read.notes] == ["contradiction"]


def test_documents_and_texts_together(tmp_path: Path) -> None:
    save(Fabric(nodes=(node("n1"),)), tmp_path / "saved")
    place = write(tmp_path, {"n2_rdma_link.txt": LINK.format(0)})
    assert [one.name for one in read_dumps([tmp_path / "saved", place]).nodes] == ["n1", "n2"]


def test_nothing_readable_says_what_is_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tells of a node; d/x.txt: no known tool"):
        read_dumps([write(tmp_path, {"x.txt": "hello\n"})])
    with pytest.raises(InputError, match="tells of a node"):
        (tmp_path / "empty").mkdir()
        read_dumps([tmp_path / "empty"])


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_fabrics_come_back_equal(name: str, tmp_path: Path) -> None:
    fabric = RECORDED[name]()
    save(fabric, tmp_path / "d")
    assert read_dumps([tmp_path / "d"]).fabric() == fabric
