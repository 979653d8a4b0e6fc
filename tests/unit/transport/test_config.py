from __future__ import annotations

import os
import pwd
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import InputError
from fabricdoc.transport import Config, NodeSpec, as_configured, load_config
from fabricdoc.transport.config import MAX_BYTES, config_home, line_of

pytestmark = pytest.mark.unit

GOOD = """# the pair on the desk
[ssh]
config = "keys/ssh_config"

[[node]]
name = "alpha"
target = "me@spark-1:2222"
role = "head"
python = "/opt/venv/bin/python"
ports = ["enp1s0f0np0", "enp1s0f1np1"]
env = { PYTHONPATH = "/opt/lib" }

[[node]]
name = "beta"
target = "spark-2"
user = "me"
role = "worker"
image = "engine:1"
container = "serving"

[[node]]
name = "spark-3"

[[node]]
target = "netns:12"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "fabric.toml"


def test_a_whole_file_is_read(file: Path) -> None:
    file.write_text(GOOD)
    own = str(file.parent / "keys/ssh_config")
    config = load_config(file)
    assert config.path == file
    assert config.ssh_config == own
    assert config.nodes == (
        NodeSpec(
            "alpha",
            "me@spark-1:2222",
            python="/opt/venv/bin/python",
            role="head",
            ports=("enp1s0f0np0", "enp1s0f1np1"),
            env={"PYTHONPATH": "/opt/lib"},
            ssh_config=own,
        ),
        NodeSpec("beta", "spark-2", role="worker", user="me", image="engine:1", container="serving", ssh_config=own),
        NodeSpec("spark-3", "spark-3", ssh_config=own),
        NodeSpec("netns-12", "netns:12", ssh_config=own),
    )


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a = \n", 1, "not TOML"),
        ("[[node]]\nname = 'a'\n]\n", 3, "not TOML"),
        ("[[node]]\nname = 'a", 2, "not TOML"),
        ("nodes = []\n", 1, "unknown key 'nodes', did you mean 'node'"),
        ("\n[[nod]]\nname = 'a'\n", 2, "did you mean 'node'"),
        ("[zzz]\n", 1, "known here: node, ssh"),
        ("[ssh]\nconfg = 'x'\n", 2, "did you mean 'config'"),
        ("[ssh]\nconfig = 1\n", 2, "not a text"),
        ("ssh = 1\n", 1, r"write \[ssh\]"),
        ("[node]\nname = 'a'\n", 1, r"write \[\[node\]\]"),
        ("[[node]]\nname = 'a'\n\n[[node]]\nname = 'b'\npyton = 'x'\n", 6, "did you mean 'python'"),
        ("[[node]]\nname = 'a'\n[[node]]\nname = 7\n", 4, "name is not a text"),
        ("[[node]]\nname = 'a'\nports = 'x'\n", 3, "ports is not a list"),
        ("[[node]]\nname = 'a'\nports = [1]\n", 3, "ports is not a list"),
        ("[[node]]\nname = 'a'\nenv = 'x'\n", 3, "env is not a table"),
        ("[[node]]\nname = 'a'\n[node.env]\nA = 1\n", 3, "env is not a table"),
        ("[[node]]\nname = 'a'\n[[node]]\nname = 'b'\n[[node]]\nname = 'a'\n", 6, "two nodes are named a"),
        ("[[node]]\nrole = 'head'\n", 1, "needs a name or a target"),
        ("[[node]]\nname = 'a b'\ntarget = 'h'\n", 2, "can't be a node's name"),
        ("[[node]]\nname = 'a'\ntarget = 'h:99999'\n", 3, "not between"),
        ("[[node]]\nname = 'a'\ntarget = 'slurm:-x'\n", 3, "node of the allocation"),
        ("[[node]]\nname = 'a'\nrole = 'boss'\n", 3, "head or worker"),
    ],
)
def test_a_complaint_names_file_and_line(file: Path, text: str, line: int, words: str) -> None:
    file.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        load_config(file)
    assert caught.value.message.startswith(f"{file}:{line}: ")


def test_a_table_whose_name_or_target_is_a_set_means_several_nodes(file: Path) -> None:
    file.write_text(
        "[[node]]\nname = 'node[01-03]'\npython = '/opt/p'\n"
        "[[node]]\nname = 'g[1-2]'\ntarget = 'me@10.0.0.[5-6]'\n[[node]]\ntarget = 'h[7-8].lan'\n"
    )
    assert load_config(file).nodes == (
        *(NodeSpec(f"node0{n}", f"node0{n}", python="/opt/p") for n in (1, 2, 3)),
        NodeSpec("g1", "me@10.0.0.5"),
        NodeSpec("g2", "me@10.0.0.6"),
        NodeSpec("h7.lan", "h7.lan"),
        NodeSpec("h8.lan", "h8.lan"),
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[[node]]\nname = 'n[1-3]'\ntarget = 'h[1-2]'\n", 2, "3 names for 2 targets"),
        ("[[node]]\nname = 'n'\ntarget = 'h[1-2]'\n", 2, "1 names for 2 targets"),
        ("[[node]]\nname = 'a'\n[[node]]\nrole = 'head'\nname = 'n[5-1]'\n", 5, "backwards"),
        ("[[node]]\nname = 'n[1-2]'\n[[node]]\nname = 'n2'\n", 4, "two nodes are named n2"),
        ("[[node]]\nname = 'n[1-16384]'\n[[node]]\nname = 'm'\n", 4, "at most 16384"),
        ("[[node]]\nname = 'n[1-2]'\nrole = 'boss'\n", 3, "head or worker"),
    ],
)
def test_a_set_that_can_not_be_used_is_named_with_its_line(file: Path, text: str, line: int, words: str) -> None:
    file.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        load_config(file)
    assert caught.value.message.startswith(f"{file}:{line}: ")


def test_a_file_that_was_asked_for_must_be_there(file: Path) -> None:
    with pytest.raises(InputError, match="can't be read"):
        load_config(file)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"#" * (MAX_BYTES + 1)])
def test_what_is_no_text_or_too_long_is_refused(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    with pytest.raises(InputError, match=r"not UTF-8|longer than"):
        load_config(file)


@pytest.mark.parametrize(
    ("named", "means"),
    [
        (
            NodeSpec("a", "host", python="/py"),
            NodeSpec("a", "host", "/py", "head", "me", "i", "c", ("p0",), {"E": "1"}),
        ),
        (
            NodeSpec("a", "host", ports=("p9",)),
            NodeSpec("a", "host", "python3", "head", "me", "i", "c", ("p9",), {"E": "1"}),
        ),
        (NodeSpec("a", "other"), NodeSpec("a", "other", role="head", image="i", container="c")),
        (NodeSpec("a", "k8s:pod"), NodeSpec("a", "k8s:pod", role="head")),
        (NodeSpec("b", "host"), NodeSpec("b", "host")),
    ],
)
def test_a_node_of_a_document_keeps_what_that_says_and_is_else_as_the_file_tells(
    named: NodeSpec, means: NodeSpec
) -> None:
    known = NodeSpec("a", "host", "/mine", "head", "me", "i", "c", ("p0",), {"E": "1"}, ssh_config="x")
    found = as_configured(named, Config((known,), None, "x"))
    assert (found, dict(found.env)) == (replace(means, ssh_config="x"), dict(means.env))


def test_the_working_folder_beats_the_users_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.chdir(tmp_path)
    assert load_config() == Config()
    (tmp_path / "xdg" / "fabricdoc").mkdir(parents=True)
    (tmp_path / "xdg" / "fabricdoc" / "fabric.toml").write_text("[[node]]\nname = 'user'\n")
    assert [node.name for node in load_config().nodes] == ["user"]
    (tmp_path / "fabric.toml").write_text("[[node]]\nname = 'here'\n")
    assert [node.name for node in load_config().nodes] == ["here"]


def test_under_sudo_the_calling_users_configuration_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_USER", "daemon")
    monkeypatch.setenv("SUDO_UID", str(pwd.getpwnam("daemon").pw_uid))
    assert config_home() == Path(pwd.getpwnam("daemon").pw_dir) / ".config"
    monkeypatch.setenv("SUDO_UID", "3999999999")
    assert config_home() == tmp_path / ".config"
    monkeypatch.setenv("SUDO_UID", str(pwd.getpwnam("daemon").pw_uid))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("SUDO_USER", "daemon")
    assert config_home() == tmp_path / ".config"


@given(st.binary(max_size=200))
def test_any_bytes_are_a_config_or_an_input_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.mktemp("any") / "fabric.toml"
    file.write_bytes(data)
    try:
        load_config(file)
    except InputError as error:
        assert str(file) in error.message


def test_the_line_of_a_key() -> None:
    assert line_of(GOOD, 0, "python") == 9
    assert line_of(GOOD, 1, "image") == 18
    assert line_of(GOOD, 1, "python") == 13
    assert line_of(GOOD, None, "config") == 3
    assert line_of("node = [{name = 'a'}]", 3, "zzz") == 1


def test_a_user_without_any_home_has_no_configuration_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's bare user id: neither HOME nor passwd; that is no reason for a traceback."""
    for name in ("XDG_CONFIG_HOME", "HOME", "SUDO_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 3999999999)
    assert config_home() is None


def test_a_tree_is_the_users_own_wish(file: Path) -> None:
    file.write_text("[[node]]\nname = 'a'\n")
    assert (load_config(file).tree, load_config(file).topology) == (False, "")
    file.write_text("[clustershell]\ntree = true\ntopology = 'mine/topology.conf'\n")
    assert (load_config(file).tree, load_config(file).topology) == (True, str(file.parent / "mine/topology.conf"))
    file.write_text("[clustershell]\ntopology = '/etc/topology.conf'\n")
    assert (load_config(file).tree, load_config(file).topology) == (False, "/etc/topology.conf")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[clustershell]\ntree = 'yes'\n", 2, "neither true nor false"),
        ("[clustershell]\ntree = true\ntopology = 7\n", 3, "clustershell.topology is not a text"),
        ("clustershell = true\n", 1, "write [clustershell]"),
        ("\n[clustershell]\ntre = true\n", 3, "did you mean 'tree'"),
    ],
)
def test_a_tree_that_can_not_be_read_is_told_with_its_line(file: Path, text: str, line: int, words: str) -> None:
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        load_config(file)
    assert f"{file}:{line}: " in caught.value.message and words in caught.value.message


def test_a_file_that_can_not_be_read_is_never_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    here = tmp_path / "fabric.toml"
    here.symlink_to("nowhere")
    with pytest.raises(InputError, match="No such file"):
        load_config()
    here.unlink()
    here.symlink_to(here)
    with pytest.raises(InputError, match="Too many levels"):
        load_config()
    here.unlink()
    os.mkfifo(here)
    with pytest.raises(InputError, match="is a pipe or a device"):
        load_config()
    here.unlink()
    here.mkdir()
    assert load_config().path is None, "a folder of that name is somebody else's"


def test_every_complaint_says_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "fabric.toml"
    for text in ("nodes = []", "[[node]]", "[[node]]\nname = 1", "[[node]]\nname='a'\nrole='king'", "\x00", "["):
        file.write_text(text)
        with pytest.raises(InputError) as caught:
            load_config(file)
        assert "fabricdoc init --force" in caught.value.fix
