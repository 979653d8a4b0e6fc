"""Invented names in every place that holds one: after anonymizing none is left, and the findings are the same."""

from __future__ import annotations

import ipaddress
import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fabricdoc.checks import check_fabric
from fabricdoc.dumps.anonymizing import LEFT_OUT, anonymized
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import ConfFile, Fabric, FailedNode, Gpu, LldpNeighbour, NodeSelectors, Selectors, Tenant
from fabricdoc.model.findings import Evidence, Finding
from tests.fabrics.altering import changed, set_facts
from tests.fabrics.images import nccl, server_image
from tests.fabrics.spark import spark_crossed, spark_twin_bare

pytestmark = pytest.mark.unit

SECRET = st.from_regex(r"zq[a-z][a-z0-9]{3,8}", fullmatch=True)
SHAPES = (
    "{host}", "{user}@{host}.{domain}.example", "{user}@{host}:2222", "{user}@10.9.8.7", "slurm:{host}",
    "k8s:{ns}/{pod}:{box}", "k8s:{pod}", "docker:{box}", "podman:{user}@{host}.{domain}.example/{box}",
    "docker:{host}/{box}", "mpirun:{host}.{domain}.example", "netns:/run/netns/{ns}", "{folder}/{name}",
)  # fmt: skip
IMAGES = (
    "{registry}.{domain}.example:5000/{team}/{image}:{tag}", "{team}/{image}:v0.20", "{image}",
    "localhost/{image}:{tag}", "{registry}.example/{image}@sha256:" + "0" * 64, "{team}/{image}:{tag}-prod",
)  # fmt: skip
WORDS = (
    "name", "name2", "user", "host", "domain", "ns", "pod", "box", "folder", "registry", "team", "image", "tag",
    "tenant", "program", "switch", "alt", "rack", "home", "profile", "lost", "hostname", "file",
)  # fmt: skip


def full(words: dict[str, str], shape: str, image: str, fabric: Fabric, *, read: bool) -> Fabric:
    """A recorded fabric whose first node has these names wherever a document may hold one."""
    old = fabric.nodes[0].name
    name, target, picture = words["name"], shape.format(**words), image.format(**words)
    text = json.dumps(fabric.model_dump(mode="json", by_alias=True)).replace(f'"{old}"', f'"{name}"')
    fabric = Fabric.model_validate_json(text)
    node = fabric.nodes[0]
    assert isinstance(node.gpus, tuple) and isinstance(node.netdevs, tuple)
    tenant = Tenant(pid=7, name=words["program"], container=words["tenant"])
    home, profile = (
        f"/home/{words['home']}/venv",
        f"/etc/NetworkManager/system-connections/{words['profile']}.nmconnection",
    )
    gone = Unknown(unknown=f"{picture}: {name}: docker knows no such image: Error: No such image: {picture}")
    found = server_image(
        name=picture,
        libnccl=(nccl("2.28.9", f"{home}/libnccl.so.2"),),
        environment={"NCCL_HOSTID": words["rack"], "NCCL_IB_HCA": "mlx5_9"},
        nccl_conf=(ConfFile(path=f"/home/{words['home']}/.nccl.conf", values={"NCCL_PROTO": "LL"}),),
    )
    facts: dict[str, Any] = {
        "target": target,
        "image": found if read else gone,
        "gpus": (set_facts(node.gpus[0], {"tenants": (tenant,)}),),
        "lldp": (LldpNeighbour(netdev="enp1s0f0np0", chassis=words["switch"], port=f"to-{words['rack']}",
                               system=f"{words['switch']}.{words['domain']}.example"),),
    }  # fmt: skip
    fabric = changed(fabric, name, "node", **facts)
    environment = {
        "NCCL_HOSTID": words["rack"],
        "NCCL_TOPO_FILE": f"{home}/t.xml",
        "NCCL_COMM_ID": f"{words['host']}:5",
    }
    fabric = changed(fabric, name, "host", hostname=f"{words['hostname']}.{words['domain']}.example",
                     environment=environment)  # fmt: skip
    first = node.netdevs[1].name
    fabric = changed(fabric, name, "netdev", first, altnames=(words["alt"],), persistence=f"{profile} holds 10.1.1.1")
    pieces = re.split(r"[/:@]", picture) + ([] if "folder" in shape else re.split(r"[/:@]", target))
    there = f"{words['user']}@{words['lost']}"
    lost = FailedNode(
        name=words["lost"], target=there, id="ssh-failed", message=f"{there}.{words['domain']}.example: refused",
        fix=f"ssh {there}; docker pull {picture}; look at {', '.join(pieces)}",
    )  # fmt: skip
    selectors = Selectors(master="10.9.8.7", rails=((f"{name}/enp1s0f0np0",),), nodes=(NodeSelectors(node=name),))
    quoted = Finding(
        id="dump-not-recognised", severity="info", subject=f"{words['folder']}/{name}-{words['file']}.txt",
        evidence=(
            Evidence(file=f"{words['folder']}/{name}-{words['file']}.txt", line=3, text=f"pw {words['file']}"),
            Evidence(file=name, text=f"{name}/enp1s0f0np0 in {picture} of {words['tenant']}"),
        ),
    )  # fmt: skip
    judged = fabric.model_copy(update={"failed": (lost,), "selectors": selectors})
    return judged.model_copy(update={"findings": (*check_fabric(judged), quoted)})


