"""The answer of explain for people: cause, line, fix, what competed, harmless lines; hostile text does nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fabricdoc.model.findings import Considered, Evidence, Finding, Findings, ReadFile
from fabricdoc.report.explained import MOST_EVIDENCE, render_explained
from fabricdoc.report.kinds import next_command, render

pytestmark = pytest.mark.unit

LINE = Evidence(file="a.log", line=7, text="alpha:1:2 [0] NCCL WARN it broke\tbadly")
CAUSE = Finding(
    id="link-flap",
    severity="error",
    subject="alpha/mlx5_0",
    evidence=(LINE,),
    cause="The port of mlx5_0 on alpha went down.",
    fix=("look at the cable", "ethtool -S eno1"),
    confidence="likely",
)
HARMLESS = Finding(
    id="net-plugin-not-found", severity="info", subject="alpha", evidence=(LINE,), cause="Harmless: no plugin."
)
OTHER = Considered(
    id="rdma-path-timeout", why="link-flap comes before it.", evidence=(LINE,), sought=("counters", "dmesg")
)
READ = ReadFile(name="a.log", kinds=("NCCL log",), node="alpha", lines=12, note="it ends early")


def broken(**changes: object) -> Findings:
    made = {
        "verdict": "link-flap",
        "findings": (CAUSE, HARMLESS),
        "considered": (OTHER,),
        "collect": ("dmesg",),
        "files": (READ,),
    }
    return Findings(**{**made, **changes})  # type: ignore[arg-type]


def test_the_cause_stands_before_its_line_and_the_fix_behind(shown: Callable[..., str]) -> None:
    text = shown(render_explained(broken()))
    assert text.startswith("error (likely): The port of mlx5_0 on alpha went down.  [link-flap]\n  a.log:7\n")
    places = [
        text.index(part) for part in ("went down", "it broke badly", "fix", "look at the cable", "ethtool -S eno1")
    ]
    assert places == sorted(places)


def test_what_competed_says_what_was_not_found(shown: Callable[..., str]) -> None:
    text = shown(render_explained(broken()))
    assert "rdma-path-timeout (a.log:7): link-flap comes before it. Not found: counters; dmesg." in " ".join(
        text.split()
    )


def test_what_would_decide_harmless_lines_and_files_come_last(shown: Callable[..., str]) -> None:
    text = shown(render_explained(broken()))
    places = [text.index(part) for part in ("also considered", "to be sure, collect", "harmless lines", "read ")]
    assert places == sorted(places)
    assert "a.log: NCCL log of alpha, 12 lines; it ends early" in " ".join(text.split())


def test_nothing_wrong_in_one_line(shown: Callable[..., str]) -> None:
    text = shown(render_explained(broken(verdict="none", findings=(), considered=(), collect=())))
    assert text.startswith("nothing wrong in what these files tell\n")


def test_unknown_says_what_to_collect_once(shown: Callable[..., str]) -> None:
    unknown = Finding(
        id="unknown", severity="warning", subject="x", cause="Something failed.", fix=("dmesg",), confidence="possible"
    )
    text = shown(render_explained(broken(verdict="unknown", findings=(unknown,), considered=())))
    assert text.startswith("could not tell: Something failed.")
    assert text.count("dmesg") == 1


def test_long_evidence_is_cut(shown: Callable[..., str]) -> None:
    many = CAUSE.model_copy(update={"evidence": (LINE,) * (MOST_EVIDENCE + 3)})
    assert "and 3 more (--json shows all)" in shown(render_explained(broken(findings=(many,))))


def test_hostile_text_does_nothing(shown: Callable[..., str]) -> None:
    evil = Evidence(file="\x1b[2Ja.log", line=1, text="[red]x[/red] \x1b]0;owned\x07 \u202e")
    text = shown(render_explained(broken(findings=(CAUSE.model_copy(update={"evidence": (evil,)}),))))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[red]x[/red]" in text


def test_every_line_fits_80_columns_but_paths(shown: Callable[..., str]) -> None:
    text = shown(render_explained(broken()))
    assert max(map(len, text.splitlines())) <= 80


def test_the_kind_has_this_rendering(shown: Callable[..., str]) -> None:
    assert shown(render(broken())) == shown(render_explained(broken()))


def test_the_next_command_names_the_nodes_of_the_files() -> None:
    two = (READ, READ.model_copy(update={"name": "b.log", "node": "bravo"}))
    assert next_command(broken(files=two)) == (
        "fabricdoc scan --nodes alpha,bravo",
        "look at the nodes as they are now",
    )
    command = next_command(broken(files=()))
    assert command is not None
    assert command[0] == "fabricdoc scan --nodes NODE1,NODE2"
    assert next_command(broken(verdict="none", findings=())) is None
