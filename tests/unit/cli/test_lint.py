"""`lint` as a command: exit statuses, what stdout holds, what it loads."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from fabricdoc.cli import main

pytestmark = pytest.mark.unit

BAD = 'NCCL_IB_GID_INDEX="3"\nNCCL_DEBUG=INFO\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.env").write_text(BAD)
    (tmp_path / "warned.env").write_text("NCCL_DEBUG=INFO\n")
    (tmp_path / "good.env").write_text("NCCL_NET=IB\n")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["lint", "--nccl", "any", *words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["good.env"], 0),
        (["warned.env"], 0),
        (["bad.env"], 1),
        (["good.env", "bad.env"], 1),
        (["absent.env"], 2),
        (["."], 2),
        ([], 2),
        (["bad.env", "--format", "toml"], 2),
        (["bad.env", "--format", "shell"], 0),
        (["bad.env", "--json", "--sarif"], 2),
        (["bad.env", "--scan", "absent.json"], 2),
        (["bad.env", "--github"], 1),
    ],
)
def test_exit_statuses(words: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, *words)[0] == status


def test_people_get_the_line_and_the_next_command(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = run(capsys, "bad.env")
    assert "bad.env:1:19" in out and '    1 | NCCL_IB_GID_INDEX="3"' in out and "fix: NCCL_IB_GID_INDEX=3" in out
    assert err.splitlines()[-1].strip() == "fabricdoc lint bad.env"


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = run(capsys, "bad.env", "--json")
    document = json.loads(out)
    assert (document["schema"], document["verdict"], err) == ("fabricdoc/findings/1", "env-file-quotes-kept", "")
    assert document["findings"][0]["evidence"][0] == {"file": "bad.env", "line": 1, "text": 'NCCL_IB_GID_INDEX="3"'}
    assert json.loads(run(capsys, "good.env", "--json")[1])["verdict"] == "none"
    assert json.loads(run(capsys, "absent.env", "--json")[1])["schema"] == "fabricdoc/error/1"


def test_sarif_and_annotations(capsys: pytest.CaptureFixture[str]) -> None:
    log = json.loads(run(capsys, "bad.env", "--sarif")[1])
    assert log["version"] == "2.1.0" and log["runs"][0]["results"][0]["ruleId"] == "env-file-quotes-kept"
    lines = run(capsys, "bad.env", "--github")[1].splitlines()
    assert lines[0].startswith("::error file=bad.env,line=1,col=19,title=env-file-quotes-kept::")


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"docker run -e NCCL_PROTO=^LL image\n")))
    status, out, err = run(capsys, "-")
    assert status == 1 and "<stdin>:1:26" in out and "ll128-forced-by-exclusion" in out
    assert "next" not in err, "there is no file to look at again"


@pytest.mark.long
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_it_loads_no_models_and_no_network(form: list[str], folder: Path) -> None:
    """What keeps it quick: neither pydantic nor a room that asks nodes is loaded without a scan."""
    code = (
        "import sys, os; from fabricdoc.cli import main; main(sys.argv[1:]); "
        "sys.stderr.write(' '.join(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "lint", str(folder / "bad.env"), *form],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[3])},
    )
    loaded = set(done.stderr.split())
    heavy = {"pydantic", "asyncio", "sqlite3", "tomllib", "fabricdoc.transport", "fabricdoc.bench", "fabricdoc.checks"}
    assert "fabricdoc.nccl.lint" in loaded
    assert not loaded & heavy
    assert ("rich.console" in loaded) is (form == [])
