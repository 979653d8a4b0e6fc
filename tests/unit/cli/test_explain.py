"""`explain`: one document or one screen, exit statuses, stdin, paths that are not there."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fabricdoc.cli import main
from tests.excerpts import completion, gids, log, using, version, warn
from tests.unit.house.house import TREE

pytestmark = pytest.mark.unit

BROKEN = log(
    "alpha", version("2.21.5"), using("mlx5_0"), warn("net_ib.cc:93", "NET/IB : mlx5_0:1 Got async event : port error")
)
UNKNOWN = log("alpha", version("2.32.3"), warn("x.cc:1", "nobody wrote this before"))
HEALTHY = log("alpha", version("2.28.9"), using("mlx5_0"), "Using network IB", "Connected all rings")
PREFIX = log("alpha", "NCCL_IB_HCA set to mlx5_1", using("mlx5_1", "mlx5_10"), "Using network IB")


def _json(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("text", "status", "verdict"),
    [(BROKEN, 1, "link-flap"), (UNKNOWN, 3, "unknown"), (HEALTHY, 0, "none"), (PREFIX, 0, "ib-hca-prefix-match")],
)
def test_the_status_is_the_verdicts(
    text: str, status: int, verdict: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.log").write_text(text)
    assert main(["explain", "--json", str(tmp_path)]) == status
    document = _json(capsys)
    assert document["verdict"] == verdict
    jsonschema.validate(document, json.loads((TREE / "docs" / "schemas" / "findings-1.json").read_text()))


def test_a_screen_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bravo.log").write_text(log("bravo", completion(12)))
    (tmp_path / "alpha.log").write_text(BROKEN)
    assert main(["explain", str(tmp_path / "alpha.log"), str(tmp_path / "bravo.log")]) == 1
    out = capsys.readouterr().out
    assert out.startswith("error: The port of mlx5_0 on alpha went down")
    assert "also considered" in out


def test_stdin_is_a_dash(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BROKEN.encode())))
    assert main(["explain", "--json", "-"]) == 1
    assert _json(capsys)["findings"][0]["evidence"][0]["file"] == "-"


def test_a_folder_of_two_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nccl.env").write_text("NCCL_IB_GID_INDEX=3\n")
    for node, index in (("alpha", 3), ("bravo", 5)):
        (tmp_path / node).mkdir()
        (tmp_path / node / "show_gids.txt").write_text(gids(("mlx5_0", index, f"10.1.0.{index}", "v2")))
    assert main(["explain", "--json", str(tmp_path)]) == 1
    document = _json(capsys)
    assert document["verdict"] == "gid-index-differs-between-nodes"
    assert {one["node"] for one in document["files"]} == {"", "alpha", "bravo"}


def test_a_path_that_is_not_there_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(tmp_path / "nowhere")]) == 2
    assert "there is no such file" in capsys.readouterr().err


def test_no_path_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 2
    assert "PATH" in capsys.readouterr().err


def test_no_path_says_how_a_pipe_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 2
    said = capsys.readouterr().err
    assert "Missing argument" in said
    assert "| fabricdoc explain -" in said
