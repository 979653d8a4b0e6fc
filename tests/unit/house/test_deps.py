"""`make deps`: only what is missing, quiet when nothing is, and the exact line when it may not install."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.house.house import TREE

pytestmark = pytest.mark.unit

FOUND = re.search(r"^packages=\((.*?)\)", (TREE / "tools" / "deps.sh").read_text(), re.MULTILINE | re.DOTALL)
PACKAGES = FOUND[1].split() if FOUND else []
OTHERS = [name for name in PACKAGES if not name.startswith("openssh-")]


class Machine:
    """A PATH of pretend programs: which packages dpkg knows, who we are, and whether apt's lists are fresh."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        for name in ("bash", "env", "timeout", "cat"):
            (folder / name).symlink_to(shutil.which(name) or name)
        self.program("dpkg", "exit 0")
        self.program("dpkg-query", f'for p in "$@"; do :; done; [ -e {folder}/has-$p ] && printf installed || exit 1')
        self.program("id", "echo 0")
        self.program(
            "apt-get",
            f'echo "$*" >> {self.log}\ncase "$*" in *" update"*) : > {folder}/fresh;;\n'
            f"*) [ -e {folder}/fresh ] || exit 100;; esac",
        )

    def program(self, name: str, text: str) -> None:
        (self.folder / name).write_text(f"#!{shutil.which('bash')}\n{text}\n")
        (self.folder / name).chmod(0o755)

    def has(self, *packages: str) -> None:
        for package in packages:
            (self.folder / f"has-{package}").touch()

    def deps(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.folder / "bash", TREE / "tools" / "deps.sh"],
            env={"PATH": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def calls(self) -> list[str]:
        """What apt-get was asked to do: its last words, from the verb on."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line[line.index("-qq") + 4 :] for line in lines]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_nothing_missing_is_quiet(machine: Machine) -> None:
    assert {"openssh-client", "openssh-server", "qemu-system-x86", "mmdebstrap", "squashfs-tools"} <= set(PACKAGES)
    machine.has(*PACKAGES)
    done = machine.deps()
    assert (done.returncode, done.stdout, done.stderr, machine.calls()) == (0, "", "", [])


def test_only_the_missing_one_is_installed(machine: Machine) -> None:
    machine.has("openssh-client", *OTHERS)
    (machine.folder / "fresh").touch()
    done = machine.deps()
    assert done.returncode == 0
    assert "openssh-server" in done.stderr
    assert machine.calls() == ["install -y --no-install-recommends openssh-server"]


def test_stale_lists_are_fetched_and_the_install_tried_again(machine: Machine) -> None:
    done = machine.deps()
    install = f"install -y --no-install-recommends {' '.join(PACKAGES)}"
    assert done.returncode == 0
    assert machine.calls() == [install, "update", install]


def test_a_user_without_sudo_gets_the_exact_line(machine: Machine) -> None:
    machine.program("id", "echo 1000")
    done = machine.deps()
    assert done.returncode == 1
    assert "apt-get install openssh-client openssh-server" in done.stderr
    machine.program("sudo", "exit 1")
    assert machine.deps().returncode == 1
    assert machine.calls() == []


def test_a_sudo_that_asks_nothing_is_used(machine: Machine) -> None:
    machine.program("id", "echo 1000")
    machine.program("sudo", f'[ "$1" = -n ] || exit 1\nshift\necho sudo >> {machine.folder}/sudo-log\nexec "$@"')
    machine.program("true", "exit 0")
    (machine.folder / "fresh").touch()
    assert machine.deps().returncode == 0
    assert (machine.folder / "sudo-log").read_text() == "sudo\nsudo\n"


def test_an_install_that_fails_fails(machine: Machine) -> None:
    machine.program("apt-get", "echo 'E: broken' >&2; exit 100")
    done = machine.deps()
    assert done.returncode != 0
    assert "E: broken" in done.stderr


def test_without_dpkg_it_installs_nothing(machine: Machine) -> None:
    (machine.folder / "dpkg").unlink()
    machine.program("ssh", "exit 0")
    machine.program("sshd", "exit 0")
    assert machine.deps().returncode == 0
    (machine.folder / "ssh").unlink()
    done = machine.deps()
    assert (done.returncode, machine.calls()) == (1, [])
    assert "OpenSSH" in done.stderr
