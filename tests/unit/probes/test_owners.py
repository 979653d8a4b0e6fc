"""Who listens on a port: a real listener of this process, a pretend /proc, and nothing where it can't be told."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from fabricdoc.probes.owners import listening, owner

pytestmark = pytest.mark.unit

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ROW = "   0: 0100007F:733C 00000000:0000 {state} 00000000:00000000 00:00000000 00000000     0        0 4242 1\n"


def machine(folder: Path, *, state: str = "0A", inode: str = "4242", name: str | None = "python3") -> str:
    (folder / "proc" / "net").mkdir(parents=True)
    (folder / "proc" / "net" / "tcp").write_text(HEAD + ROW.format(state=state))
    files = folder / "proc" / "77" / "fd"
    files.mkdir(parents=True)
    (files / "3").symlink_to("/dev/null")
    (files / "4").symlink_to(f"socket:[{inode}]")
    if name is not None:
        (folder / "proc" / "77" / "comm").write_text(f"{name}\n")
    return str(folder)


def test_a_listener_of_this_process_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        told = owner(server.getsockname()[1])
    assert told.endswith(f"(pid {os.getpid()})")


def test_the_process_that_holds_the_socket(tmp_path: Path) -> None:
    root = machine(tmp_path)
    assert listening(29500, root) == {"4242"}
    assert owner(29500, root) == "python3 (pid 77)"
    assert owner(29501, root) == ""


@pytest.mark.parametrize("how", [{"state": "01"}, {"inode": "4243"}])
def test_a_connection_and_another_socket_are_no_listener(tmp_path: Path, how: dict[str, str]) -> None:
    assert owner(29500, machine(tmp_path, **how)) == ""


def test_a_process_without_a_name(tmp_path: Path) -> None:
    assert owner(29500, machine(tmp_path, name=None)) == "a process (pid 77)"


def test_nothing_readable_is_nothing(tmp_path: Path) -> None:
    assert owner(29500, str(tmp_path)) == ""


def test_a_long_and_odd_name_is_cut(tmp_path: Path) -> None:
    assert len(owner(29500, machine(tmp_path, name="x" * 500))) < 100
