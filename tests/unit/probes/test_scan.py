"""The scan probe whole: over the wire, from a zip, with every Python at hand, and when its time is up."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.fabric.report import read_report
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Host, NodeReport
from fabricdoc.probes import counters, ethtool, gpus, hcas, netdevs, nldev, pcie, scan, verbs
from fabricdoc.probes.wire import Wire
from tests.sysfs import EINVAL_FILE, SPARK, spark

pytestmark = [
    pytest.mark.unit,
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]

PROBES = Path(scan.__file__).parent
RUN = "import sys; sys.path.insert(0, sys.argv[1]); from probes.__main__ import run; sys.exit(run('scan', 'nonce'))"


def pythons() -> list[str]:
    """This Python and every other one from 3.10 on that PATH or pyenv offers (not pyenv's shims)."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    minors = [f"3.{minor}" for minor in range(10, 15)]
    known = [path for minor in minors for path in sorted(root.glob(f"versions/{minor}.*/bin/python3"))]
    on_path = [Path(path) for minor in minors if (path := shutil.which(f"python{minor}"))]
    found = (Path(sys.executable), *known, *on_path)
    return list(dict.fromkeys(str(path) for path in found if path.parent.name != "shims"))


def packed(folder: Path) -> Path:
    archive = folder / "probes.zip"
    with zipfile.ZipFile(archive, "w") as made:
        for source in PROBES.glob("*.py"):
            made.write(source, f"probes/{source.name}")
    return archive


def ask(python: str, archive: Path, request: str) -> tuple[int, list[dict[str, Any]], str]:
    ended = subprocess.run(
        [python, "-I", "-W", "error", "-c", RUN, str(archive)],
        input=request,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    mark = "\x1enonce "
    lines = ended.stdout.split("\n")[:-1]
    assert all(line.startswith(mark) for line in lines), ended.stdout[:500]
    return ended.returncode, [json.loads(line.removeprefix(mark)) for line in lines], ended.stderr


@pytest.mark.long
@pytest.mark.parametrize("python", pythons())
def test_one_request_one_report_from_a_zip(tmp_path: Path, python: str) -> None:
    status, messages, stderr = ask(python, packed(tmp_path), '{"do": "scan", "deadline_s": 10}\n')
    assert (status, stderr) == (0, "")
    (message,) = messages
    assert message["event"] == "result"
    report = NodeReport.model_validate_json(json.dumps(message["report"]), strict=True)
    assert not isinstance(report.netdevs, Unknown)
    assert "lo" in [netdev.name for netdev in report.netdevs]
    assert not isinstance(report.routes, Unknown)
    assert report.host.python != Unknown(unknown="time limit")


@pytest.mark.long
def test_another_request_is_refused(tmp_path: Path) -> None:
    status, messages, _stderr = ask(sys.executable, packed(tmp_path), '{"do": "format"}\n')
    assert status == 2
    assert messages == [{"event": "error", "message": "the scan probe only knows the request scan"}]


@pytest.mark.long
def test_a_controller_that_is_gone_gets_no_answer(tmp_path: Path) -> None:
    assert ask(sys.executable, packed(tmp_path), "")[:2] == (1, [])


def taken(monkeypatch: pytest.MonkeyPatch, request: dict[str, Any]) -> list[tuple[float, float]]:
    """What `scan` was called with for one request over the wire: (deadline_s, watch_s)."""
    calls: list[tuple[float, float]] = []
    monkeypatch.setattr(scan, "scan", lambda deadline_s, watch_s, **_more: calls.append((deadline_s, watch_s)) or {})
    read_end, write_end = os.pipe()
    os.write(write_end, json.dumps({"do": "scan", **request}).encode() + b"\n")
    out = os.open(os.devnull, os.O_WRONLY)
    try:
        assert scan.main(Wire("nonce", read_end, out)) == 0
    finally:
        for descriptor in (read_end, write_end, out):
            os.close(descriptor)
    return calls


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [(3, 3.0), (0.5, 0.5), (0, 10.0), (-1, 10.0), (601, 10.0), ("5", 10.0), (None, 10.0), (True, 10.0)],
)
def test_only_a_sane_deadline_is_taken(monkeypatch: pytest.MonkeyPatch, asked: Any, seconds: float) -> None:
    assert taken(monkeypatch, {"deadline_s": asked}) == [(seconds, 0.0)]


@pytest.mark.parametrize(
    ("asked", "seconds"), [(3, 3.0), (600, 600.0), (0, 0.0), (-1, 0.0), (601, 0.0), ("5", 0.0), ([], 0.0), (True, 0.0)]
)
def test_only_a_sane_watch_is_taken(monkeypatch: pytest.MonkeyPatch, asked: Any, seconds: float) -> None:
    assert taken(monkeypatch, {"deadline_s": 4, "watch_s": asked}) == [(4.0, seconds)]


@pytest.mark.long
def test_a_recorded_spark_is_a_valid_report(tmp_path: Path) -> None:
    report = NodeReport.model_validate(scan.scan(10, str(spark(tmp_path))))
    assert not isinstance(report.hcas, Unknown)
    assert [len(hca.ports) for hca in report.hcas] == [1, 1, 1, 1]
    assert set(report.timings_ms) >= {"hcas", "netdevs", "routes", "container", "host", "verbs", "gpus", "gpu_bus"}
    assert set(report.timings_ms) >= {"rules", "neighbours", "links"}
    assert {"hcas", "pcie", "counters"} <= set(report.timings_ms)
    assert not isinstance(report.pcie, Unknown)
    assert [one.address for one in report.pcie if one.upstream] == [
        "0000:01:00.0", "0000:01:00.1", "0002:01:00.0", "0002:01:00.1", "000f:01:00.0",
    ]  # fmt: skip
    assert not isinstance(report.counters, Unknown)
    assert {(one.source, one.names) for one in report.counters} == {("port", 21), ("hw", 30)}
    assert report.watched_s == 0.0


GROW = """import pathlib, sys
first, changed, last = (pathlib.Path(path) for path in sys.argv[1:])
first.write_text("5")
last.write_text("1")
changed.write_text("2")
first.write_text("9")
last.write_text("1")
"""


@pytest.mark.long
def test_watched_counters_come_with_what_they_grew_by(tmp_path: Path) -> None:
    base = spark(tmp_path, slots=4) / "sys/class/infiniband"
    first, last = base / "roceP2p1s0f0/ports/1/counters/gate", base / "rocep1s0f1/ports/1/counters/gate"
    for gate in (first, last):  # the child waits there in each sample, so the change lies between the two
        os.mkfifo(gate)
    changed = base / "rocep1s0f0/ports/1/counters/link_downed"
    writer = subprocess.Popen([sys.executable, "-c", GROW, str(first), str(changed), str(last)])
    try:
        report = NodeReport.model_validate(scan.scan(20, str(tmp_path), watch_s=0.05))
    finally:
        writer.kill()
        writer.wait(10)
    assert not isinstance(report.counters, Unknown)
    deltas = {one.subject: one.deltas for one in report.counters if one.deltas}
    assert deltas == {"roceP2p1s0f0/1": {"gate": 4}, "rocep1s0f0/1": {"link_downed": 2}}
    assert 0.05 <= report.watched_s < 20


@pytest.mark.long
def test_without_an_hca_no_child_is_started_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sys/class").mkdir(parents=True)
    started: list[float] = []
    whole = scan.start
    monkeypatch.setattr(scan, "start", lambda work, limit_s: (started.append(limit_s), whole(work, limit_s))[1])
    report = NodeReport.model_validate(scan.scan(10, str(tmp_path)))
    assert sorted(started) == sorted([gpus.LIMIT_S, verbs.LIMIT_S])
    assert (report.hcas, report.counters, report.pcie) == ((), (), ())


def test_where_sysfs_hides_the_hcas_nothing_is_said_of_their_counters_and_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sys/class").mkdir(parents=True)
    device = nldev.Device(0, "mlx5_0", "", "", "", "roce")
    monkeypatch.setattr(hcas, "read_hcas", lambda *_: [nldev.hca(device, [nldev.Port(1, "ACTIVE", "LinkUp", "e0")])])
    report = NodeReport.model_validate(scan.scan(10, str(tmp_path), watch_s=500, pause=lambda _seconds: None))
    assert report.counters == report.pcie == Unknown(unknown=scan.HIDDEN)
    assert not isinstance(report.hcas, Unknown)
    assert (report.hcas[0].ports[0].netdev, report.watched_s) == ("e0", 0.0)


def test_without_an_hca_there_is_nothing_to_watch(tmp_path: Path) -> None:
    (tmp_path / "sys/class").mkdir(parents=True)
    waited: list[float] = []
    report = NodeReport.model_validate(scan.scan(10, str(tmp_path), watch_s=500, pause=waited.append))
    assert (report.watched_s, report.counters, waited) == (0.0, (), [])


@pytest.mark.long
def test_a_watch_ends_when_the_controller_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, whole = str(spark(tmp_path)), scan.scan
    monkeypatch.setattr(scan, "scan", lambda seconds, **more: whole(seconds, root, **more))
    read_end, write_end = os.pipe()
    os.write(write_end, b'{"do": "scan", "deadline_s": 2, "watch_s": 55}\n')
    os.close(write_end)
    answers, out = os.pipe()
    begun = time.monotonic()
    wire = Wire("nonce", read_end, os.dup(out))
    assert scan.main(wire) == 0
    assert time.monotonic() - begun < 30
    with os.fdopen(answers, "rb") as said:
        report = json.loads(said.readline().removeprefix(b"\x1enonce "))["report"]
    os.close(read_end)
    assert report["watched_s"] == 0.0
    assert len(report["counters"]) == 8


@pytest.mark.long
def test_a_watch_lasts_while_somebody_listens(tmp_path: Path) -> None:
    root, waited = str(spark(tmp_path)), list[float]()

    def pause(seconds: float) -> None:
        waited.append(seconds)
        time.sleep(seconds)

    report = NodeReport.model_validate(scan.scan(20, root, watch_s=0.4, pause=pause))
    assert 0.4 <= report.watched_s < 20
    assert len(waited) == 1
    assert 0 <= waited[0] <= 0.4


@pytest.mark.long
def test_a_scan_without_time_still_watches_for_as_long_as_asked(tmp_path: Path) -> None:
    report = NodeReport.model_validate(scan.scan(0.1, str(spark(tmp_path)), watch_s=1.0))
    assert report.hcas == Unknown(unknown="time limit")
    assert not isinstance(report.counters, Unknown)


@pytest.mark.long
def test_an_hca_that_hangs_costs_its_ports_and_those_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = spark(tmp_path)
    monkeypatch.setattr(hcas, "LIMIT_S", 0.3)
    (root / "sys/class/infiniband/rocep1s0f0/ports/1/state").unlink()
    os.mkfifo(root / "sys/class/infiniband/rocep1s0f0/ports/1/state")
    report = NodeReport.model_validate(scan.scan(20, str(root)))
    late = Unknown(unknown="no answer within 0.3 s")
    assert not isinstance(report.hcas, Unknown)
    assert {hca.name: hca.ports[0].state for hca in report.hcas} == {
        "roceP2p1s0f0": "ACTIVE", "roceP2p1s0f1": "DOWN", "rocep1s0f0": late, "rocep1s0f1": late,
    }  # fmt: skip
    assert {hca.firmware for hca in report.hcas} == {"28.45.4028"}
    assert not isinstance(report.pcie, Unknown)
    assert not isinstance(report.counters, Unknown)


@pytest.mark.long
def test_counters_that_hang_cost_their_own_limit_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = spark(tmp_path)
    monkeypatch.setattr(counters, "LIMIT_S", 0.3)
    os.mkfifo(root / "sys/class/infiniband/rocep1s0f0/ports/1/counters/a_sick_card")
    report = NodeReport.model_validate(scan.scan(20, str(root)))
    assert not isinstance(report.counters, Unknown)
    assert {one.subject for one in report.counters} == {"roceP2p1s0f0/1", "roceP2p1s0f1/1"}
    assert not isinstance(report.hcas, Unknown)
    assert report.watched_s == 0.0


@pytest.mark.long
def test_1024_slots_on_four_hcas_take_little_time(tmp_path: Path) -> None:
    root = str(spark(tmp_path, slots=1024))
    begun = time.process_time()
    report = scan.scan(10, root)
    assert time.process_time() - begun < 0.3
    assert [len(hca["ports"][0]["gids"]) for hca in report["hcas"]] == [4, 2, 4, 2]


@pytest.mark.long
def test_what_hangs_costs_only_itself_and_what_comes_after(tmp_path: Path) -> None:
    root = spark(tmp_path)
    (root / "proc/self").mkdir(parents=True)
    os.mkfifo(root / "proc/meminfo")
    begun = time.monotonic()
    report = NodeReport.model_validate(scan.scan(2.0, str(root)))
    assert time.monotonic() - begun < 10
    limit = Unknown(unknown="time limit")
    assert not isinstance(report.hcas, Unknown)
    assert report.host.hostname == os.uname().nodename
    assert report.host.memory_total == report.host.memory_available == report.host.torch == limit
    assert isinstance(report.gpus, Unknown)


@pytest.mark.long
def test_a_driver_that_hangs_leaves_interfaces_and_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ethtool, "read_settings", lambda _wanted: time.sleep(60))
    monkeypatch.setattr(netdevs, "LIMIT_S", 0.2)
    monkeypatch.setattr(netdevs, "has_device", lambda _interface: True)
    report = NodeReport.model_validate(scan.scan(20))
    silent = Unknown(unknown="no answer within 0.2 s")
    assert not isinstance(report.netdevs, Unknown)
    (lo,) = [one for one in report.netdevs if one.name == "lo"]
    assert (lo.addresses[0].ip, lo.speed_mbps, lo.fec) == ("127.0.0.1", silent, silent)
    assert not isinstance(report.routes, Unknown)
    assert report.timings_ms["links"] < 5000


