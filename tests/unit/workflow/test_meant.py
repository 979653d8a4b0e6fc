"""Finding a preset, and its nodes as nodes to ask."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.model.preset import Fingerprint, NodePreset, NodePrint, PortPrint, Preset
from fabricdoc.tuning import preset_to_toml
from fabricdoc.workflow import meant
from fabricdoc.workflow.recommending import latest_preset

pytestmark = pytest.mark.unit


def preset() -> Preset:
    port = PortPrint(netdev="p0", hca=None, mac="m", mtu=9000, speed_mbps=1, peer="beta/p1")
    facts = {"hostname": "alpha", "kernel": "k", "torch": "t", "nccl": "n", "nvidia_driver": "d"}
    fields = {"name": "x", "run": "r", "objective": "mix", "profile": "p", "choice": "base", "reason": ""}
    return Preset.model_validate(
        {
            **fields,
            "backend": "gloo",
            "exercised": "lab",
            "nodes": (NodePreset(name="alpha", target="netns:7"),),
            "fingerprint": Fingerprint(nodes=(NodePrint(name="alpha", ports=(port,), **facts),)),
        }
    )


def test_a_presets_nodes_are_asked_at_the_targets_they_were_measured_at() -> None:
    (spec,) = meant.nodes_of(preset())
    assert (spec.name, spec.target) == ("alpha", "netns:7")


def test_a_preset_file_needs_no_store(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    one = preset()
    file.write_text(preset_to_toml(one))
    assert meant.find_preset(str(file), tmp_path / "no-store" / "x.sqlite") == one


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        meant.find_preset(str(tmp_path / "absent.toml"), None)
    assert "absent.toml" in caught.value.message


def test_what_is_there_and_no_file_is_told_as_that_and_not_as_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("loop").symlink_to("loop")
    for wanted, said in {"folder": "Is a directory", "loop": "Too many levels", "./absent": "No such file"}.items():
        with pytest.raises(UsageError, match=said):
            meant.find_preset(wanted, tmp_path / "runs.sqlite")
    with pytest.raises(UsageError, match="no run is stored yet"):
        meant.find_preset("20260101-000000-abcd", tmp_path / "runs.sqlite")


def test_without_any_run_there_is_no_preset(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        meant.find_preset(None, tmp_path / "runs.sqlite")


def test_every_node_keeps_the_python_it_was_measured_with() -> None:
    nodes = (NodePreset(name="alpha", target="netns:7", python="/opt/venv/bin/python3"),)
    measured = preset().model_copy(update={"nodes": nodes})
    assert [spec.python for spec in meant.nodes_of(measured)] == ["/opt/venv/bin/python3"]


def test_a_presets_nodes_are_reached_as_the_file_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise its launches run in another environment than the measured ones, and ssh asks another configuration."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fabric.toml").write_text(
        '[ssh]\nconfig = "cluster"\n[[node]]\nname = "alpha"\ntarget = "netns:7"\nports = ["*"]\n'
        'python = "/other/python3"\nenv = { CUDA_MPS_PIPE_DIRECTORY = "/m" }\n'
    )
    (spec,) = meant.nodes_of(preset())
    assert dict(spec.env) == {"CUDA_MPS_PIPE_DIRECTORY": "/m"}
    assert spec.ssh_config == str(tmp_path / "cluster")
    assert (spec.python, spec.ports) == ("python3", ()), "the preset's own count"


class Runs:
    """A store of three runs, newest first, of which the second has a preset."""

    words = " --store /x/runs.sqlite"

    def load(self, wanted: str | None) -> SimpleNamespace:
        return SimpleNamespace(id=wanted or "r3", status="interrupted")

    def load_document(self, run: str, _kind: str) -> str | None:
        return preset().model_dump_json() if run == "r2" else None

    def list_runs(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(id=name, created="then") for name in ("r3", "r2", "r1")]


def test_a_newer_run_without_a_preset_is_passed_over_and_told() -> None:
    told: list[str] = []
    assert latest_preset(Runs(), None, told.append).run == "r"  # type: ignore[arg-type]
    assert "r3" in told[0]
    assert "r2" in told[0]


def test_a_named_run_without_a_preset_is_not_replaced_by_another() -> None:
    with pytest.raises(UsageError) as caught:
        latest_preset(Runs(), "r1")  # type: ignore[arg-type]
    assert "r1" in caught.value.message
