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