def test_no_time_at_all_is_a_report_of_unknowns() -> None:
    report = NodeReport.model_validate(scan.scan(0.1))
    limit = Unknown(unknown="time limit")
    assert (report.hcas, report.netdevs, report.routes, report.host.kernel) == (limit, limit, limit, limit)
    assert (report.rules, report.neighbours) == (limit, limit)
    assert report.container.kind == limit


@pytest.mark.long
def test_drivers_that_hang_cost_their_own_limit_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "LIMIT_S", 0.2)
    monkeypatch.setattr(gpus, "DEVICES", (os.devnull,))
    monkeypatch.setattr(verbs, "LIMIT_S", 0.2)
    monkeypatch.setattr(gpus, "ask", lambda _say: time.sleep(60))
    said = {"libibverbs": "/lib/libibverbs.so.1"}
    monkeypatch.setattr(verbs, "ask", lambda say, **_more: (say(said), time.sleep(60)))
    begun = time.monotonic()
    report = NodeReport.model_validate(scan.scan(30, str(spark(tmp_path))))
    assert time.monotonic() - begun < 10
    assert report.host.libibverbs == "/lib/libibverbs.so.1"
    assert report.gpus == Unknown(unknown="no answer within 0.2 s; on the PCI bus: 000f:01:00.0")
    assert not isinstance(report.hcas, Unknown)
    assert {hca.ports[0].active_mtu for hca in report.hcas} == {Unknown(unknown="no answer within 0.2 s")}


