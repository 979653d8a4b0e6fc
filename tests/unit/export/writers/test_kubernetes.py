"""k8s env lists and ConfigMaps: a YAML reader, the expansion rules, and kubectl itself where it is."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from fabricdoc.errors import UsageError
from fabricdoc.export import render
from tests.unit.export import readers
from tests.unit.export.presets_made import HARDER, HEAD, WORKER, alone, node, pair, preset

pytestmark = pytest.mark.unit
KUBECTL = pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on this machine")


def listed(entries: list[dict[str, str]]) -> dict[str, str]:
    return {one["name"]: readers.kubernetes_expands(one["value"]) for one in entries}


def kubectl(folder: Path, *words: str) -> str:
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "KUBECONFIG": "/dev/null"}
    command = [shutil.which("kubectl") or "kubectl", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60).stdout


def test_leader_and_worker_have_lists_of_their_own() -> None:
    lists = readers.yaml_reads(render(pair(), None, "k8s"))
    assert listed(lists["leader"]["env"]) == HEAD
    assert listed(lists["worker"]["env"]) == WORKER


def test_one_node_has_one_list() -> None:
    both = pair()
    assert listed(readers.yaml_reads(render(both, both.nodes[1], "k8s"))["env"]) == WORKER
    assert readers.yaml_reads(render(alone({}), None, "k8s")) == {"env": []}


def test_numbers_and_words_stay_text() -> None:
    entries = readers.yaml_reads(render(alone({"NCCL_IB_TC": "106", "A1": "yes", "A2": "0x10"}), None, "k8s"))["env"]
    assert [one["value"] for one in entries] == ["106", "yes", "0x10"]


def test_what_would_be_expanded_is_not() -> None:
    (entry,) = readers.yaml_reads(render(alone({"A1": "$(HOME)$$x"}), None, "k8s"))["env"]
    assert readers.kubernetes_expands(entry["value"]) == "$(HOME)$$x"


def test_workers_that_differ_need_their_own() -> None:
    ring = preset(node("a", HEAD), node("b", WORKER), node("c", {**WORKER, "NCCL_X": "1"}))
    with pytest.raises(UsageError, match="one template for all workers"):
        render(ring, None, "k8s")
    assert listed(readers.yaml_reads(render(ring, ring.nodes[2], "k8s"))["env"])["NCCL_X"] == "1"


def test_configmaps_are_named_by_role() -> None:
    documents = [one for one in yaml.safe_load_all(render(pair(), None, "k8s-configmap")) if one]
    assert [one["metadata"]["name"] for one in documents] == ["nccl-env-leader", "nccl-env-worker"]
    assert [one["data"] for one in documents] == [HEAD, WORKER]


@pytest.mark.long
@KUBECTL
def test_kubectl_reads_the_list_in_a_pod(tmp_path: Path) -> None:
    entries = readers.yaml_reads(render(alone(HARDER), None, "k8s"))["env"]
    indented = "".join(f"      {line}\n" for line in render(alone(HARDER), None, "k8s").splitlines())
    pod = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  containers:\n    - name: c\n{indented}"
    (tmp_path / "pod.yaml").write_text(pod)
    said = kubectl(tmp_path, "label", "--local", "-f", "pod.yaml", "a=b", "-o", "json")
    assert json.loads(said)["spec"]["containers"][0]["env"] == entries


@KUBECTL
def test_kubectl_reads_the_configmap(tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text(render(alone(HARDER), None, "k8s-configmap"))
    said = kubectl(tmp_path, "label", "--local", "-f", "map.yaml", "a=b", "-o", "json")
    assert json.loads(said)["data"] == HARDER
