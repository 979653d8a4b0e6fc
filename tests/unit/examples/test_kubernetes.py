"""The LeaderWorkerSet example held against the API's own schema, as a server does that refuses unknown fields."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.unit.examples.lws_schema import KEYS, LEADER_WORKER_SET, VARIABLES

pytestmark = pytest.mark.unit

MANIFEST = Path(__file__).parents[3] / "examples" / "kubernetes" / "leaderworkerset.yaml"
USED = re.compile(r"\$\((\w+)\)")
Change = Callable[[dict[str, Any]], object]


def manifest() -> dict[str, Any]:
    """Aliases made whole: a change in one place must not be one in the other."""
    document = yaml.safe_load(MANIFEST.read_text())
    assert isinstance(document, dict)
    return copy.deepcopy(yaml.safe_load(yaml.dump(document, Dumper=Whole)))


class Whole(yaml.SafeDumper):
    """Writes no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def complaints(document: dict[str, Any]) -> list[str]:
    """What an API server would say, as `path: message`."""
    found = [
        f"{'.'.join(map(str, one.absolute_path))}: {one.message}"
        for one in jsonschema.Draft202012Validator(LEADER_WORKER_SET).iter_errors(document)
    ]
    return [*found, *twice(document, "")]


def twice(value: Any, path: str) -> Iterator[str]:
    """Items of a keyed list that have the same key."""
    if isinstance(value, dict):
        for name, inner in value.items():
            key = KEYS.get(name)
            if key and isinstance(inner, list):
                seen = [one.get(key) for one in inner]
                yield from (
                    f"{path}{name}: two of {one}" for one in sorted({str(x) for x in seen if seen.count(x) > 1})
                )
            yield from twice(inner, f"{path}{name}.")
    elif isinstance(value, list):
        for inner in value:
            yield from twice(inner, path)


def pods(document: dict[str, Any]) -> list[dict[str, Any]]:
    template = document["spec"]["leaderWorkerTemplate"]
    return [template["leaderTemplate"]["spec"], template["workerTemplate"]["spec"]]


def test_the_schema_is_one_and_the_example_keeps_to_it() -> None:
    jsonschema.Draft202012Validator.check_schema(LEADER_WORKER_SET)
    assert complaints(manifest()) == []


def server(document: dict[str, Any]) -> dict[str, Any]:
    found = pods(document)[0]["containers"][0]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["spec"].update(replica=1), "'replica' was unexpected"),
        (lambda d: d["spec"]["leaderWorkerTemplate"].pop("workerTemplate"), "'workerTemplate' is a required"),
        (lambda d: d["spec"]["leaderWorkerTemplate"].update(size="2"), "'2' is not of type 'integer'"),
        (lambda d: d["spec"]["leaderWorkerTemplate"].update(restartPolicy="Always"), "'Always' is not one of"),
        (lambda d: d.update(apiVersion="leaderworkerset.x-k8s.io/v1alpha1"), "was expected"),
        (lambda d: server(d).pop("name"), "'name' is a required property"),
        (lambda d: server(d)["args"].append(2), "2 is not of type 'string'"),
        (lambda d: server(d)["resources"]["limits"].update(memory="16 GiB"), "'16 GiB' is not valid"),
        (lambda d: server(d)["securityContext"].update(add=["IPC_LOCK"]), "'add' was unexpected"),
        (lambda d: server(d)["ports"][0].pop("containerPort"), "'containerPort' is a required property"),
        (lambda d: server(d)["volumeMounts"][0].pop("mountPath"), "'mountPath' is a required property"),
        (lambda d: server(d).update(envFrom=[{"configMap": "x"}]), "'configMap' was unexpected"),
        (lambda d: pods(d)[1]["volumes"].append({"name": "shm"}), "volumes: two of shm"),
        (lambda d: pods(d)[1].update(hostNetwork="true"), "'true' is not of type 'boolean'"),
        (
            lambda d: pods(d)[1]["initContainers"][0]["env"][0].update(valueFrom={"fieldRef": {}}),
            "'fieldPath' is a req",
        ),
    ],
)
def test_what_a_server_refuses_is_refused_here(change: Change, words: str) -> None:
    """Typos and wrong kinds of the sort that only show when somebody applies the file."""
    document = manifest()
    change(document)
    assert any(words in one for one in complaints(document)), complaints(document)


def test_every_variable_in_a_word_is_given_by_the_set_or_the_container_itself() -> None:
    """`$(NAME)` that nothing gives stays as it is, and the server would listen to that text."""
    for pod in pods(manifest()):
        for container in (*pod["initContainers"], *pod["containers"]):
            own = {one["name"] for one in container.get("env", ())}
            used = {name for word in (*container.get("command", ()), *container["args"]) for name in USED.findall(word)}
            assert used <= own | VARIABLES, (container["name"], used)


def test_the_gate_knows_its_node_by_the_clusters_name_of_it() -> None:
    """With the preset's names chosen so: the init container has no other way to know on which node it is."""
    for pod in pods(manifest()):
        (gate,) = pod["initContainers"]
        assert gate["env"][0]["valueFrom"]["fieldRef"]["fieldPath"] == "spec.nodeName"
        assert gate["args"][gate["args"].index("--node") + 1] == "$(NODE_NAME)"
        volume = next(one for one in pod["volumes"] if one["name"] == gate["volumeMounts"][0]["name"])
        assert volume["configMap"]["name"] == "fabricdoc-preset", "the one that the head of the file makes"