def test_without_a_fork_the_rest_is_still_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_fork() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", no_fork)
    report = NodeReport.model_validate(scan.scan(10, str(spark(tmp_path))))
    reason = "no process could be started: Resource temporarily unavailable"
    assert not isinstance(report.netdevs, Unknown)
    assert "not asked" not in str([one.fec for one in report.netdevs])
    assert report.host.libibverbs == report.counters == Unknown(unknown=reason)
    assert not isinstance(report.hcas, Unknown)
    assert {hca.ports[0].phys_state for hca in report.hcas} == {"LinkUp", "Disabled"}
    assert isinstance(report.gpus, Unknown)
    assert report.gpus.unknown.startswith(reason)


@pytest.mark.parametrize("at", [*range(0, 30, 2), *range(30, 160, 10)])
def test_an_hca_that_goes_away_at_any_moment_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    root = str(spark(tmp_path, SPARK[:2], slots=8))
    opens, whole = [0], os.open

    def opened(*args: Any, **kwargs: Any) -> int:
        opens[0] += 1
        if opens[0] == at + 1:
            monkeypatch.setattr(os, "open", whole)
            shutil.rmtree(tmp_path / SPARK[0].place.path)
        return whole(*args, **kwargs)

    monkeypatch.setattr(os, "open", opened)
    said: dict[str, Any] = {}
    found = {"hcas": hcas.read_hcas(root), "pcie": pcie.read_pcie(hcas.pci_addresses(root), root)}
    counters.ask(said.update, root, 0.0)
    monkeypatch.setattr(os, "open", whole)
    report = valid({**found, "counters": counters.from_said(said, "")})
    assert not isinstance(report.hcas, Unknown)
    assert "rocep1s0f1" in [hca.name for hca in report.hcas]
    assert not isinstance(report.pcie, Unknown)
    assert "0000:01:00.1" in [one.address for one in report.pcie]
    assert not isinstance(report.counters, Unknown)
    assert "rocep1s0f1/1" in [one.subject for one in report.counters]


