"""Lint: every format's own reading, remarks at line and column, bad and nearly bad files, hostile text."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.complaints import SEVERITIES
from fabricdoc.nccl.lint import lint_text, read_source
from fabricdoc.nccl.lint_formats import detect_format
from fabricdoc.nccl.lint_nodes import lint_pair
from fabricdoc.nccl.lint_output import as_text
from fabricdoc.nccl.lint_settings import FORMATS, MOST_SETTINGS, Format

pytestmark = pytest.mark.unit


def ids(name: str, text: str, form: Format | None = None, **more: object) -> list[tuple[int, str]]:
    return [(remark.line, remark.complaint.id) for remark in lint_text(name, text, form, **more)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("nccl.env", "", "docker"),
        (".env", "", "docker"),
        ("prod.env.local", "", "docker"),
        ("env-file", "", "docker"),
        ("/etc/nccl.conf", "", "nccl.conf"),
        ("home/.nccl.conf", "", "nccl.conf"),
        ("docker-compose.yml", "", "yaml"),
        ("pod.yaml", "", "yaml"),
        ("run.sh", "", "shell"),
        ("job.sbatch", "", "shell"),
        ("server.service", "", "systemd"),
        ("inspect.json", "", "json"),
        ("launch", "#!/bin/sh\nNCCL_NET=IB x\n", "shell"),
        ("launch", "export NCCL_NET=IB\n", "shell"),
        ("launch", "# a\ndocker run -e NCCL_NET=IB x\n", "command"),
        ("launch", '{"a": 1}', "json"),
        ("launch", "[Service]\nEnvironment=A=1\n", "systemd"),
        ("launch", "services:\n  a:\n", "yaml"),
        ("launch", "NCCL_NET=IB\nA=1\n", "docker"),
        ("launch", "words\n", "shell"),
    ],
)
def test_a_format_is_told_by_name_then_by_lines(name: str, text: str, expected: Format) -> None:
    assert detect_format(name, text) == expected


def test_a_docker_env_file_keeps_what_a_shell_would_take_away() -> None:
    text = '# comment\n  NCCL_NET=IB\nNCCL_IB_HCA="=mlx5_0"\nexport NCCL_CROSS_NIC=1\nNCCL_IB_TIMEOUT=22 # try\nHOME\n'
    remarks = lint_text("nccl.env", text)
    assert [(one.line, one.column, one.width, one.complaint.id) for one in remarks] == [
        (3, 13, 9, "env-file-quotes-kept"),
        (4, 1, 6, "export-kept"),
        (5, 20, 5, "comment-kept"),
    ]
    assert [one.complaint.fix for one in remarks] == [
        "NCCL_IB_HCA==mlx5_0",
        "NCCL_CROSS_NIC=1",
        "NCCL_IB_TIMEOUT=22",
    ]
    assert remarks[0].text == 'NCCL_IB_HCA="=mlx5_0"' and remarks[0].file == "nccl.env"


def test_the_same_lines_are_right_in_a_shell() -> None:
    text = 'export NCCL_IB_HCA="=mlx5_0"\nexport NCCL_IB_TIMEOUT=22 # try\n'
    assert ids("nccl.env", text) != []
    assert ids("nccl.env", text, "shell") == ids("nccl.sh", text) == []


def test_nccls_own_file_trims_nothing() -> None:
    assert ids("nccl.conf", "# c\nNCCL_NET = IB\nno equals\n") == [(2, "space-around-equals")]
    assert ids("nccl.conf", "NCCL_NET=IB\r\n") == [(1, "carriage-return-kept")]
    assert ids("nccl.conf", "NCCL_NET=IB\r\n", release=(2, 30, 7)) == []
    assert ids("nccl.conf", "export NCCL_NET=IB\n") == [(1, "export-kept")]
    assert ids("nccl.conf", "NCCL_SOCKET_IFNAME='eth0'\n") == [(1, "env-file-quotes-kept")]


def test_scripts_and_launch_lines() -> None:
    text = (
        "#!/bin/bash\n"
        "export NCCL_PROTO='^LL' NCCL_NET=IB\n"
        "NCCL_ALGO=Tree torchrun x.py --arg NCCL_DEBUG=INFO\n"
        "docker run -e NCCL_IB_GID_INDEX=3 \\\n"
        "  --env NCCL_IB_HCAS=x --env=NCCL_IB_TIMEOUT=99 image\n"
        'mpirun -x NCCL_SOCKET_IFNAME="eth0, eth1" -np 2 x\n'
        "export NCCL_IB_SL=$SL\n"
        "# export NCCL_IB_TC=999\n"
    )
    assert ids("run.sh", text) == [
        (2, "ll128-forced-by-exclusion"),
        (3, "algo-without-function-form"),
        (4, "gid-index-pinned"),
        (5, "unknown-variable"),
        (5, "out-of-range"),
        (6, "selector-space"),
    ]


def test_systemd_units() -> None:
    text = '[Service]\nEnvironment="NCCL_IB_HCA=a, b" NCCL_NET=IB\nEnvironmentFile=/x\n'
    assert [(one.line, one.column, one.complaint.id) for one in lint_text("a.service", text)] == [
        (2, 28, "selector-space")
    ]


def test_compose_files_hold_several_environments() -> None:
    text = (
        "services:\n"
        "  head:\n"
        "    environment:\n"
        "      - NCCL_IB_DISABLE=1\n"
        '      - "NCCL_DEBUG=INFO"\n'
        "  worker:\n"
        "    environment:\n"
        "      NCCL_IB_HCA: '=mlx5_0'\n"
        "      NCCL_IB_TIMEOUT: 99  # long\n"
        "      NCCL_NET: Socket\n"
    )
    assert ids("compose.yaml", text) == [(5, "debug-left-on"), (8, "contradiction"), (9, "out-of-range")]


def test_kubernetes_names_and_values() -> None:
    text = (
        'env:\n- name: NCCL_IB_GID_INDEX\n  value: "3"\n- name: OTHER\n  valueFrom: x\n- name: NCCL_NET\n  value: IB\n'
    )
    remarks = lint_text("pod.yaml", text)
    assert [(one.line, one.complaint.id, one.text) for one in remarks] == [(3, "gid-index-pinned", '  value: "3"')]


def test_json_in_its_three_forms() -> None:
    text = (
        '{"env": {"NCCL_PROTO": "LL128", "NCCL_IB_TC": 999},\n'
        ' "Env": ["NCCL_IB_DISABLE=true", "PATH=/bin"],\n'
        ' "list": [{"name": "NCCL_DEBUG", "value": "INFO"}]}\n'
    )
    assert ids("x.json", text) == [
        (1, "ll128-forced-by-name"),
        (1, "out-of-range"),
        (2, "bad-value"),
        (3, "debug-left-on"),
    ]
    with pytest.raises(ValueError, match="Expecting"):
        lint_text("x.json", "{")
    with pytest.raises(ValueError, match="deep"):
        lint_text("x.json", "[" * 100_000)


def test_a_variable_set_twice_and_what_wins() -> None:
    text = "NCCL_IB_TIMEOUT=99\nNCCL_IB_TIMEOUT=22\n"
    assert ids("a.env", text) == [(1, "duplicate-variable")], "the value that loses is not judged"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.env", "NCCL_NET=IB\nNCCL_IB_HCA==mlx5_0,mlx5_1\nNCCL_SOCKET_IFNAME==eth0\nHF_HOME=/x\n#NCCL_IB_TC=999\n"),
        ("nccl.conf", "NCCL_NET=IB\nNCCL_ALGO=ring;allreduce:tree\n"),
        ("a.sh", 'export NCCL_IB_HCA="=a,b"; export NCCL_NET=IB\nif true; then NCCL_CROSS_NIC=1 run; fi\n'),
        ("a.yaml", "environment:\n  NCCL_NET: IB # fine\n  NCCL_HOSTID: a\n"),
        ("a.json", '{"env": {"NCCL_NET": "IB"}, "other": true, "NCCL": 1}'),
        ("a.service", "[Service]\nEnvironment=NCCL_NET=IB NCCL_CROSS_NIC=1\n"),
        ("a.env", "\ufeffNCCL_NET=IB\n"),
        ("a.env", ""),
    ],
)
def test_nearly_bad_files_get_no_remark(name: str, text: str) -> None:
    assert lint_text(name, text) == ()


def test_values_that_must_agree_between_nodes() -> None:
    files = {
        "a": {"NCCL_PROTO": "LL", "NCCL_IB_HCA": "=x"},
        "b": {"NCCL_IB_HCA": "=y", "NCCL_PROTO": "Simple"},
        "c": {"NCCL_PROTO": "LL"},
    }
    (one,) = lint_pair(files)
    assert one.id == "must-agree-differs" and "LL (a), Simple (b), LL (c)" in one.message
    assert lint_pair({"a": files["a"], "c": files["c"]}) == ()
    assert lint_pair({"a": {"NCCL_BUFFSIZE": "1"}, "b": {}})[0].name == "NCCL_BUFFSIZE", (
        "set here and not there differs"
    )


WORDS = [
    "NCCL_NET=IB",
    "export ",
    "NCCL_IB_HCA=",
    '"',
    "'",
    "\\",
    " -e ",
    "- name: NCCL_X",
    "value: 3",
    "{",
    "[",
    "\n",
    " #",
    ",",
    "\r\n",
    "=",
    "\x1b[31m",
]


@given(st.sampled_from(FORMATS), st.lists(st.sampled_from(WORDS), max_size=40))
def test_no_mixture_breaks_any_format(form: Format, words: list[str]) -> None:
    text = "".join(words)
    try:
        remarks = lint_text("x", text, form)
    except ValueError:
        assert form == "json"
        return
    lines = text.split("\n")
    for one in remarks:
        assert one.complaint.id in SEVERITIES
        assert 1 <= one.line <= len(lines) and one.column >= 1
        assert one.text in lines[one.line - 1]


@given(st.text(max_size=300))
def test_no_text_breaks_it(text: str) -> None:
    for form in FORMATS:
        if form != "json":
            lint_text("x", text, form)
    detect_format(text[:50], text)


HOSTILE = {
    "a long list": lambda size: "NCCL_IB_HCA=" + "a," * size,
    "one name again and again": lambda size: "NCCL_X=1\n" * size,
    "unknown names": lambda size: "".join(f"NCCL_WHAT_{number}=1\n" for number in range(size)),
    "lone quotes": lambda size: "NCCL_A='\n" * size,
    "continued lines": lambda size: "-e NCCL_A=1 \\\n" * size,
    "one long line": lambda size: f"docker run {'-e NCCL_IB_TC=1 ' * size}\n",
    "deep YAML": lambda size: "".join(f"{' ' * (number % 50)}env:\n" for number in range(size)),
    "block texts": lambda size: "args: |\n  export NCCL_IB_TC=1\n" * size,
    "JSON": lambda size: json.dumps({"env": [f"NCCL_{number}=1" for number in range(size)]}, indent=0),
    "secrets": lambda size: "NCCL_IB_TC=999 # token=x key=y\n" * size,
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "form"),
    [
        *(("a long list", form) for form in ("docker", "shell", "nccl.conf", "yaml")),
        *(("one name again and again", form) for form in ("docker", "shell", "systemd")),
        ("unknown names", "docker"),
        *(("lone quotes", form) for form in ("docker", "shell", "systemd", "yaml")),
        ("continued lines", "command"),
        *(("one long line", form) for form in ("command", "docker", "systemd")),
        ("deep YAML", "yaml"),
        ("block texts", "yaml"),
        ("JSON", "json"),
        *(("secrets", form) for form in ("docker", "nccl.conf", "shell")),
    ],
)
def test_eight_times_the_file_is_not_forty_times_the_work(kind: str, form: Format) -> None:
    """What grows with the square of the size would take 64 times as long."""
    small, large = (seconds(HOSTILE[kind](size), form) for size in (100, 800))
    assert large < 40 * max(small, 0.002)


def seconds(text: str, form: Format) -> float:
    """The least processor time of three readings of the text, with everything that is printed."""
    times = []
    for _ in range(3):
        began = time.process_time()
        try:
            for remark in lint_text("x", text, form):
                as_text(remark)
        except ValueError:
            assert form == "json"
        times.append(time.process_time() - began)
    return min(times)


@pytest.mark.parametrize("form", FORMATS)
def test_no_more_settings_are_taken_than_anybody_has(form: Format) -> None:
    text = "".join(f"NCCL_A{number}=1\n" for number in range(MOST_SETTINGS + 9))
    text = json.dumps(text.splitlines()) if form == "json" else text
    source = read_source("x", f"environment:\n{text.replace('=', ': ')}" if form == "yaml" else text, form)
    if form != "systemd":
        taken = len(source.settings)
        assert (taken, source.cut) == (MOST_SETTINGS, True)
