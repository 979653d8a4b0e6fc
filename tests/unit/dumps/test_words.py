"""Names and ids by numbered words: whole fields by their meaning, names in text as words."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.dumps.words import Words

pytestmark = pytest.mark.unit


def document(*nodes: tuple[str, str, str], failed: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "nodes": [{"name": name, "target": target, "host": {"hostname": host}} for name, target, host in nodes],
        "failed": [{"name": name, "target": name} for name in failed],
    }


def test_a_name_is_one_word_everywhere() -> None:
    words = Words(document(("spark", "spark", "spark")))
    assert words.name("spark") == "node-1"
    assert words.names("spark: no route to spark-2, spark/p0") == "node-1: no route to spark-2, node-1/p0"


def test_targets_hosts_and_users() -> None:
    words = Words(document(("a1", "alice@box.lab:22", "box.lab"), failed=("b1",)))
    said = words.names("alice@box.lab:22 box.lab box alice b1 root")
    assert said == "target-1 host-1 host-2 user-1 node-2 root"


def test_the_host_of_a_target_is_a_name_too() -> None:
    words = Words(document(("n", "bob@gx10.lab:22", "h"), ("m", "bob@10.0.0.5", "k")))
    assert "gx10" not in words.names("ssh: connect to host gx10.lab port 22")
    assert words.names("10.0.0.5") == "10.0.0.5"


def test_local_and_common_users_stay() -> None:
    words = Words(document(("local", "local", "h"), ("n", "root@n", "h")))
    assert words.name("local") == "local"
    assert words.names("run as root") == "run as root"


def test_ids_keep_their_form_and_their_equality() -> None:
    words = Words(document())
    uuid = "01234567-89ab-cdef-0123-456789abcdef"
    text = words.ids(f"{uuid} and {uuid} and {'a' * 32}")
    first, _, second, _, third = text.split(" ")
    assert first == second != uuid
    assert [len(part) for part in first.split("-")] == [8, 4, 4, 4, 12]
    assert len(third) == 32
    assert third != "a" * 32


def test_whole_fields() -> None:
    words = Words(document(("n", "t", "h")))
    assert words.exact({"name": "n", "target": "t"}, "") == {"name": "node-1", "target": "target-1"}
    assert words.exact({"name": "p0", "mac": "x"}, "netdevs") == {}
    assert words.exact({"node": "n"}, "a") == {"node": "node-1"}
    assert words.exact({"machine_id": "m", "boot_id": {"unknown": "x"}}, "host") == {"machine_id": "id-1"}
    assert words.exact({"pid": 1, "container": "acme"}, "tenants") == {"container": "container-1"}
    assert words.exact({"NCCL_HOSTID": "rack7"}, "environment") == {"NCCL_HOSTID": "hostid-1"}
    assert words.exact({"altnames": ["enp1s0f0np0", "bob"]}, "") == {"altnames": ["enp1s0f0np0", "alt-1"]}
    gpu = words.exact({"uuid": "GPU-01234567-89ab-cdef-0123-456789abcdef"}, "gpus")["uuid"]
    assert gpu.startswith("GPU-")
    assert "01234567" not in gpu


def test_homes() -> None:
    words = Words(document())
    assert words.homes("/home/alice/x:/home/bob/y /home/alice") == "/home/user-1/x:/home/user-2/y /home/user-1"


def test_a_word_that_is_a_name_already_is_not_given() -> None:
    words = Words(document(("node-2", "node-2", "x"), ("node-1", "node-1", "y")))
    assert {words.name("node-1"), words.name("node-2")} & {"node-1", "node-2"} == set()


def test_a_long_name_is_found_beside_dashes_a_short_one_is_not() -> None:
    words = Words(document(("spark-one", "spark-one", "x"), ("al", "al", "y")))
    assert words.names("spark-one_ibv.txt 2-of-2-spark-one.json xspark-one spark-ones al-x al_x al") == (
        "node-1_ibv.txt 2-of-2-node-1.json xspark-one spark-ones al-x al_x node-2"
    )


def test_targets_keep_their_scheme_and_lose_what_is_in_it() -> None:
    words = Words(document(("n1", "k8s:prod-ns/vllm-pod:engine", "h1"), ("n2", "docker:gx10box/serving", "h2")))
    assert (words.name("k8s:prod-ns/vllm-pod:engine"), words.name("docker:gx10box/serving")) == (
        "k8s:target-1",
        "docker:target-2",
    )
    said = words.names("kubectl exec --namespace=prod-ns vllm-pod: no engine; gx10box: no such container: serving")
    assert not {"prod-ns", "vllm-pod", "engine", "gx10box", "serving"} & set(said.replace("=", " ").split())
    assert "prod-ns" not in said and "vllm-pod" not in said


def test_images_and_their_parts() -> None:
    image = {"name": "reg.acme.com:5000/ml/serve:prod-7", "id": "ab" * 32}
    words = Words({"nodes": [{"name": "n", "target": "local", "host": {}, "image": image}], "failed": []})
    assert words.exact(image, "image")["name"] == "image-1"
    said = words.names(f"reg.acme.com:5000/ml/serve:prod-7 ({'ab' * 6}) from reg.acme.com: ml/serve has no prod-7")
    assert said.startswith("image-1 (")
    for secret in ("acme", "serve", "prod-7", "ab" * 6):
        assert secret not in said


def test_what_has_the_form_of_a_name() -> None:
    words = Words(document())
    assert words.names("ssh eve@gx77.lab: refused; eve@10.0.0.1 and root@gx77.lab:22") == (
        "ssh user-1@host-1: refused; user-1@10.0.0.1 and root@host-1:22"
    )
    assert words.names("pull registry.acme.io/ml/x:1 failed") == "pull image-1 failed"
    assert words.names("/etc/nccl.conf libnccl.so.2 net.ipv4.conf.all.rp_filter 0000:01:00.0") == (
        "/etc/nccl.conf libnccl.so.2 net.ipv4.conf.all.rp_filter 0000:01:00.0"
    )


def test_files_of_network_settings() -> None:
    words = Words(document())
    profiles = "/etc/NetworkManager/system-connections"
    said = words.homes(f"/etc/netplan/40-acme.yaml holds 10.0.0.1; {profiles}/Acme Office.nmconnection names it")
    assert said == f"/etc/netplan/settings-1.yaml holds 10.0.0.1; {profiles}/settings-2.nmconnection names it"
    assert words.homes("/etc/network/interfaces.d/acme names it") == "/etc/network/interfaces.d/settings-3 names it"
    nothing = "not found in /etc/netplan, /etc/systemd/network"
    assert words.homes(nothing) == nothing


def test_a_file_of_a_dump_is_a_number() -> None:
    words = Words(document())
    assert [words.file(name) for name in ("t/a.txt", "t/b.txt", "t/a.txt")] == ["file-1", "file-2", "file-1"]
