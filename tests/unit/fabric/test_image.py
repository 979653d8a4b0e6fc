"""An image read once: the exact commands, one container per image id, and every way in which there is no answer."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.fabric import image
from fabricdoc.fabric.image import image_facts, server_image, with_images
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, NodeReport, ServerImage
from fabricdoc.transport import NodeSpec
from tests.fabrics import node

pytestmark = pytest.mark.lab  # whole processes with deadlines: too slow for every check

ID, OTHER = "a1" * 32, "b2" * 32
NODE = NodeSpec("alpha", "local", image="vllm/vllm-openai:v0.20")
RUNTIME = """#!{python}
import json, os, sys
folder = os.path.dirname(os.path.abspath(sys.argv[0]))
with open(folder + "/calls", "a") as calls:
    calls.write(json.dumps([os.path.basename(sys.argv[0]), *sys.argv[1:]]) + "\\n")
told = json.load(open(folder + "/told"))
if sys.argv[1] == "image":
    sys.stdout.write(told["id"])
    sys.stderr.write(told.get("error", ""))
    sys.exit(told.get("status", 0))
if "run" in told:
    sys.exit(told["run"])
python = sys.argv[sys.argv.index("--") + 2:]
os.environ["NCCL_DEBUG"] = "image"
os.execv({python!r}, [{python!r}, *python])
"""


class Fake:
    """A container runtime on PATH that notes its calls and runs the words for the image's python with this one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tell(id=f"sha256:{ID}\n")
        for name in ("docker", "podman"):
            program = folder / name
            program.write_text(RUNTIME.format(python=sys.executable))
            program.chmod(0o755)

    def tell(self, **told: Any) -> None:
        (self.folder / "told").write_text(json.dumps(told))

    def calls(self) -> list[list[str]]:
        notes = self.folder / "calls"
        lines = notes.read_text().splitlines() if notes.exists() else []
        notes.unlink(missing_ok=True)
        return [json.loads(line) for line in lines]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SUDO_USER", raising=False)
    return Fake(tmp_path / "bin")


def test_the_exact_commands_and_one_container_per_image(fake: Fake) -> None:
    first = image_facts(NODE)
    assert isinstance(first, NodeReport)
    assert first.host.environment["NCCL_DEBUG"] == "image"
    inspected, ran = fake.calls()
    assert inspected == ["docker", "image", "inspect", "--format", "{{.Id}}", "--", "vllm/vllm-openai:v0.20"]
    assert ran[:11] == [
        "docker",
        "run",
        "--rm",
        "-i",
        "--pull=never",
        "--network=none",
        "--label=fabricdoc",
        "--entrypoint=python3",
        "--",
        "vllm/vllm-openai:v0.20",
        "-I",
    ]
    assert ran[11] == "-c"
    assert not [word for word in ran if word.startswith(("--gpus", "--device", "--privileged", "-v", "--mount"))]
    again = image_facts(NODE)
    assert again == first
    assert [call[1] for call in fake.calls()] == ["image"]


def test_another_id_under_the_same_name_is_read_anew(fake: Fake) -> None:
    image_facts(NODE)
    fake.calls()
    fake.tell(id=f"sha256:{OTHER}\n")
    assert isinstance(image_facts(NODE), NodeReport)
    assert [call[1] for call in fake.calls()] == ["image", "run"]


def test_podman_says_its_id_without_the_algorithm(fake: Fake) -> None:
    fake.tell(id=ID)
    assert isinstance(image_facts(NODE, "podman"), NodeReport)
    assert [call[:2] for call in fake.calls()] == [["podman", "image"], ["podman", "run"]]
    assert isinstance(image_facts(NODE, "docker"), NodeReport)
    assert [call[:2] for call in fake.calls()] == [["docker", "image"]]


