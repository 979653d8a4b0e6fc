"""The Makefile is what the documents say: every `make TARGET` they name is there, and CI runs two of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.house.house import TREE

pytestmark = pytest.mark.unit

MAKEFILE = (TREE / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))
DOCUMENTS = [path for path in (*TREE.glob("*.md"), *(TREE / "docs").glob("*.md")) if path.name != "CHANGELOG.md"]


def make(*arguments: str) -> str:
    """What make prints for ARGUMENTS, without doing it (`-n`) unless the target only prints."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed: these tests were not started by it")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", "-s", *arguments], cwd=TREE, env=clean, capture_output=True, text=True, timeout=30, check=True
    )
    return done.stdout


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_target_a_document_names_exists(path: Path) -> None:
    shown = re.findall(r"(?:^ *|`)make ([a-z][a-z-]*)", path.read_text(), re.MULTILINE)
    assert set(shown) <= TARGETS


def test_the_install_page_shows_the_targets_it_is_about() -> None:
    block = re.search(r"<!-- block: dgx-os -->\n```sh\n(.*?)```", (TREE / "docs" / "install.md").read_text(), re.DOTALL)
    assert block is not None
    assert block[1].splitlines() == ["make install", 'export PATH="$HOME/.local/bin:$PATH"', "fabricdoc --help"]


def test_help_lists_every_target_but_the_hidden_one() -> None:
    lines = make("help").splitlines()
    assert {line.split()[0] for line in lines if line.startswith("  ")} == TARGETS - {"prepared"}


def test_demo_hands_its_arguments_on() -> None:
    assert make("-n", "demo", "ARGS=--json --keep").split() == [
        "tools/run",
        "torch",
        "-m",
        "fabricdoc",
        "demo",
        "--json",
        "--keep",
    ]


def test_system_packages_are_installed_only_when_asked() -> None:
    assert "tools/deps.sh" not in make("-n", "test")
    assert "tools/deps.sh" in make("-n", "test", "APT=1")
    assert make("-n", "deps").strip() == "tools/deps.sh"
    others = [path for path in (TREE / "tools").iterdir() if path.is_file() and path.name != "deps.sh"]
    assert not [path.name for path in others if re.search(r"apt-get\b.*-y", path.read_text())]


def test_check_is_lint_unit_tests_and_one_launch_and_test_is_check_and_the_labs() -> None:
    check, test = (make("-n", name).splitlines() for name in ("check", "test"))
    assert [_first_try(line) for line in check] == [
        "dev >/dev/null",
        "dev -m ruff check .",
        "dev -m ruff format --check .",
        "dev -m mypy fabricdoc tools",
        'dev -m pytest -n 2 -m "unit and not long" tests/unit',
        "dev -m pytest -m lab tests/lab/test_smoke.py",
    ]
    assert test[: len(check)] == check
    assert [_first_try(line) for line in test[len(check) :]] == [
        "dev -m pytest -n 2 -m long tests/unit",
        "dev -m pytest -m lab",
        "dev -m pytest -m roce tests/roce -rs --durations=0 --durations-min=1",
    ]


def _first_try(line: str) -> str:
    """The words after tools/run; a test may have a second try, of what failed and with the same words."""
    first, _, second = line.partition(" || ")
    words = first.split("tools/run ")[1]
    assert ("pytest" in first) == bool(second)
    again = "dev -m pytest --last-failed --last-failed-no-failures none"
    assert not second or second.endswith(f"tools/run {again}{words.removeprefix('dev -m pytest')}; }}")
    return words


@pytest.mark.long
def test_a_second_try_is_of_what_failed_and_of_nothing_else(tmp_path: Path) -> None:
    """Through the Makefile itself, with a pytest of its own place: it passes where the second try does."""
    (tmp_path / "test_once.py").write_text(
        "from pathlib import Path\n"
        "TRIED = Path(__file__).with_name('tried')\n"
        "def test_well(): assert not TRIED.exists()\n"
        "def test_once():\n    seen = TRIED.exists()\n    TRIED.touch()\n    assert seen\n"
    )
    words = f"-q --rootdir {tmp_path} -o addopts= -c /dev/null {tmp_path}"
    recipe = f"include {TREE}/Makefile\nonce:\n\t@$(call tested,30,{words})\n"
    (tmp_path / "once.mk").write_text(recipe)
    command = ["make", "-s", "-f", str(tmp_path / "once.mk"), f"PYTEST={sys.executable} -m pytest", "once"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "a second try of what failed" in done.stdout
    assert "\n1 passed in" in done.stdout, "test_well would fail now"
    (tmp_path / "test_once.py").write_text("def test_never(): assert False\n")
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False).returncode != 0


def test_no_test_command_lacks_a_limit() -> None:
    preparing, *commands = make("-n", "test").splitlines()
    assert preparing == "tools/run dev >/dev/null"
    assert all(re.match(r"timeout --foreground --kill-after=10 \d+ tools/run ", line) for line in commands)


def test_ci_runs_deps_and_test_and_nothing_cleverer() -> None:
    path = TREE / ".ci" / "run"
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    assert lines[0] == "set -euo pipefail"
    assert lines[1].startswith("cd ")
    assert lines[2:] == ["make deps", "make test"]


@pytest.mark.parametrize("name", [".ci/run", "tools/run", "tools/deps.sh"])
def test_scripts_can_be_run_and_parse(name: str) -> None:
    assert os.access(TREE / name, os.X_OK)
    subprocess.run(["bash", "-n", TREE / name], timeout=30, check=True)
