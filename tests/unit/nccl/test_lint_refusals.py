"""Files that their reader refuses: YAML that is none, encodings; and no YAML that is one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricdoc.nccl.lint import lint_text, read_source
from fabricdoc.nccl.lint_refusals import ID, refused

pytestmark = pytest.mark.unit


def yaml(*lines: str) -> tuple[int, str] | None:
    found = refused("x.yaml", "yaml", "\n".join(lines))
    return (found[0].line, found[0].complaint.message) if found else None


@pytest.mark.parametrize(
    ("lines", "line", "said"),
    [
        (["services:", "  a:", "    environment:", "\t- X=1", "   bad: ["], 4, "no tab"),
        (["services:", "  a:", "    environment:", "     - X=1", "   bad: 1"], 5, "no line above"),
        (["a: [1, 2", "b: 3"], 1, "a bracket opens here"),
        (["a: {x: 1", ""], 1, "a bracket opens here"),
        (["a: 'x", "b: 1"], 1, "a quote opens here"),
        (["x:", '  a: "x', "b: 1"], 2, "a quote opens here"),
        (["a: 1", "   b: 2"], 2, "below a value"),
        (["env:", "- name: a", "    value: b"], 3, "below a value"),
        (["a:", "    b: 1", "  c: 2"], 3, "no line above"),
    ],
)
def test_yaml_that_is_none(lines: list[str], line: int, said: str) -> None:
    found = yaml(*lines)
    assert found is not None and found[0] == line and said in found[1]
    assert "refuse the whole file" in found[1]


@pytest.mark.parametrize(
    "lines",
    [
        ["a:", "- b: 1", "  c: 2", "- d"],
        ["a:", "  - - b", "    - c", "  - d: 1", "    e: 2"],
        ["# \tx", "a: b # it's", "c: don't", 'd: x "y'],
        ["a: |", "  \tx: [", "   'open", "b: 1"],
        ["command: vllm serve --x '{\"a\":[1'", "b: 1"],
        ["args: [a,", "\tb,", "c]", "d: 1"],
        ["a: 'it''s'", 'b: "x\\"y"', "c: [']', \"}\"]"],
        ["a: some", "  more text", "b: 1"],
        ["x: &base", "  a: 1", "y:", "  <<: *base", "  b: !!str 2"],
        ["{{- if .Values.x }}", "a: {{ .Values.y }}", "   b: [", "{{- end }}"],
        ["---", "a: 1", "---", "  b: 1", "..."],
        ["a:", "  b:", "    c: 1", "d:", "- e", "f: {g: [1, {h: 2}]}"],
        ["image: x:latest", "cmd: a: b", "time: 12:30"][:1],
        ["a:\r", "  b: 1\r", ""],
        ["- a: 1", "  b:", "  - c", "- d: >-", "    x: y", "  e: 2"],
        ["a: [", "  b, # it's", "]", "c: 1"],
        ["'quoted key': 1", '"another": 2', "https://x: 3"],
        ["? x", "  - ", "f: 1"],
        [""],
    ],
)
def test_yaml_that_is_one(lines: list[str]) -> None:
    assert yaml(*lines) is None


EXAMPLES = sorted(path for path in Path(__file__).parents[3].rglob("*.y*ml") if not {".git", "build"} & {*path.parts})


@pytest.mark.parametrize("path", EXAMPLES[:40], ids=lambda path: path.name)
def test_yaml_of_this_tree_is_one(path: Path) -> None:
    assert refused(path.name, "yaml", path.read_text(encoding="utf-8")) == ()


NAMES = st.text("abcxyz", min_size=1, max_size=4)
TREES = st.recursive(
    NAMES | st.integers(0, 99).map(str) | st.just("'it''s # x: ['") | st.just('"a: {\\""'),
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(NAMES, inner, min_size=1, max_size=3),
    max_leaves=12,
)


def dumped(tree: object, indent: int) -> list[str]:
    """A tree as people write YAML in blocks."""
    pad, lines = " " * indent, []
    items = tree.items() if isinstance(tree, dict) else [(None, one) for one in tree] if isinstance(tree, list) else []
    for key, value in items:
        head = f"{pad}{key}:" if key is not None else f"{pad}-"
        lines += [head, *dumped(value, indent + 2)] if isinstance(value, dict | list) else [f"{head} {value}"]
    return lines


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(NAMES, TREES, min_size=1, max_size=3))
def test_a_tree_written_in_blocks_is_never_refused(tree: object) -> None:
    assert yaml(*dumped(tree, 0)) is None


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(NAMES, TREES, min_size=1, max_size=3), st.integers(0, 30))
def test_a_tab_in_front_of_any_line_is_found(tree: object, place: int) -> None:
    lines = dumped(tree, 0)
    at = place % len(lines)
    lines[at] = f"\t{lines[at].lstrip()}"
    found = yaml(*lines)
    assert found is not None and found[0] == at + 1


@settings(max_examples=40, deadline=None)
@given(st.text(st.sampled_from("ab:-[]{}'\"#|> \t\n\r,&!\\"), max_size=80))
def test_any_text_is_borne(text: str) -> None:
    assert len(refused("x", "yaml", text)) <= 1
    for remark in refused("x", "yaml", text):
        assert 1 <= remark.line <= text.count("\n") + 1


@pytest.mark.parametrize(
    ("form", "encoding", "text", "is_refused"),
    [
        ("docker", "utf-16", "A_B=1\n", True),
        ("shell", "utf-16", "A_B=1\n", True),
        ("yaml", "utf-16", "a: 1\n", False),
        ("docker", "utf-8?", "A_B=1\nC_D=\ufffd\n", True),
        ("shell", "utf-8?", "A_B=\ufffd\n", False),
        ("docker", "utf-8", "A_B=1\nC\0D\n", True),
        ("docker", "utf-8", "A_B=1\n", False),
        ("nccl.conf", "utf-8", "A_B=\u00e9\n", False),
    ],
)
def test_encodings(form: str, encoding: str, text: str, is_refused: bool) -> None:
    found = refused("x", form, text, encoding)  # type: ignore[arg-type]
    assert [one.complaint.id for one in found] == [ID] * is_refused
    if is_refused and "\n" in text[:-1]:
        assert found[0].line == 2


def test_a_refusal_is_an_error_of_the_file_and_is_told_once() -> None:
    text = "services:\n  a:\n    environment:\n\t- A_B=1\n  b:\n    environment:\n      - C_D=2\n"
    (remark,) = (one for one in lint_text("x.yaml", text) if one.complaint.id == ID)
    assert (remark.complaint.severity, remark.complaint.name, remark.line) == ("error", "x.yaml", 4)
    assert lint_text("x.yaml", "a: [\n")[0].complaint.id == ID, "a file without any setting too"
    assert read_source("x.env", "A_B=1\n").refused == ()


def test_deep_and_long_files_take_no_time() -> None:
    begun = time.process_time()
    for text in ("- " * 4000 + "a", "[" * 9000, "a: '" * 4000, "\n".join(" " * n + "a:" for n in range(600))):
        refused("x", "yaml", text)
    assert time.process_time() - begun < 10
