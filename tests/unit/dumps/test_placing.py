"""Evidence of findings gets the file, the line and the text it was read from; what no file tells keeps the node."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.dumps import read_dumps, save
from fabricdoc.dumps.files import Source
from fabricdoc.dumps.placing import MOST_OF_FINDING, SHOWN, excerpt, placed
from fabricdoc.dumps.sources import Facts
from fabricdoc.dumps.texts import Texts
from fabricdoc.model.findings import Evidence, Finding
from fabricdoc.workflow import replay_fabric
from tests.fabrics.altering import changed
from tests.fabrics.spark import spark_straight

pytestmark = pytest.mark.unit

TEXT = """\
$ rdma link
link rocep1s0f0/1 state ACTIVE physical_state LINK_UP netdev enp1s0f0np0
link rocep1s0f1/1 state DOWN physical_state DISABLED netdev enp1s0f1np1
$ ip addr
3: enp1s0f0np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP group default qlen 1000
    link/ether 4c:bb:47:2a:32:11 brd ff:ff:ff:ff:ff:ff
    inet 192.168.100.11/24 brd 192.168.100.255 scope global enp1s0f0np0
4: enp1s0f1np1: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc mq state DOWN group default qlen 1000
    inet 10.20.30.40/16 scope global enp1s0f1np1
