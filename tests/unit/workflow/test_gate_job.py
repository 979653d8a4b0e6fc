"""The job a gate is asked about: variables of files and images, the launch line, its ports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import InputError, UsageError
from fabricdoc.export import wanted_lines, write_all
from fabricdoc.model.fabric import ConfFile, Fabric, ServerImage
from fabricdoc.model.preset import Line, NodePreset, Preset
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow.checking import Asked
from fabricdoc.workflow.gate_job import delivery_of, file_values, ports_of, stand_in, variables_of
from tests import fabrics

pytestmark = pytest.mark.unit

QWEN = "qwen3.8-flash-next-tp2"


def preset(profile: str = QWEN) -> Preset:
    words = dict.fromkeys(("run", "objective", "choice", "reason", "exercised"), "")
    nodes = tuple(
        NodePreset(
            name=name,
            target="local",
            lines=(
                Line(name="NCCL_NET", value="IB", kind="placed", evidence=""),
                Line(name="NCCL_IB_HCA", value=f"={hca}", kind="placed", evidence=""),
            ),
        )
        for name, hca in (("alpha", "mlx5_0"), ("beta", "mlx5_1"))
    )
    fields = {**words, "name": "pair", "profile": profile, "backend": "nccl", "nodes": nodes}
    return Preset.model_validate(fields)


def asked(**fields: Any) -> Asked:
    return Asked(**{"preset": preset(), **fields})


def pair() -> Fabric:
    return Fabric(nodes=(fabrics.node("alpha"), fabrics.node("beta")))


def test_variables_are_the_presets_by_node() -> None:
    assert variables_of(asked(), ["alpha", "beta"]) == {
        "alpha": {"NCCL_NET": "IB", "NCCL_IB_HCA": "=mlx5_0"},
        "beta": {"NCCL_NET": "IB", "NCCL_IB_HCA": "=mlx5_1"},
    }


def test_without_a_preset_they_are_the_files(tmp_path: Path) -> None:
    both, own = tmp_path / "both.env", tmp_path / "alpha.env"
    both.write_text("NCCL_NET=IB\nNCCL_IB_HCA==mlx5_9\n")
    own.write_text("NCCL_IB_HCA==mlx5_0\n")
    given_ = asked(preset=None, env=(("", both), ("alpha", own)))
    assert variables_of(given_, ["alpha", "beta"]) == {
        "alpha": {"NCCL_NET": "IB", "NCCL_IB_HCA": "=mlx5_0"},
        "beta": {"NCCL_NET": "IB", "NCCL_IB_HCA": "=mlx5_9"},
    }
    assert variables_of(asked(preset=None), ["alpha"]) == {}


def test_files_written_with_no_strict_are_the_presets(tmp_path: Path) -> None:
    """As export-env --no-strict -o DIR wrote them, and handed back to the gate with --env."""
    both = preset()
    paths = write_all(wanted_lines(both, "env", strict=False), tmp_path, "env", env={})
    env = tuple((name, path) for path in paths if (name := path.name.removesuffix(".env")) != "common")
    assert {name for name, _ in env} == {"alpha", "beta"}
    said = delivery_of(asked(env=env), both, pair())
    assert (said.answer, said.findings) == ("delivered", ())
    assert {v.name: v.outcome for v in said.workers[0].variables} == {
        "NCCL_NET": "left-out",
        "NCCL_IB_HCA": "delivered",
    }
    (other := tmp_path / "alpha.env").write_text(f"{other.read_text()}NCCL_NET=Socket\n")
    assert delivery_of(asked(env=env), both, pair()).reason == "on alpha: NCCL_NET differs"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("job.env", "NCCL_NET=IB\nNCCL_IB_QPS_PER_CONNECTION=2\n"),
        (
            "docker-compose.yaml",
            "services:\n s:\n  environment:\n   - NCCL_NET=IB\n   - NCCL_IB_QPS_PER_CONNECTION=2\n",
        ),
        (
            "job.yaml",
            "kind: Pod\nspec:\n  containers:\n  - env:\n    - name: NCCL_NET\n      value: IB\n"
            '    - name: NCCL_IB_QPS_PER_CONNECTION\n      value: "2"\n',
        ),
        ("start.sh", "#!/bin/bash\nexport NCCL_NET=IB\nexport NCCL_IB_QPS_PER_CONNECTION=2\n"),
        ("vllm.service", '[Service]\nEnvironment="NCCL_NET=IB" "NCCL_IB_QPS_PER_CONNECTION=2"\n'),
        ("nccl.conf", "NCCL_NET=IB\nNCCL_IB_QPS_PER_CONNECTION=2\n"),
    ],
)
def test_every_kind_of_file_a_launcher_reads(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    values = file_values(asked(env=(("", tmp_path / name),)), "alpha")
    assert (values["NCCL_NET"], values["NCCL_IB_QPS_PER_CONNECTION"]) == ("IB", "2")


def test_a_file_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text("{")
    with pytest.raises(InputError) as caught:
        file_values(asked(env=(("", tmp_path / "job.json"),)), "alpha")
    assert "job.json" in caught.value.message


def outcomes(given_: Asked, fabric: Fabric) -> dict[str, dict[str, str]]:
    assert given_.preset is not None
    said = delivery_of(given_, given_.preset, fabric)
    return {one.node: {variable.name: variable.outcome for variable in one.variables} for one in said.workers}


def test_the_preset_as_written_reaches_everybody() -> None:
    good = {"NCCL_NET": "delivered", "NCCL_IB_HCA": "delivered"}
    assert outcomes(asked(), pair()) == {"alpha": good, "beta": good}


def test_a_file_that_lacks_one_or_says_another(tmp_path: Path) -> None:
    file = tmp_path / "beta.env"
    file.write_text("NCCL_NET=Socket\n")
    found = outcomes(asked(env=(("beta", file),)), pair())
    assert found["beta"] == {"NCCL_NET": "differs", "NCCL_IB_HCA": "missing"}
    assert set(found["alpha"].values()) == {"delivered"}


def test_what_an_image_sets_stands_behind_and_is_told_where_nobody_asked() -> None:
    image = ServerImage(
        name="vllm:1",
        environment={"NCCL_NET": "Socket", "NCCL_ALGO": "Ring"},
        nccl_conf=(ConfFile(path="/etc/nccl.conf", values={"NCCL_PROTO": "LL"}),),
    )
    node = fabrics.node("alpha").model_copy(update={"image": image})
    given_ = asked()
    assert given_.preset is not None
    said = delivery_of(given_, given_.preset, Fabric(nodes=(node,)))
    (worker,) = said.workers
    assert worker.extra == {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}
    assert worker.source == "the preset, image vllm:1"
    assert {one.outcome for one in worker.variables} == {"delivered"}


def test_a_node_that_the_preset_does_not_have_has_no_delivery() -> None:
    assert outcomes(asked(), Fabric(nodes=(fabrics.node("gamma"),))) == {}


def test_a_stand_in_holds_the_files_variables() -> None:
    made = stand_in([NodeSpec("alpha", "local")], {"alpha": {"NCCL_NET": "IB"}})
    assert [(line.name, line.value) for line in made.nodes[0].lines] == [("NCCL_NET", "IB")]


@pytest.mark.parametrize(
    ("words", "ports"),
    [
        ([], (29500,)),
        (["torchrun", "--master-port", "29611", "x.py"], (29611,)),
        (["torchrun", "--master_port=29611", "--rdzv-endpoint=spark-a:29400"], (29611, 29400)),
        (["vllm", "serve", "m", "--port", "8000", "--master-port", "29501"], (8000, 29501)),
        (
            ["python3", "-m", "sglang.launch_server", "--dist-init-addr", "10.0.0.1:20000", "--port=30000"],
            (20000, 30000),
        ),
        (["env", "MASTER_PORT=29777", "python", "x.py"], (29777,)),
        (["vllm", "--port", "zero", "--master-port"], (29500,)),
        (["vllm", "--port", "70000"], (29500,)),
        (["vllm", "--port", "8000", "--port", "8000"], (8000,)),
    ],
)
def test_ports_of_a_launch_line(words: list[str], ports: tuple[int, ...]) -> None:
    assert ports_of(asked(launch=tuple(words))) == ports


def test_ports_that_are_named_beat_the_line() -> None:
    assert ports_of(asked(ports=(5000,), launch=("vllm", "--port", "8000"))) == (5000,)
    with pytest.raises(UsageError):
        ports_of(asked(ports=(0,)))


@pytest.mark.long
@given(st.lists(st.text(max_size=12) | st.sampled_from(["--port", "--master-port", "--dist-init-addr"]), max_size=8))
def test_any_launch_line_has_ports(words: list[str]) -> None:
    ports = ports_of(asked(launch=tuple(words)))
    assert ports
    assert all(0 < port < 65536 for port in ports)
