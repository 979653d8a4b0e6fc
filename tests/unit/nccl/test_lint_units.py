"""Which files are one process's, in which order they win, and which are not read at all."""

from __future__ import annotations

import pytest

from fabricdoc.nccl.lint import Source, lint_unit, read_source, winners
from fabricdoc.nccl.lint_units import Unit, arranged, root, unread_files

pytestmark = pytest.mark.unit


def source(file: str, text: str = "NCCL_NET=IB\n", node: str = "") -> Source:
    return read_source(file, text, node=node)


def layers(*sources: Source) -> list[list[str]]:
    return [[one.file for one in unit.layers] for unit in arranged(sources)]


def test_each_environment_is_a_process_of_its_own() -> None:
    assert layers(source("a.env"), source("b.env")) == [["a.env"], ["b.env"]]


def test_nccls_files_lie_below_the_one_environment_in_the_order_in_which_they_win() -> None:
    files = [source("/etc/nccl.conf"), source("/root/.nccl.conf"), source("x/nccl.env")]
    assert layers(*files) == [["x/nccl.env", "/root/.nccl.conf", "/etc/nccl.conf"]]
    assert layers(*files[:2]) == [["/root/.nccl.conf", "/etc/nccl.conf"]]


def test_nodes_by_folder() -> None:
    files = [
        source(f"{node}/{file}") for node in ("n1", "n2") for file in ("a.env", "etc/nccl.conf", "root/.nccl.conf")
    ]
    assert layers(*files) == [
        [f"{node}/a.env", f"{node}/root/.nccl.conf", f"{node}/etc/nccl.conf"] for node in ("n1", "n2")
    ]
    assert layers(source("n1/nccl.conf"), source("n2/nccl.conf")) == [["n1/nccl.conf"], ["n2/nccl.conf"]]


def test_a_node_that_the_user_names_joins_files_and_later_env_files_win() -> None:
    files = [source("a.env", node="n1"), source("b.env", "NCCL_NET=Socket\n", node="n1"), source("c.env", node="n2")]
    units = arranged(files)
    assert [(unit.name, [one.file for one in unit.layers]) for unit in units] == [
        ("n1", ["b.env", "a.env"]),
        ("n2", ["c.env"]),
    ]
    assert winners(units[0].layers)["NCCL_NET"].setting.value == "Socket"


def test_the_environments_of_one_file_are_processes_with_nccls_files_below_each() -> None:
    compose = "a:\n  environment:\n    NCCL_NET: IB\nb:\n  environment:\n    NCCL_NET: IB\n"
    units = arranged([source("compose.yaml", compose), source("nccl.conf", "NCCL_DEBUG=WARN\n")])
    assert [unit.name for unit in units] == ["compose.yaml:3", "compose.yaml:6"]
    assert all([one.file for one in unit.layers] == ["compose.yaml", "nccl.conf"] for unit in units)


def told(unit: Unit) -> list[tuple[str, str, int]]:
    remarks = [*lint_unit(unit.layers), *unread_files(unit)]
    return [(one.complaint.id, one.file, one.line) for one in remarks]


def test_the_environment_wins_over_files_and_the_first_file_over_the_next() -> None:
    (unit,) = arranged(
        [
            source("a.env", "NCCL_IB_TC=106\n"),
            source(".nccl.conf", "NCCL_IB_TC=104\nNCCL_IB_SL=3\n"),
            source("etc/nccl.conf", "NCCL_IB_SL=4\nNCCL_IB_TC=106\n"),
        ]
    )
    found = winners(unit.layers)
    assert {name: (entry.file, entry.setting.value) for name, entry in found.items()} == {
        "NCCL_IB_TC": ("a.env", "106"),
        "NCCL_IB_SL": (".nccl.conf", "3"),
    }
    assert told(unit) == [
        ("nccl-setting-shadowed", ".nccl.conf", 1),
        ("nccl-setting-shadowed", "etc/nccl.conf", 1),
    ], "where both say the same there is nothing to tell"
    remark = next(one for one in lint_unit(unit.layers) if one.file == ".nccl.conf")
    assert "a.env:1 sets NCCL_IB_TC=106 and wins" in remark.complaint.message
    assert [(one.file, one.line) for one in remark.also] == [("a.env", 1)]


def test_within_one_file_nccl_keeps_the_first_line_and_everybody_else_the_last() -> None:
    text = "NCCL_IB_TC=1\nNCCL_IB_TC=2\n"
    assert winners([source("nccl.conf", text)])["NCCL_IB_TC"].setting.line == 1
    assert winners([source("a.env", text)])["NCCL_IB_TC"].setting.line == 2
    (remark,) = lint_unit([source("nccl.conf", text)])
    assert (remark.line, remark.complaint.id) == (2, "duplicate-variable")
    assert remark.complaint.message.startswith("line 1 sets")


def test_nccl_conf_file_replaces_the_file_in_the_home_folder() -> None:
    (unit,) = arranged(
        [
            source("a.env", "NCCL_CONF_FILE=/opt/mine.nccl.conf\n", node="n"),
            source("root/.nccl.conf", "NCCL_IB_TC=1\n", node="n"),
            source("opt/mine.nccl.conf", "NCCL_IB_TC=2\n", node="n"),
            source("etc/nccl.conf", "NCCL_IB_TC=3\n", node="n"),
        ]
    )
    assert winners(unit.layers)["NCCL_IB_TC"].setting.value == "2"
    assert [one.file for one in unit.unread] == ["root/.nccl.conf"]
    assert ("nccl-setting-shadowed", "root/.nccl.conf", 1) in told(unit)


def test_nccl_conf_file_inside_a_file_comes_too_late() -> None:
    (unit,) = arranged([source("nccl.conf", "NCCL_CONF_FILE=/x/other.conf\n")])
    assert ("does-nothing", "nccl.conf", 1) in told(unit)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("nccl.env", ""),
        ("./nccl.env", ""),
        ("/etc/nccl.conf", ""),
        ("n1/etc/nccl.conf", "n1"),
        ("n1/home/user/.nccl.conf", "n1"),
        ("/home/user/.nccl.conf", ""),
        ("/root/.nccl.conf", ""),
        ("a/b/c.env", "a/b"),
    ],
)
def test_the_folder_that_stands_for_a_machine(file: str, expected: str) -> None:
    assert root(file) == expected


def test_two_commands_of_a_script_each_have_what_it_exports() -> None:
    script = "export NCCL_IB_DISABLE=1\nrun -e NCCL_IB_HCA==a x\nrun -e NCCL_IB_HCA==b x\n"
    units = arranged([source("run.sh", script)])
    told_of = [(one.line, one.complaint.id) for unit in units for one in lint_unit(unit.layers)]
    assert told_of == [(2, "contradiction"), (3, "contradiction")], "and neither is a duplicate of the other"