$ show_gids
rocep1s0f0\t1\t0\tfe80:0000:0000:0000:4ebb:47ff:fe2a:3211\t\tv1\tenp1s0f0np0
rocep1s0f0\t1\t3\t0000:0000:0000:0000:0000:ffff:c0a8:640b\t192.168.100.11\tv2\tenp1s0f0np0
$ uname -a
Linux spark-a 6.17.0-1021-nvidia #21 SMP PREEMPT_DYNAMIC aarch64 aarch64 aarch64 GNU/Linux
$ ulimit -l
8192
$ ls /dev/infiniband
ls: cannot access '/dev/infiniband': No such file or directory
$ sysctl -a
net.ipv4.conf.all.rp_filter = 1
net.ipv4.conf.enp1s0f0np0.rp_filter = 2
$ rdma statistic show
link rocep1s0f0/1 out_of_sequence 57 packet_seq_err 3 rnr_nak_retry_err 0
$ ip route
default via 10.20.0.1 dev enp1s0f1np1
192.168.7.0/24 via 192.168.100.1 dev enp1s0f0np0
$ ip neigh
192.168.100.12 dev enp1s0f0np0 FAILED
"""


@cache
def told(text: str = TEXT, name: str = "d/n1.txt") -> dict[str, Facts]:
    texts = Texts()
    texts.add(Source(Path("/") / name, name, "n1", certain=True), text)
    return texts.nodes().facts


def finding(*texts: str, subject: str = "n1", file: str = "n1") -> Finding:
    pieces = tuple(Evidence(file=file, text=text) for text in texts)
    return Finding(id="none", severity="info", subject=subject, evidence=pieces)


def lines(text: str, subject: str = "n1", facts: dict[str, Facts] | None = None) -> list[int | None]:
    """The lines that stand before a piece of evidence."""
    (one,) = placed([finding(text, subject=subject)], facts or told())
    assert one.evidence[-1] == Evidence(file="n1", text=text)
    return [piece.line for piece in one.evidence[:-1]]


@pytest.mark.parametrize(
    ("text", "subject", "expected"),
    [
        ("enp1s0f0np0 192.168.100.11/24 mtu 9000", "n1", [5]),
        ("enp1s0f1np1 mtu 1500", "n1", [8]),
        ("mtu 1500", "n1/enp1s0f1np1", [8]),
        ("enp1s0f0np0: no carrier", "n1", [5]),
        ("enp1s0f1np1 10.20.30.40/16", "n1", [9]),
        ("10.20.0.0/16 on enp1s0f1np1", "n1", [9]),
        ("rocep1s0f1: state DOWN", "n1", [3]),
        ("active HCAs: rocep1s0f0", "n1", [2]),
        ("GID 3 0000:0000:0000:0000:0000:ffff:c0a8:640b RoCE v2", "n1/rocep1s0f0", [12]),
        ("GID 0 is link-local", "n1/rocep1s0f0", [11]),
        ("rocep1s0f0 RoCE v2 GID of its IPv4 address at index: 3", "n1", [12]),
        ("kernel (uname -r): 6.17.0-1021-nvidia, as on 2 of 3", "n1", [14]),
        ("locked memory limit 8388608 bytes", "n1", [16]),
        ("/dev/infiniband: nothing", "n1", [18]),
        ("enp1s0f0np0 rp_filter 2", "n1", [21]),
        ("rocep1s0f0/1: out_of_sequence 57", "n1", [23]),
        ("out_of_sequence grew", "n1/rocep1s0f0", [23]),
        ("default via 10.20.0.1 dev enp1s0f1np1", "n1", [25]),
        ("192.168.100.12 on enp1s0f0np0: failed", "n1", [28]),
    ],
)
def test_where_evidence_stands(text: str, subject: str, expected: list[int]) -> None:
    assert lines(text, subject) == expected


@pytest.mark.parametrize(
    "text",
    [
        "MemAvailable 3.0 GiB, wanted 10.0 GiB",
        "IOMMU mode: translated",
        "NCCL_IB_HCA=mlx5_9 (environment)",
        "enp9s0 mtu 9000",
        "rocep1s0f9: state ACTIVE",
        "told below 3 and above 0",
        "",
    ],
)
def test_what_no_file_tells_is_not_placed(text: str) -> None:
    assert lines(text) == []


def test_several_things_have_a_line_each_and_no_line_comes_twice() -> None:
    assert lines("one cage: rocep1s0f0, rocep1s0f1") == [2, 3]
    (one,) = placed([finding("enp1s0f0np0 mtu 9000", "enp1s0f0np0: mtu 9000 too")], told())
    assert [piece.line for piece in one.evidence] == [5, None, None]


def test_the_line_is_verbatim_and_the_words_stay() -> None:
    (one,) = placed([finding("enp1s0f1np1 10.20.30.40/16")], told())
    first, second = one.evidence
    assert (first.file, first.line, first.text) == ("d/n1.txt", 9, "inet 10.20.30.40/16 scope global enp1s0f1np1")
    assert second == Evidence(file="n1", text="enp1s0f1np1 10.20.30.40/16")


def test_other_nodes_and_pieces_with_a_line_are_left_alone() -> None:
    other = finding("enp1s0f0np0 mtu 9000", file="n2")
    lined = Finding(
        id="none", severity="info", subject="x", evidence=(Evidence(file="n1", line=3, text="enp1s0f0np0 mtu 9000"),)
    )
    assert placed([other, lined], told()) == (other, lined)
    assert placed([other], {}) == (other,)


def test_crlf_and_colours_do_not_move_lines() -> None:
    coloured = TEXT.replace("enp1s0f1np1:", "\x1b[36menp1s0f1np1:\x1b[0m").replace("\n", "\r\n")
    (one,) = placed([finding("enp1s0f1np1 mtu 1500")], told(coloured))
    assert one.evidence[0].line == 8
    assert one.evidence[0].text == TEXT.splitlines()[7]


def test_a_very_long_line_is_cut_around_the_value() -> None:
    long = "x " * 500 + "mtu 9000 " + "y " * 500
    assert "9000" in excerpt(long, 9000)
    assert len(excerpt(long, 9000)) <= SHOWN
    assert excerpt(long, 9000) in long
    assert excerpt("  a b ", None) == "a b"
    assert excerpt(long, {"a": 1}) in long


def test_a_finding_with_very_much_evidence_stays_short() -> None:
    text = "$ ip link\n" + "".join(f"{k}: e{k}: <UP,LOWER_UP> mtu {2000 + k} state UP\n" for k in range(1, 60))
    (one,) = placed([finding(*(f"e{k} mtu {2000 + k}" for k in range(1, 60)))], told(text))
    assert len([piece for piece in one.evidence if piece.line]) == MOST_OF_FINDING
    assert len([piece for piece in one.evidence if piece.line is None]) == 59


WORDS = [
    "enp1s0f0np0",
    "rocep1s0f0/1:",
    "GID",
    "3",
    "mtu",
    "9000",
    "state",
    "ACTIVE",
    "(",
    "192.168.100.11/24",
    "=",
    "é",
]


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=5)), max_size=8), st.text(max_size=20))
def test_any_words_are_placed_on_lines_that_are_there(words: list[str], subject: str) -> None:
    rows = TEXT.splitlines()
    (one,) = placed([finding(" ".join(words), subject=subject)], told())
    *before, last = one.evidence
    assert last.text == " ".join(words)
    for piece in before:
        assert piece.line is not None
        assert piece.text and piece.text in rows[piece.line - 1]


# whole files


def test_findings_of_a_folder_name_file_and_line(tmp_path: Path) -> None:
    for name, mtu in (("spark-a", 9000), ("spark-b", 1500)):
        (tmp_path / "pair" / name).mkdir(parents=True)
        text = TEXT.replace("mtu 9000", f"mtu {mtu}").replace("spark-a", name).replace("100.11", f"100.{mtu % 97}")
        (tmp_path / "pair" / name / "all.txt").write_text(text)
    found = {one.id: one for one in replay_fabric([tmp_path / "pair"]).findings}
    mismatch = found["mtu-mismatch"].evidence
    assert [(piece.file, piece.line) for piece in mismatch] == [
        ("pair/spark-a/all.txt", 5),
        ("spark-a", None),
        ("pair/spark-b/all.txt", 5),
        ("spark-b", None),
    ]
    assert "mtu 1500" in mismatch[2].text
    for one in found.values():
        for piece in one.evidence:
            if piece.line is not None and not one.id.startswith("dump-"):
                row = (tmp_path / piece.file).read_text().split("\n")[piece.line - 1]
                assert piece.text == row.strip()


def test_facts_of_a_document_keep_the_nodes_name(tmp_path: Path) -> None:
    sick = changed(spark_straight(), "spark-b", "netdev", "enp1s0f0np0", mtu=1500)
    save(sick, tmp_path / "d")
    found = replay_fabric([tmp_path / "d"]).findings
    assert found and {piece.line for one in found for piece in one.evidence} == {None}
    assert {piece.file for one in found for piece in one.evidence} <= {"spark-a", "spark-b"}


def test_a_node_that_a_document_tells_of_is_not_placed_in_texts(tmp_path: Path) -> None:
    save(spark_straight(), tmp_path / "all" / "d")
    (tmp_path / "all" / "spark-a-ip.txt").write_text("3: enp1s0f0np0: <UP,LOWER_UP> mtu 9000 state UP\n")
    read = read_dumps([tmp_path / "all" / "d", tmp_path / "all" / "spark-a-ip.txt"])
    assert read.facts == {}
    assert read.placed([finding("enp1s0f0np0 mtu 9000", file="spark-a")])[0].evidence[0].line is None
