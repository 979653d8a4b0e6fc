"""A guest's command line, and its end: never /dev/kvm, never the network, gone when its starter is killed."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.labs.qmp import Monitor
from tests.labs.seed import ALPHA, BETA, MACHINES
from tests.labs.vm import Vm, port_path, qemu_words

pytestmark = pytest.mark.unit

TREE = Path(__file__).resolve().parents[3]
WORDS = qemu_words(Path("/f"), Path("/i"), BETA, Path("/s.tar"))


def test_software_emulation_and_nothing_else() -> None:
    assert WORDS[WORDS.index("-accel") + 1].startswith("tcg")
    assert WORDS.count("-accel") == 1
    assert not [word for word in WORDS if "kvm" in word or word == "-enable-kvm"]


def test_a_guest_reaches_nothing_but_its_rails() -> None:
    networks = [word for at, word in enumerate(WORDS) if WORDS[at - 1] == "-netdev"]
    assert [word.split(",")[0] for word in networks] == ["user", "dgram", "dgram"]
    assert "restrict=on" in networks[0] and "hostfwd=tcp:127.0.0.1:0-10.0.2.12:22" in networks[0]
    assert all("remote.path=/f/panel" in word for word in networks[1:])
    assert f"local.path={port_path(Path('/f'), BETA, 'f1')}," in networks[2]


def test_the_image_is_shared_read_only() -> None:
    drives = [word for at, word in enumerate(WORDS) if WORDS[at - 1] == "-drive"]
    assert len(drives) == 2
    assert all("readonly=on" in word and "file.locking=off" in word for word in drives)


def test_programs_stay_where_qemu_has_translated_them() -> None:
    kernel = WORDS[WORDS.index("-append") + 1].split()
    assert {"norandmaps", "mitigations=off"} < set(kernel)


def test_every_mac_is_another_one() -> None:
    macs = [
        word.split("mac=")[1].split(",")[0]
        for machine in MACHINES
        for word in qemu_words(Path("/f"), Path("/i"), machine, Path("/s"))
        if "mac=" in word
    ]
    assert len(macs) == len(set(macs)) == 6
    assert f"{ALPHA.mac}:01" in macs


STARTS = """
import os, sys, time
from pathlib import Path
from tests.labs import vm
from tests.labs.seed import ALPHA
vm.qemu_words = lambda *_: [sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(60)"]
class Deaf:
    def __init__(self, path): pass
vm.Monitor = Deaf
folder = Path(sys.argv[1])
started = vm.Vm(folder, folder, ALPHA, folder)
print(started.process.pid, flush=True)
time.sleep(60)
"""


def test_a_guest_ends_with_whoever_started_it(tmp_path: Path) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTS, str(tmp_path)], cwd=TREE, stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    handle = os.pidfd_open(int(starter.stdout.readline()))
    starter.kill()
    starter.communicate(timeout=5)
    assert select.select([handle], [], [], 10)[0], "it lives on"
    os.close(handle)


def test_processor_time_is_counted_by_this_machine() -> None:
    vm = Vm.__new__(Vm)
    vm.process = SimpleNamespace(pid=os.getpid())  # type: ignore[assignment]
    before = time.process_time()
    said = vm.cpu_s()
    assert before - 0.05 < said < time.process_time() + 0.05  # it counts in hundredths


def test_the_monitor_sets_links_and_tells_the_port(tmp_path: Path) -> None:
    path, asked = tmp_path / "qmp", []
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(str(path))
    server.listen(1)

    def answer() -> None:
        wire, _ = server.accept()
        with wire, wire.makefile("rw") as lines:
            lines.write('{"QMP": {}}\n')
            lines.flush()
            for returned in ({}, {}, "  TCP[HOST_FORWARD]  12  127.0.0.1 40123  10.0.2.11    22     0     0\r\n", None):
                asked.append(json.JSONDecoder().raw_decode(wire.recv(4096).decode())[0])
                told = {"error": {"desc": "no"}} if returned is None else {"return": returned}
                lines.write('{"event": "X"}\n' + json.dumps(told) + "\n")
                lines.flush()

    thread = threading.Thread(target=answer)
    thread.start()
    monitor = Monitor(path, 5)
    monitor.set_link("f0", False)
    assert monitor.ssh_port() == 40123
    with pytest.raises(RuntimeError, match="no"):
        monitor.command("stop")
    monitor.close()
    thread.join(5)
    server.close()
    assert asked[1] == {"execute": "set_link", "arguments": {"name": "f0", "up": False}}
