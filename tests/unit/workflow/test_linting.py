"""Lint, put together: files and bytes of every kind, whose they are, which NCCL is meant, a scan, what comes next."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from fabricdoc.errors import InputError, UsageError
from fabricdoc.export import FORMATS, render
from fabricdoc.model.documents import Unknown
from fabricdoc.model.findings import Findings
from fabricdoc.workflow.linting import MOST_BYTES, MOST_REMARKS, NO_SETTINGS, Linted, lint_files
from tests.fabrics.healthy import library
from tests.fabrics.spark import spark_one_cable, spark_one_crossed
from tests.unit.export.presets_made import pair

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without files, on a machine without NCCL."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fabricdoc.nccl.lint_library.Search.find", lambda _self, _name: [])
    return tmp_path


def put(name: str, content: str | bytes) -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def ids(found: Linted) -> list[tuple[str, int, str]]:
    return [(one.file, one.line, one.complaint.id) for one in found.remarks]


def test_errors_come_first_and_decide() -> None:
    found = lint_files([put("a.env", "NCCL_DEBUG=INFO\nNCCL_IB_TIMEOUT=99\n")])
    assert ids(found) == [("a.env", 2, "out-of-range"), ("a.env", 1, "debug-left-on")]
    assert found.has_errors and not lint_files([put("b.env", "NCCL_DEBUG=INFO\n")]).has_errors


def test_the_document_is_one_of_kind_findings() -> None:
    found = lint_files([put("a.env", 'NCCL_IB_GID_INDEX="3"\n'), put("b.json", "{}")])
    payload = found.payload()
    assert payload["verdict"] == "env-file-quotes-kept"
    assert [(one["name"], one["kinds"]) for one in payload["files"]] == [("a.env", ["docker"]), ("b.json", ["json"])]
    Findings.model_validate_json(json.dumps(payload), strict=True)


def test_standard_input_and_a_format(monkeypatch: pytest.MonkeyPatch) -> None:
    def given(text: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))

    given(b"export NCCL_IB_TIMEOUT=99\n")
    assert ids(lint_files(["-"])) == [("<stdin>", 1, "out-of-range")]
    given(b"export NCCL_NET=IB\n")
    assert ids(lint_files(["-"], form="docker")) == [("<stdin>", 1, "export-kept")]
    assert lint_files([put("a.env", "export NCCL_NET='IB'\n")], form="shell").remarks == ()
    with pytest.raises(UsageError, match="no format 'toml'"):
        lint_files(["a.env"], form="toml")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\x01\xff\xfe NCCL_NET=\xff\n",
        b"\xff\xfeN\x00C\x00",
        "NCCL_NET=IB\n".encode("utf-16"),
        b"\xef\xbb\xbfNCCL_NET=IB\n",
        b"NCCL_IB_HCA=" + b"x" * 200_000,
        b"NCCL_\x1b[31m=1\n[bold]NCCL_NET=IB\n",
        b"\r\r\n\n\r",
    ],
    ids=range(8),
)
@pytest.mark.parametrize("name", ["a.env", "nccl.conf", "a.sh", "a.yaml", "a.service", "unknown"])
def test_no_bytes_break_it(name: str, content: bytes) -> None:
    found = lint_files([put(name, content)])
    Findings.model_validate_json(json.dumps(found.payload()), strict=True)
    assert all(line.isprintable() for lines in found.shown(60) for line in lines)


def test_what_can_not_be_read_is_said(nowhere: Path) -> None:
    (nowhere / "folder").mkdir()
    for word, said in (("absent.env", "No such file"), ("folder", "directory"), ("/dev/zero", "device")):
        with pytest.raises(InputError, match=said):
            lint_files([word])
    with pytest.raises(InputError, match="longer than"):
        lint_files([put("big.env", b"\n" * (MOST_BYTES + 1))])
    with pytest.raises(InputError, match="no JSON"):
        lint_files([put("a.json", "{")])


def test_what_all_commands_of_a_script_get_is_told_once() -> None:
    script = put("run.sh", "export NCCL_IB_GID_INDEX=3\nrun -e NCCL_NET=IB x\nNCCL_NET=IB run\n")
    assert ids(lint_files([script])) == [("run.sh", 1, "gid-index-pinned")]


@pytest.mark.long
def test_hostile_files_are_told_shortly() -> None:
    found = lint_files([put("a.env", "".join(f"NCCL_WHAT_{number}=1\n" for number in range(5000)))])
    assert len(found.remarks) == MOST_REMARKS and "more remarks are left out" in found.told[0]
    assert "only the first" in found.files[0]["note"]


def test_several_files_are_several_nodes() -> None:
    found = lint_files([put("n1.env", "NCCL_PROTO=Simple\n"), put("n2.env", "NCCL_PROTO=LL,Simple\n")])
    assert ids(found) == [("n2.env", 1, "must-agree-differs")]
    assert [(one["file"], one["line"]) for one in found.payload()["findings"][0]["evidence"]] == [
        ("n2.env", 1),
        ("n1.env", 1),
    ]


def test_files_of_one_node_and_who_wins() -> None:
    env, conf = put("a.env", "NCCL_IB_TC=106\n"), put("etc/nccl.conf", "NCCL_IB_TC=104\n")
    assert ids(lint_files([env, conf])) == [("etc/nccl.conf", 1, "nccl-setting-shadowed")]
    found = lint_files([f"n1={env}", f"n1={conf}", f"n2={put('b.env', 'NCCL_IB_TC=104')}"])
    assert ids(found) == [("etc/nccl.conf", 1, "nccl-setting-shadowed")]
    assert [one["node"] for one in found.files] == ["n1", "n1", "n2"]
    assert ids(lint_files([put("x=y.env", "NCCL_IB_TIMEOUT=99\n")])) == [("x=y.env", 1, "out-of-range")]


def test_the_nccl_that_is_meant() -> None:
    text = put("a.env", "NCCL_IB_SUBNET_AWARE_ROUTING=1\n")
    assert lint_files([text]).remarks == ()
    assert ids(lint_files([text], nccl="2.28.9")) == [("a.env", 1, "not-yet-in-this-version")]
    assert lint_files([text], nccl="2.30.7").told == ("judged for NCCL 2.30.7",)
    with pytest.raises(InputError, match="no release"):
        lint_files([text], nccl="latest")


def save(fabric: object, name: str = "scan.json") -> Path:
    Path(name).write_text(fabric.model_dump_json(by_alias=True))  # type: ignore[attr-defined]
    return Path(name)


def test_without_a_scan_nothing_is_said_of_names() -> None:
    words = [put("a.env", "NCCL_IB_HCA==mlx9_9\nNCCL_SOCKET_IFNAME==eth77\nGLOO_SOCKET_IFNAME=eth77\n")]
    assert lint_files(words).remarks == ()
    assert len(lint_files(words, scan=[save(spark_one_cable())]).remarks) == 3


def test_a_scan_tells_the_release_of_its_nodes() -> None:
    fabric = spark_one_cable()
    nodes = [
        one.model_copy(update={"host": one.host.model_copy(update={"libnccl": library("2.28.9+cuda13.0")})})
        for one in fabric.nodes
    ]
    scan = save(fabric.model_copy(update={"nodes": tuple(nodes)}))
    words = [put("a.env", "NCCL_IB_SUBNET_AWARE_ROUTING=1\n")]
    assert ids(lint_files(words, scan=[scan])) == [("a.env", 1, "not-yet-in-this-version")]
    assert lint_files(words, scan=[scan], nccl="any").remarks == ()
    assert lint_files(words, scan=[scan]).told[0] == "held against the scan of spark-a, spark-b"


def test_a_file_of_one_node_and_the_wrong_node() -> None:
    scan, words = save(spark_one_crossed()), [put("a.env", "NCCL_IB_HCA==rocep1s0f0\n")]
    assert lint_files(words, scan=[scan], node="spark-a").remarks == ()
    assert ids(lint_files(words, scan=[scan], node="spark-b")) == [("a.env", 1, "selector-matches-nothing")]
    with pytest.raises(UsageError, match="no node"):
        lint_files(words, scan=[scan], node="spark-c")


def test_what_comes_next() -> None:
    bad, good = put("bad.env", "NCCL_IB_TIMEOUT=99\n"), put("my good.env", "NCCL_NET=IB\n")
    assert lint_files([bad]).after == ("fabricdoc lint bad.env", "look again, once it is mended")
    after = lint_files([good]).after
    assert after is not None and after[0] == "fabricdoc scan --save scan; fabricdoc lint 'my good.env' --scan scan"
    scan = save(spark_one_cable())
    measured = lint_files([good], scan=[scan]).after
    assert measured is not None and measured[0].startswith("fabricdoc bench --nodes ")
    assert lint_files([bad], scan=[scan]).after == (
        "fabricdoc lint bad.env --scan scan.json",
        "look again, once it is mended",
    )


def test_one_nodes_scan_leads_to_no_bench_there_is_nothing_between_nodes_to_measure() -> None:
    fabric = spark_one_cable()
    alone = save(fabric.model_copy(update={"nodes": fabric.nodes[:1], "links": Unknown(unknown="not asked")}))
    assert lint_files([put("a.env", "NCCL_NET=IB\n")], scan=[alone]).after is None


def test_a_scan_that_is_not_there_is_mended_with_words_of_lint() -> None:
    with pytest.raises(InputError, match="--scan nosuch: there is no such file or folder") as caught:
        lint_files([put("a.env", "NCCL_NET=IB\n")], scan=[Path("nosuch")])
    assert caught.value.fix.endswith("fabricdoc scan --save nosuch") and "--from" not in caught.value.fix


NAMES = {"docker": "start.sh", "nccl-conf": "nccl.conf", "systemd": "a.service", "env": "a.env", "docker-env": "a.env"}


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("whole", [False, True])
def test_what_export_env_writes_has_nothing_wrong(fmt: str, whole: bool) -> None:
    """Every format that this program writes is read, and what it writes is right."""
    preset = pair()
    try:
        text = render(preset, None if whole else preset.nodes[0], fmt)
    except UsageError:
        return
    found = lint_files([put(NAMES.get(fmt, "unknown"), text)])
    assert [one for one in found.remarks if one.complaint.id != "must-agree-differs"] == []


EXAMPLES = sorted(path for path in (Path(__file__).parents[3] / "examples").rglob("*") if path.is_file())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_have_nothing_wrong(path: Path) -> None:
    assert lint_files([str(path)]).remarks == ()


def test_how_many_settings_were_read_is_told_and_where_there_are_none() -> None:
    found = lint_files([put("a.env", "NCCL_NET=IB\nNCCL_IB_TC=106\n"), put("notes.txt", "hello world\n")])
    assert found.settings == 2
    assert [one["note"] for one in found.files] == ["2 settings read", NO_SETTINGS]
    assert found.told[0] == "no settings found in notes.txt, read as shell (--format says otherwise)"
    empty = lint_files([put("empty.env", "")])
    assert (empty.settings, empty.after, empty.remarks) == (0, None, ())
    other = lint_files([put("b.env", "MY_OWN=1\n")])
    assert other.settings == 1 and other.told[0].startswith("no setting in b.env is NCCL's")


def test_an_env_file_in_utf_16_is_refused_by_docker_and_read_all_the_same() -> None:
    Path("u16.env").write_bytes("NCCL_DEBUG=INFO\n".encode("utf-16"))
    assert [one.complaint.id for one in lint_files(["u16.env"]).remarks] == ["refused-by-its-reader", "debug-left-on"]
    Path("latin.env").write_bytes(b"NCCL_NET=IB\nX_Y=\xe9\n")
    (remark,) = lint_files(["latin.env"]).remarks
    assert (remark.complaint.id, remark.line) == ("refused-by-its-reader", 2)
