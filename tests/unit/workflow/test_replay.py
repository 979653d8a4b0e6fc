"""Files are judged like a fresh scan; beacons' findings stay, notes on files become findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.checks import check_fabric, load_catalogue
from fabricdoc.dumps import save
from fabricdoc.dumps.told import Note
from fabricdoc.errors import InputError
from fabricdoc.fabric import selected, traced
from fabricdoc.model.fabric import Fabric
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.workflow import replay_fabric, save_fabric
from fabricdoc.workflow.replay import ABOUT, note_findings
from tests.fabrics import crossed_pair, netdev, node

pytestmark = pytest.mark.unit


def test_checks_are_made_again_and_beacons_findings_kept(tmp_path: Path) -> None:
    sick = Fabric(
        nodes=(
            node("a", netdevs=[netdev("p0", ip="10.0.0.1", mtu=1500)]),
            node("b", netdevs=[netdev("p0", ip="10.0.0.1")]),
        ),
        findings=(
            Finding(
                id="link-one-way", severity="error", subject="a/p0 - b/p0", evidence=(Evidence(file="a", text="3"),)
            ),
            Finding(id="mtu-mismatch", severity="error", subject="of an older version"),
        ),
    )
    save(sick, tmp_path / "d")
    found = replay_fabric([tmp_path / "d"])
    assert [one for one in found.findings if one.id != "link-one-way"] == list(check_fabric(sick))
    assert [one.subject for one in found.findings if one.id == "link-one-way"] == ["a/p0 - b/p0"]
    assert "of an older version" not in {one.subject for one in found.findings}


def test_links_and_failed_nodes_come_back(tmp_path: Path) -> None:
    save(crossed_pair(), tmp_path / "d")
    found = replay_fabric([tmp_path / "d"])
    assert found.links == traced(crossed_pair()).links
    assert found.selectors == selected(crossed_pair()).selectors is not None


def test_a_damaged_file_is_a_finding(tmp_path: Path) -> None:
    save(crossed_pair(), tmp_path / "d")
    (tmp_path / "d" / "nodes" / "2-of-2-beta.json").write_bytes(b"\0\1")
    findings = {one.id: one for one in replay_fabric([tmp_path / "d"]).findings}
    assert findings["dump-unreadable"].subject == "d/nodes/2-of-2-beta.json"
    assert findings["dump-unreadable"].severity == "warning"


def test_nothing_readable_is_wrong_input(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hello\n")
    with pytest.raises(InputError) as caught:
        replay_fabric([tmp_path / "x"])
    assert caught.value.status == 2


def test_notes_of_one_kind_are_one_finding_with_a_bound(tmp_path: Path) -> None:
    save(crossed_pair(), tmp_path / "d")
    from fabricdoc.dumps import read_dumps

    notes = tuple(Note("unrecognised", "f", "no known tool", k, k + 1, f"line {k}") for k in range(1, 40))
    read = read_dumps([tmp_path / "d"])
    (one,) = note_findings(type(read)(**{**vars(read), "notes": notes}))
    assert one.evidence[0].line == 1
    assert one.evidence[0].text == "lines 1-2: no known tool: line 1"
    assert one.evidence[-1].text == "and 31 more places from here on"


def test_every_kind_of_note_has_an_id_of_the_catalogue() -> None:
    assert {id for id, *_ in ABOUT.values()} <= set(load_catalogue())


def test_saving_names_the_command_that_reads_it_again(tmp_path: Path) -> None:
    command, _why = save_fabric(crossed_pair(), tmp_path / "a b", anonymize=False)
    assert command == f"fabricdoc scan --from '{tmp_path}/a b'"


GIDS = "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n" + (
    "mlx5_0\t1\t3\t0000:0000:0000:0000:0000:ffff:0a00:0001\t10.0.0.1  \tv2\tens1\n"
)
LOG = "a:1:2 [0] NCCL INFO NCCL version 2.28.9+cuda13.0\n"


def test_logs_and_settings_beside_dumps_lead_to_explain(tmp_path: Path) -> None:
    folder = tmp_path / "my ticket"
    folder.mkdir()
    for name, text in (
        ("a_show_gids.txt", GIDS),
        ("a.log", LOG),
        ("n.env", "NCCL_IB_GID_INDEX=3\n"),
        ("x.txt", "hi\n"),
    ):
        (folder / name).write_text(text)
    found = [one for one in replay_fabric([folder]).findings if one.id == "dump-not-recognised"]
    assert len(found) == 2, "what explain reads, and what nobody reads"
    (told,) = (one for one in found if "explain" in one.fix[0])
    assert told.fix == (f"fabricdoc explain '{folder}'",)
    assert sorted(one.file.rpartition("/")[2] for one in told.evidence) == ["a.log", "n.env"]


def test_a_log_alone_leads_to_explain_too(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(LOG)
    with pytest.raises(InputError, match="tells of a node") as caught:
        replay_fabric([tmp_path / "a.log"])
    assert caught.value.fix.endswith(f"fabricdoc explain {tmp_path}/a.log")
