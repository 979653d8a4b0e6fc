"""`scan --save` and `scan --from`: the same screen, the same exit statuses, and words that contradict are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabricdoc.cli import main
from fabricdoc.dumps import save
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, FailedNode
from tests.fabrics import crossed_pair, netdev, node

pytestmark = pytest.mark.unit


def pair(**update: object) -> Fabric:
    nodes = [
        one.model_copy(
            update={
                "netdevs": tuple(
                    p.model_copy(update={"mac": f"02:00:00:00:0{k}:0{j}"}) for j, p in enumerate(one.netdevs)
                )
            }
        )
        for k, one in enumerate(crossed_pair().nodes)
        if not isinstance(one.netdevs, Unknown)
    ]
    return crossed_pair().model_copy(update={"nodes": tuple(nodes), **update})


@pytest.mark.parametrize(
    ("fabric", "status"),
    [
        (pair(), 0),
        (pair(links=Unknown(unknown="not tried")), 3),
        (pair(failed=(FailedNode(name="c", target="c", id="x", message="c: lost"),)), 4),
        (
            Fabric(
                nodes=tuple(node(n, netdevs=[netdev("p0", ip="10.0.0.1", mac=f"02:00:00:00:00:0{n}")]) for n in "ab"),
                links=(),
            ),
            1,
        ),
    ],
    ids=["fit", "inconclusive", "failed", "not-fit"],
)
def test_statuses_are_those_of_a_scan(fabric: Fabric, status: int, tmp_path: Path) -> None:
    save(fabric, tmp_path / "d")
    assert main(["scan", "--from", str(tmp_path / "d")]) == status


def test_json_is_one_fabric_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(pair(), tmp_path / "d")
    main(["scan", "--from", str(tmp_path / "d"), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "fabricdoc/fabric/1"
    assert [one["name"] for one in document["nodes"]] == ["alpha", "beta"]


def test_a_dump_can_be_saved_again_and_several_paths_follow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(Fabric(nodes=(node("one"),)), tmp_path / "a")
    save(Fabric(nodes=(node("two"),)), tmp_path / "b")
    main(["scan", "--from", str(tmp_path / "a"), str(tmp_path / "b"), "--save", str(tmp_path / "c")])
    assert "see this again anywhere" in capsys.readouterr().err
    main(["scan", "--from", str(tmp_path / "c"), "--json"])
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["nodes"]] == ["one", "two"]


@pytest.mark.parametrize(
    "words",
    [
        ["some.txt"],
        ["--anonymize"],
        ["--from", "x", "--nodes", "a"],
        ["--from", "/nonexistent/file"],
    ],
)
def test_what_contradicts_is_wrong_usage(words: list[str]) -> None:
    assert main(["scan", *words]) == 2


def test_a_foreign_folder_is_refused_before_a_node_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "precious").write_text("x")
    monkeypatch.setattr("fabricdoc.fabric.begin_scan", lambda *_a: pytest.fail("a node was asked"))
    assert main(["scan", "--save", str(tmp_path)]) == 2
    assert "left alone" in capsys.readouterr().err


def test_nothing_readable_is_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.txt").write_text("once upon a time\n")
    assert main(["scan", "--from", str(tmp_path / "x.txt")]) == 2
    assert "nothing in" in capsys.readouterr().err
