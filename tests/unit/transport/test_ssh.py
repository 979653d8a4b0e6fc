from __future__ import annotations

import os
from pathlib import Path

import pytest

from fabricdoc.transport.nodes import NodeSpec
from fabricdoc.transport.ssh import FOLDER_LIMIT, runtime_folder, ssh_argv

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def run_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("r")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setattr("fabricdoc.transport.ssh.FOLDER_LIMIT", 200)
    return folder


def options(argv: list[str]) -> dict[str, str]:
    pairs = [argv[at + 1] for at, word in enumerate(argv) if word == "-o"]
    return dict(pair.split("=", 1) for pair in pairs)


def test_the_command_of_a_plain_host() -> None:
    argv = ssh_argv(NodeSpec("n", "spark-1"), ["python3", "-c", "a b"])
    assert argv[0] == "ssh"
    assert argv[-3:] == ["--", "spark-1", "python3 -c 'a b'"]
    assert not {"-p", "-l", "-F"} & set(argv)


def test_user_port_address_and_config_are_words_of_their_own() -> None:
    argv = ssh_argv(NodeSpec("n", "me@[fe80::1%eth0]:2222", ssh_config="/cfg"), ["true"])
    assert argv[1:3] == ["-F", "/cfg"]
    assert argv[-7:] == ["-p", "2222", "-l", "me", "--", "fe80::1%eth0", "true"]


def test_it_never_asks_and_never_waits_long_and_keeps_host_keys_to_the_user() -> None:
    said = options(ssh_argv(NodeSpec("n", "h"), ["true"]))
    assert (said["BatchMode"], said["ConnectTimeout"]) == ("yes", "5")
    assert (said["ServerAliveInterval"], said["ServerAliveCountMax"]) == ("5", "3")
    assert (said["ControlMaster"], said["ControlPersist"]) == ("auto", "60")
    assert not {"StrictHostKeyChecking", "UserKnownHostsFile", "KexAlgorithms", "SendEnv"} & set(said)
    assert (said["ForwardAgent"], said["ClearAllForwardings"]) == ("no", "yes")


def test_the_environment_goes_inside_the_command_quoted() -> None:
    argv = ssh_argv(NodeSpec("n", "h", env={"B": "it's", "A": "1"}), ["python3"])
    assert argv[-1] == """env 'A=1' 'B=it'"'"'s' python3"""


def test_two_names_never_share_a_connection(run_folder: Path) -> None:
    nodes = [NodeSpec("a", "alias-1"), NodeSpec("b", "alias-2"), NodeSpec("c", "alias-1", ssh_config="/x")]
    paths = [options(ssh_argv(node, ["true"]))["ControlPath"] for node in nodes]
    assert len(set(paths)) == 3
    assert all(path.startswith(f"{run_folder}/fabricdoc/%C-") for path in paths)
    again = options(ssh_argv(NodeSpec("other", "alias-1"), ["true"]))["ControlPath"]
    assert again == paths[0]


def test_the_socket_folder_is_ours_alone(run_folder: Path) -> None:
    folder = runtime_folder()
    assert folder == run_folder / "fabricdoc"
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    assert runtime_folder() is None
    assert options(ssh_argv(NodeSpec("n", "h"), ["true"]))["ControlPath"] == "none"


def test_a_link_in_its_place_is_not_followed(run_folder: Path, tmp_path: Path) -> None:
    (run_folder / "fabricdoc").symlink_to(tmp_path)
    assert runtime_folder() is None


def test_a_folder_of_someone_else_is_not_used(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert runtime_folder() is not None
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert runtime_folder() is None


@pytest.mark.parametrize("base", ["", "relative", "/no/such/folder", "/tmp/" + "x" * 60])
def test_without_a_usable_runtime_folder_it_is_a_private_one_in_tmp(
    base: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("fabricdoc.transport.ssh.FOLDER_LIMIT", FOLDER_LIMIT)
    monkeypatch.setenv("XDG_RUNTIME_DIR", base)
    folder = runtime_folder()
    assert folder == Path(f"/tmp/fabricdoc-{os.geteuid()}")
    assert len(str(folder)) <= FOLDER_LIMIT


def test_the_longest_socket_path_fits() -> None:
    assert FOLDER_LIMIT + len("/") + 40 + len("-12345678") + 17 <= 107