def valid(report: dict[str, Any]) -> NodeReport:
    """A report with these sections, as the controller reads it; raises where it would be refused."""
    blank = {name: {"unknown": "not asked"} for name in ("netdevs", "routes", "gpus")}
    whole = {**report, **blank, "host": HOST, "container": {"kind": "none", "evidence": ""}}
    return read_report("a", "local", json.loads(json.dumps(whole, allow_nan=False)))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[Path]]:
    """A Spark's tree, and its files: a property test fills them with rubbish, one at a time, and puts them right."""
    root = spark(tmp_path_factory.mktemp("tree"), SPARK[:1], slots=4)
    files = (path for path in (root / "sys/devices").rglob("*") if path.is_file() and not path.is_symlink())
    return str(root), sorted(path for path in files if "counters" not in path.parts or path.name < "link")


RUBBISH = st.one_of(
    st.binary(max_size=70),
    st.sampled_from([b"", b"nan", b"inf GT/s", b"-1", b"9" * 30, b"9" * 5000, b"4: ACTIVE" * 900, b"\xff" * 64]),
    st.integers(-(2**70), 2**70).map(lambda number: str(number).encode()),
)


@pytest.mark.long
@settings(max_examples=150)
@given(data=st.data())
def test_whatever_a_file_holds_the_report_is_valid(tree: tuple[str, list[Path]], data: st.DataObject) -> None:
    root, files = tree
    changed = data.draw(st.sampled_from(files), label="file")
    before = changed.read_bytes()
    changed.write_bytes(data.draw(RUBBISH, label="content"))
    try:
        said: dict[str, Any] = {}
        counters.ask(said.update, root, 0.0)
        report = {
            "hcas": hcas.read_hcas(root),
            "pcie": pcie.read_pcie(hcas.pci_addresses(root), root),
            "counters": counters.from_said(said, ""),
        }
    finally:
        changed.write_bytes(before)
    valid(report)


HOST = {name: {"unknown": "not asked"} for name, field in Host.model_fields.items() if field.is_required()}


def test_the_einval_stand_in_really_is_one() -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        Path(EINVAL_FILE).read_text()
