"""No gigabytes unasked: what pip would take is known first, and only a yes brings a build with CUDA."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.house.house import TREE

sys.path.insert(0, str(TREE / "tools"))
import pip_call
import torch_source
from pip_call import Stop
from torch_source import Offer

pytestmark = pytest.mark.unit

CPU = "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl"
CUDA = "torch-2.13.0-cp312-cp312-manylinux_2_28_x86_64.whl"


@pytest.mark.parametrize(
    ("line", "offer"),
    [
        (f"Processing /opt/some folder/wheels/{CPU}\n", None),
        (f"Processing /opt/wheels/{CPU}\n", Offer(CPU, local=True)),
        (f"Processing ./wheels/{CUDA}\n", Offer(CUDA, local=True)),
        (f"  Downloading {CUDA} (526.6 MB)\n", Offer(CUDA, local=False, size="526.6 MB")),
        (f"  Using cached {CUDA} (526.6 MB)\n", Offer(CUDA, local=False, size="526.6 MB")),
        (f"Downloading https://index.invalid/whl/cpu/{CPU} (190.1 MB)\n", Offer(CPU, local=False, size="190.1 MB")),
        (f"  Downloading {CUDA}.metadata (29 kB)\n", None),
        ("Collecting torch==2.13.0\n", None),
        ("Would install torch-2.13.0\n", None),
        ("  Downloading torchvision-0.29.1-cp312-cp312-linux_x86_64.whl (8 MB)\n", None),
    ],
)
def test_pip_lines(line: str, offer: Offer | None) -> None:
    assert torch_source.read_offer(line) == offer


@given(st.text())
def test_any_line_is_read(line: str) -> None:
    torch_source.read_offer(line)
    torch_source.read_report(line)


def test_pip_report() -> None:
    def report(url: str) -> str:
        return "Would install\n" + json.dumps({"install": [{"download_info": {"url": url}}]})

    local = torch_source.read_report(report(f"file:///wheels/{CPU.replace('+', '%2B')}"))
    assert local is not None
    assert local.local
    assert local.is_small
    remote = torch_source.read_report(report(f"https://index.invalid/{CUDA}"))
    assert remote == Offer(CUDA, local=False)
    assert not remote.is_small
    assert torch_source.read_report("ERROR: none") is None
    assert torch_source.read_report('{"install": []}') is None


@pytest.mark.parametrize(
    ("offer", "small"),
    [
        (Offer(CPU, local=False, size="190 MB"), True),
        (Offer(CPU.replace("+", "%2B"), local=False), True),
        (Offer(CUDA, local=True), True),
        (Offer(CUDA, local=False, size="526.6 MB"), False),
    ],
)
def test_what_needs_no_question(offer: Offer, small: bool) -> None:
    assert offer.is_small is small


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "yes"), [("y\n", True), ("Yes\n", True), ("\n", False), ("n\n", False), ("", False)])
def test_the_question_on_a_terminal(typed: str, yes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stderr", screen)
    assert torch_source.agreed(Offer(CUDA, local=False, size="526.6 MB")) is yes
    assert "526.6 MB" in screen.getvalue()
    assert "[y/N]" in screen.getvalue()


def test_no_terminal_means_no(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert not torch_source.agreed(Offer(CUDA, local=False))
    assert "gigabytes" in capsys.readouterr().err


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The arguments of each `pip install` that would have run; nothing is agreed to and pip offers CUDA."""
    calls: list[list[str]] = []
    monkeypatch.delenv("TORCH", raising=False)
    monkeypatch.delenv("TORCH_INDEX", raising=False)
    monkeypatch.setattr(torch_source, "pip_install", lambda pip, arguments: calls.append(arguments))
    monkeypatch.setattr(
        torch_source, "ask_pip", lambda pip, arguments: None if "--no-index" in arguments else Offer(CUDA, False)
    )
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return calls


WANTED = f"torch=={torch_source.VERSION}"


def test_a_big_download_is_refused_with_the_ways_out(installed: list[list[str]]) -> None:
    with pytest.raises(Stop, match=r"TORCH_INDEX=ADDRESS(.|\n)*TORCH=yes"):
        torch_source.install(["pip"])
    assert installed == []


def test_torch_yes_takes_it(installed: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH", "yes")
    torch_source.install(["pip"])
    assert installed == [["--no-compile", WANTED]]


def test_torch_index_is_for_torch_alone(installed: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_INDEX", "https://index.invalid/cpu")
    torch_source.install(["pip"])
    assert installed == [
        ["--no-compile", "--no-deps", "--index-url", "https://index.invalid/cpu", WANTED],
        ["--no-compile", WANTED],
    ]


def test_a_local_file_is_taken_before_the_network_is_asked(
    installed: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def ask(pip: list[str], arguments: list[str]) -> Offer:
        asked.append(arguments)
        return Offer(CPU, local=True)

    monkeypatch.setattr(torch_source, "ask_pip", ask)
    torch_source.install(["pip"])
    assert (asked, installed) == ([["--no-index", WANTED]], [["--no-compile", WANTED]])


def test_no_torch_anywhere_is_said(installed: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_source, "ask_pip", lambda pip, arguments: None)
    with pytest.raises(Stop, match="finds no torch"):
        torch_source.install(["pip"])
    assert installed == []


def pretend_pip(folder: Path, text: str) -> list[str]:
    script = folder / "pip.py"
    script.write_text(text)
    return [sys.executable, str(script)]


def test_pip_is_stopped_when_it_names_the_file(tmp_path: Path) -> None:
    pip = pretend_pip(tmp_path, f"import time\nprint('  Downloading {CUDA} (526.6 MB)', flush=True)\ntime.sleep(600)\n")
    assert torch_source.ask_pip(pip, [WANTED]) == Offer(CUDA, local=False, size="526.6 MB")


def test_the_report_is_read_where_no_line_tells(tmp_path: Path) -> None:
    text = json.dumps({"install": [{"download_info": {"url": f"https://index.invalid/{CUDA}"}}]})
    assert torch_source.ask_pip(pretend_pip(tmp_path, f"print({text!r})\n"), [WANTED]) == Offer(CUDA, local=False)
    assert torch_source.ask_pip(pretend_pip(tmp_path, "raise SystemExit(1)\n"), [WANTED]) is None


def test_minimum_version() -> None:
    assert torch_source.minimum_version(["torch>=2.9"]) == (2, 9)
    with pytest.raises(Stop):
        torch_source.minimum_version(["torch"])


@pytest.fixture
def pretend_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on PYTHONPATH with a package `torch`; returns its `__init__.py`."""
    package = tmp_path / "site-packages" / "torch"
    package.mkdir(parents=True)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    return package / "__init__.py"


def test_a_torch_that_is_there_is_used(pretend_torch: Path) -> None:
    pretend_torch.write_text("print('noise')\n__version__ = '2.11.0a0+nv25.9'\n")
    found = torch_source.find_installed((2, 9))
    assert found is not None
    assert found.version == "2.11.0a0+nv25.9"
    assert found.folders[0] == str(pretend_torch.parent.parent)


@pytest.mark.parametrize("text", ["raise OSError('libcudart')\n", "__version__ = '2.8.1'\n", "__version__ = 'odd'\n"])
def test_a_torch_that_is_broken_or_old_is_left_alone(text: str, pretend_torch: Path) -> None:
    pretend_torch.write_text(text)
    assert torch_source.find_installed((2, 9)) is None


def test_no_torch_costs_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(pip_call.subprocess, "run", lambda *args, **kwargs: pytest.fail("a process was started"))
    assert torch_source.find_installed((2, 9)) is None