def secrets_of(fabric: Fabric, words: dict[str, str]) -> set[str]:
    """The invented words that are in the document, its MACs, GUIDs and addresses."""
    text = fabric.model_dump_json(by_alias=True)
    found = {word for word in words.values() if word in text}
    found |= set(re.findall(r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b", text)) - {"00:00:00:00:00:00"}
    found |= {one for one in re.findall(r"(?<![\w:])(?:[0-9a-f]{4}:){3}[0-9a-f]{4}(?![\w:])", text) if one.strip("0:")}
    addresses = set(re.findall(r"\b\d{1,3}(?:\.\d{1,3}){3}\b", text))
    return found | {
        one for one in addresses if ipaddress.ip_address(one).is_private and not one.startswith(("127", "0."))
    }


def ids(fabric: Fabric) -> list[tuple[str, str]]:
    return sorted((one.id, one.severity) for one in fabric.findings)


distinct = st.lists(SECRET, min_size=len(WORDS), max_size=len(WORDS), unique=True)


@pytest.mark.long
@settings(max_examples=12, deadline=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow])
@given(distinct, st.sampled_from(SHAPES), st.sampled_from(IMAGES), st.booleans(), st.booleans())
def test_no_name_survives_and_findings_stay(
    secrets: list[str], shape: str, image: str, crossed: bool, read: bool
) -> None:
    words = dict(zip(WORDS, secrets, strict=True))
    fabric = full(words, shape, image, spark_crossed() if crossed else spark_twin_bare(), read=read)
    told = secrets_of(fabric, words)
    assert {words["name"], words["image"], words["tenant"]} <= told
    hidden = anonymized(fabric)
    text = hidden.model_dump_json(by_alias=True)
    assert [word for word in told if re.search(rf"(?<![\d.]){re.escape(word)}(?![\d.])", text)] == []
    assert ids(hidden) == ids(fabric)
    again = sorted((one.id, one.severity) for one in check_fabric(hidden))
    assert again == sorted((one.id, one.severity) for one in check_fabric(fabric))


@pytest.mark.long
@pytest.mark.parametrize(("shape", "image"), [(shape, IMAGES[at % len(IMAGES)]) for at, shape in enumerate(SHAPES)])
def test_every_form_of_target_and_image(shape: str, image: str) -> None:
    words = {word: f"zq{word}{at:02}" for at, word in enumerate(WORDS)}
    fabric = full(words, shape, image, spark_crossed(), read=True)
    text = anonymized(fabric).model_dump_json(by_alias=True)
    assert re.findall(r".{0,60}zq\w+.{0,20}", text) == []


def words_and_fabric() -> tuple[dict[str, str], Fabric]:
    words = {word: f"zq{word}{at:02}" for at, word in enumerate(WORDS)}
    return words, full(words, SHAPES[5], IMAGES[0], spark_crossed(), read=True)


def test_what_a_reader_needs_stays() -> None:
    words, fabric = words_and_fabric()
    hidden = anonymized(fabric)
    node = hidden.nodes[0]
    assert node.target.startswith("k8s:target-")
    text = hidden.model_dump_json(by_alias=True)
    for word in ("mlx5_9", "2.28.9", "libnccl.so.2", "enp1s0f0np0", "python", "NCCL_PROTO", "docker pull image-"):
        assert word in text
    assert hidden.selectors is not None
    assert hidden.selectors.nodes[0].node == node.name
    assert hidden.selectors.rails == ((f"{node.name}/enp1s0f0np0",),)
    assert not isinstance(node.image, Unknown)
    assert [one for one in hidden.findings if f"(image {node.image.name})" in one.subject]
    assert words["name"] not in text


def test_a_quoted_line_keeps_its_place_alone() -> None:
    _words, fabric = words_and_fabric()
    (quoted,) = [one for one in anonymized(fabric).findings if one.id == "dump-not-recognised"]
    first, second = quoted.evidence
    assert (first.file, first.line, first.text) == ("file-1", 3, LEFT_OUT)
    assert quoted.subject == "file-1"
    assert second.file == anonymized(fabric).nodes[0].name or second.file.startswith("node-")


def test_common_names_stay() -> None:
    fabric = spark_crossed()
    assert isinstance(fabric.nodes[0].gpus, tuple)
    gpu: Gpu = set_facts(fabric.nodes[0].gpus[0], {"tenants": (Tenant(pid=1, name="python3", container=None),)})
    made = changed(changed(fabric, "spark-a", "node", gpus=(gpu,), target="local"), "spark-b", "node", target="root@x9")
    hidden = anonymized(made)
    assert hidden.nodes[0].target == "local"
    assert isinstance(hidden.nodes[0].gpus, tuple)
    assert hidden.nodes[0].gpus[0].tenants == gpu.tenants


LISTED = (
    "ring", "twins", "straight", "beacon", "ping", "cable", "ipv4", "global", "error", "warning", "info", "docker",
    "none", "ACTIVE", "LinkUp", "certain", "merging", "RS", "off", "full", "nvidia", "fabric", "mlx5_core", "PIX",
    "uverbs0", "port", "all-ports", "dscp",
)  # fmt: skip


@pytest.mark.parametrize("name", LISTED)
def test_a_node_called_like_a_word_of_a_list_leaves_the_list_alone(name: str) -> None:
    text = spark_crossed().model_dump_json(by_alias=True).replace('"spark-a"', f'"{name}"')
    fabric = Fabric.model_validate_json(text)
    fabric = fabric.model_copy(update={"findings": check_fabric(fabric)})
    hidden = anonymized(fabric)
    assert hidden.nodes[0].name == "node-1"
    assert ids(hidden) == ids(fabric)
    assert sorted((one.id, one.severity) for one in check_fabric(hidden)) == ids(fabric)