def test_another_probe_reads_it_anew(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    image_facts(NODE)
    fake.calls()
    monkeypatch.setattr(image, "_probe", lambda: "0" * 12)
    image_facts(NODE)
    assert [call[1] for call in fake.calls()] == ["image", "run"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"hcas": []}', "\0", "[" * 100_000])
def test_what_is_no_report_any_more_is_not_taken(tmp_path: Path, text: str) -> None:
    (tmp_path / "kept").write_text(text)
    assert image._cached(NODE, tmp_path / "kept") is None
    assert image._cached(NODE, tmp_path / "gone") is None


def test_a_broken_cache_is_read_anew_and_mended(fake: Fake, tmp_path: Path) -> None:
    image_facts(NODE)
    (kept,) = (tmp_path / "cache/fabricdoc/images").iterdir()
    kept.write_text("{")
    fake.calls()
    assert isinstance(image_facts(NODE), NodeReport)
    assert [call[1] for call in fake.calls()] == ["image", "run"]
    assert json.loads(kept.read_text())["host"]


def test_the_cache_is_the_users_alone(fake: Fake, tmp_path: Path) -> None:
    image_facts(NODE)
    (kept,) = (tmp_path / "cache/fabricdoc/images").iterdir()
    assert kept.name.startswith(f"{ID}-")
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700


def test_a_cache_that_can_not_be_written_costs_only_itself(fake: Fake, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    assert isinstance(image_facts(NODE), NodeReport)
    assert [call[1] for call in fake.calls()] == ["image", "run"]


def test_a_folder_of_ones_own(fake: Fake, tmp_path: Path) -> None:
    image_facts(NODE, cache=tmp_path / "mine/images")
    assert len(list((tmp_path / "mine/images").iterdir())) == 1
    assert not (tmp_path / "cache").exists()


def reason(found: object) -> str:
    assert isinstance(found, Unknown)
    return found.unknown


def test_a_node_without_an_image_asks_nobody(fake: Fake) -> None:
    assert reason(image_facts(NodeSpec("alpha", "local"))) == "alpha names no image"
    assert fake.calls() == []


def test_an_image_that_is_not_there_is_not_pulled(fake: Fake) -> None:
    fake.tell(id="[]\n", error="Error response from daemon: No such image: vllm", status=1)
    said = reason(image_facts(NODE))
    assert said.startswith("vllm/vllm-openai:v0.20: alpha: docker knows no such image: Error response")
    assert [call[1] for call in fake.calls()] == ["image"]


@pytest.mark.parametrize(
    "said", ["", "latest", "sha256:xyz", f"sha256:{ID}\nsha256:{OTHER}", f"../{ID}", "x" * 200_000]
)
def test_an_id_that_is_none_starts_no_container(fake: Fake, said: str) -> None:
    fake.tell(id=said)
    assert "knows no such image" in reason(image_facts(NODE))
    assert [call[1] for call in fake.calls()] == ["image"]


def test_without_the_runtime_it_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "docker can't be run: No such file" in reason(image_facts(NODE))


@pytest.mark.parametrize("status", [125, 127, 97])
def test_an_image_without_a_fit_python_is_unknown_and_not_kept(fake: Fake, tmp_path: Path, status: int) -> None:
    fake.tell(id=ID, run=status)
    assert reason(image_facts(NODE)).startswith("vllm/vllm-openai:v0.20: alpha: ")
    assert not (tmp_path / "cache").exists()


def test_a_runtime_that_hangs_ends_by_its_deadline(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    (fake.folder / "docker").write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr(image, "INSPECT_DEADLINE_S", 0.3)
    assert reason(image_facts(NODE)) == "vllm/vllm-openai:v0.20: alpha: docker did not end within 0.3 s"


def test_the_default_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_USER", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert image.images_folder() == tmp_path / "fabricdoc/images"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/me")
    assert image.images_folder() == Path("/home/me/.cache/fabricdoc/images")


def test_a_fabric_gets_the_facts_of_the_images_its_nodes_name(fake: Fake) -> None:
    fabric = Fabric(nodes=(node("alpha"), node("beta")))
    said: list[str] = []
    seen = with_images([NODE, NodeSpec("beta", "local")], fabric, said.append)
    alpha, beta = seen.nodes
    assert isinstance(alpha.image, ServerImage)
    assert (alpha.image.name, alpha.image.id) == (NODE.image, ID)
    assert alpha.image.environment["NCCL_DEBUG"] == "image"
    assert alpha.image.python == ".".join(map(str, sys.version_info[:3]))
    assert beta == fabric.nodes[1]
    assert said == ["looking into image vllm/vllm-openai:v0.20 on alpha: once, then it is remembered"]
    assert with_images([NodeSpec("alpha", "local")], fabric, said.append) is fabric


def test_what_was_never_looked_into_stays_unknown_where_nothing_may_start(fake: Fake) -> None:
    fabric = Fabric(nodes=(node("alpha"),))
    said: list[str] = []
    (first,) = with_images([NODE], fabric, said.append, start=False).nodes
    assert first.image == Unknown(unknown=f"{NODE.image}: {image.NEVER_READ}")
    assert [call[1] for call in fake.calls()] == ["image", "image"]
    with_images([NODE], fabric, said.append)
    fake.calls()
    (known,) = with_images([NODE], fabric, said.append, start=False).nodes
    assert isinstance(known.image, ServerImage)
    assert [call[1] for call in fake.calls()] == ["image"]
    assert len(said) == 1


def test_the_runtime_that_has_the_image_is_asked(fake: Fake) -> None:
    (fake.folder / "docker").unlink()
    (fake.folder / "docker").symlink_to("/bin/false")
    found = server_image(NODE)
    assert isinstance(found, ServerImage)
    assert {call[0] for call in fake.calls()} == {"podman"}


def test_an_image_that_no_runtime_has_is_unknown_in_the_words_of_the_first(fake: Fake) -> None:
    fake.tell(id="", error="No such image", status=1)
    found = server_image(NODE)
    assert isinstance(found, Unknown) and "docker knows no such image" in found.unknown
