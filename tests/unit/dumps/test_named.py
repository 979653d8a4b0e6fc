"""Which names a document holds, and of what kind."""

from __future__ import annotations

import pytest

from fabricdoc.dumps.named import image_of, named, parts_of_host, parts_of_image, parts_of_target

pytestmark = pytest.mark.unit


def kept(found: object) -> list[tuple[str, str]]:
    """Without those that are nothing."""
    return [(kind, name) for kind, name in found if name]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("local", [("host", "local")]),
        ("gx10", [("host", "gx10")]),
        ("alice@gx10.lab.acme.com:2222", [
            ("user", "alice"), ("host", "gx10.lab.acme.com"), ("host", "gx10"), ("domain", "lab.acme.com"),
        ]),
        ("root@gx10.lan", [("host", "gx10.lan"), ("host", "gx10")]),
        ("bob@10.0.0.5:22", [("user", "bob")]),
        ("10.0.0.5", []),
        ("[fe80::1%eth0]:22", []),
        ("mpirun:gpu7.acme.net", [("host", "gpu7.acme.net"), ("host", "gpu7"), ("domain", "acme.net")]),
        ("netns:4711", []),
        ("netns:/run/netns/acme-ns", [("namespace", "acme-ns")]),
        ("slurm:acme-gpu-01", [("host", "acme-gpu-01")]),
        ("k8s:llm-prod/vllm-0:engine", [("namespace", "llm-prod"), ("pod", "vllm-0"), ("container", "engine")]),
        ("k8s:vllm-0", [("pod", "vllm-0")]),
        ("docker:serving", [("container", "serving")]),
        ("podman:eve@box.acme.net/serving", [
            ("user", "eve"), ("host", "box.acme.net"), ("host", "box"), ("domain", "acme.net"),
            ("container", "serving"),
        ]),
        ("docker:box/serving", [("host", "box"), ("container", "serving")]),
        ("docker:10.0.0.5:2222/serving", [("container", "serving")]),
        ("ticket/spark-a/all.txt", []),
        ("", []),
    ],
)  # fmt: skip
def test_what_is_inside_a_target(target: str, expected: list[tuple[str, str]]) -> None:
    assert kept(parts_of_target(target)) == expected


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("vllm/vllm-openai:v0.20", [("image", "vllm/vllm-openai"), ("image", "vllm"), ("image", "vllm-openai")]),
        ("reg.acme.com:5000/ml/serve:prod-7", [
            ("image", "reg.acme.com:5000/ml/serve"), ("registry", "reg.acme.com:5000"), ("registry", "reg.acme.com"),
            ("image", "ml"), ("image", "serve"), ("tag", "prod-7"),
        ]),
        ("10.0.0.5:5000/x1:latest", [
            ("image", "10.0.0.5:5000/x1"), ("registry", "10.0.0.5:5000"), ("image", "x1"),
        ]),
        ("serve", [("image", "serve"), ("image", "serve")]),
        ("localhost/mine:2.1", [("image", "localhost/mine"), ("image", "mine")]),
        (f"a.b/c@sha256:{'0' * 64}", [("image", "a.b/c"), ("registry", "a.b"), ("registry", "a.b"), ("image", "c")]),
        ("", []),
    ],
)  # fmt: skip
def test_what_is_inside_an_image_name(image: str, expected: list[tuple[str, str]]) -> None:
    assert kept(parts_of_image(image)) == expected


def test_what_is_inside_a_host_name() -> None:
    assert kept(parts_of_host("a1.lab.acme.com")) == [("host", "a1"), ("domain", "lab.acme.com")]
    assert kept(parts_of_host("a1.lan")) == [("host", "a1")]
    assert kept(parts_of_host("a1")) == kept(parts_of_host("10.0.0.1")) == []


def test_an_image_that_was_not_read_has_its_name_in_the_reason() -> None:
    assert image_of({"image": {"unknown": "a/b:1: spark: docker knows no such image"}}) == "a/b:1"
    assert image_of({"image": {"unknown": "not read"}}) == image_of({}) == image_of({"image": None}) == ""
    assert image_of({"image": {"name": "c/d:2"}}) == "c/d:2"


def test_what_a_node_holds_beside() -> None:
    node = {
        "name": "n1",
        "target": "local",
        "host": {"hostname": "h1", "environment": {"NCCL_HOSTID": "rack7", "NCCL_TOPO_FILE": "/home/zoe/t.xml"}},
        "gpus": [
            {"tenants": [{"pid": 1, "name": "acme-serve", "container": "c1"}, {"pid": 2, "name": "python3"}]},
            {"tenants": {"unknown": "x"}},
        ],
        "netdevs": [{"altnames": ["enp1s0f0np0", "bobs-port"]}],
        "lldp": [
            {"system": "leaf1.acme.com", "chassis": "00:11:22:33:44:55", "port": "Ethernet1/1"},
            {"system": "", "chassis": "leaf2", "port": "to-rack-9", "port_description": "acme uplink"},
        ],
    }
    found = kept(named({"nodes": [node], "failed": [{"name": "n2", "target": "eve@n2", "message": "/home/kim/x"}]}))
    assert set(found) == {
        ("node", "n1"), ("node", "n2"), ("target", "local"), ("target", "eve@n2"), ("host", "h1"), ("host", "local"),
        ("user", "eve"), ("host", "n2"), ("container", "c1"), ("program", "acme-serve"), ("alt", "bobs-port"),
        ("switch", "leaf1.acme.com"), ("host", "leaf1"), ("domain", "acme.com"), ("switch", "leaf2"),
        ("port", "to-rack-9"), ("port", "acme uplink"), ("hostid", "rack7"), ("user", "zoe"), ("user", "kim"),
    }  # fmt: skip
    assert kept(named({"nodes": [{"gpus": {"unknown": "x"}, "netdevs": [], "host": {}}], "failed": []})) == []
