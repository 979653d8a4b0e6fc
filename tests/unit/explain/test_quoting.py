"""Evidence is verbatim also where a line holds colours or was wrapped; the rules still get the whole text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.explain import explain_files
from fabricdoc.explain.quoting import quoted
from fabricdoc.explain.seen import Spot
from tests.excerpts import log, using, version, warn

pytestmark = pytest.mark.unit

BROKEN = log(
    "alpha", version("2.21.5"), using("mlx5_0"), warn("net_ib.cc:93", "NET/IB : mlx5_0:1 Got async event : port error")
)


def stands(folder: Path) -> list[str]:
    """Explain a folder, and hold every piece of evidence against its line."""
    document = explain_files([str(folder)])
    for finding in document.findings:
        for piece in finding.evidence:
            lines = (folder / piece.file).read_text(errors="replace").splitlines()
            assert piece.line is not None
            assert piece.text
            assert piece.text in lines[piece.line - 1]
    return [document.verdict]


def test_coloured_lines_are_quoted_between_their_colours(tmp_path: Path) -> None:
    text = BROKEN.replace("alpha:", "\x1b[36m(worker)\x1b[0m alpha:").replace("NCCL WARN", "\x1b[1;33mNCCL WARN\x1b[0m")
    (tmp_path / "a.log").write_text(text)
    assert stands(tmp_path) == ["link-flap"]


def test_lines_that_docker_keeps_as_json_are_quoted_without_it(tmp_path: Path) -> None:
    lines = [{"log": f"{line}\n", "stream": "stderr", "time": "2026-11-29T15:12:36.1Z"} for line in BROKEN.splitlines()]
    (tmp_path / "a.log").write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    assert stands(tmp_path) == ["link-flap"]
    (first, *_rest) = explain_files([str(tmp_path)]).findings
    assert first.evidence[0].text == BROKEN.splitlines()[-1]


def test_wrapped_lines_are_quoted_up_to_the_wrap(tmp_path: Path) -> None:
    long = "NET/IB : mlx5_0:1 Got async event : port error and " + "more " * 20
    lines = log("alpha", *[warn("transport/net_ib.cc:93", long)] * 4).split("\n")
    wrapped = "\n".join(line[at : at + 80] for line in lines for at in range(0, max(len(line), 1), 80))
    (tmp_path / "a.log").write_text(wrapped)
    assert stands(tmp_path) == ["link-flap"]


def test_carriage_returns_and_tabs_stay_out_of_the_way(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(BROKEN.replace("\n", "\r\n").encode())
    assert stands(tmp_path) == ["link-flap"]


def test_a_plain_line_needs_no_quote() -> None:
    spot = Spot("a", 1, "plain")
    assert quoted(spot, ["  plain  "]) is spot


@given(st.text(max_size=40), st.text(max_size=40), st.integers(-1, 3))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_quote_stands_in_its_line(text: str, raw: str, number: int) -> None:
    spot = quoted(Spot("a", number, text), [raw])
    assert spot.quote in raw
