from __future__ import annotations

import string
from ipaddress import IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import UsageError
from fabricdoc.transport.config import Config
from fabricdoc.transport.grammar import Target, parse_target
from fabricdoc.transport.nodes import (
    NAME_LIMIT,
    NodeSpec,
    check_name,
    check_unique,
    default_name,
    parse_node,
    parse_nodes,
)

pytestmark = pytest.mark.unit

FIRST = string.ascii_letters + string.digits + "_"
NAMES = st.builds(str.__add__, st.sampled_from(FIRST), st.text(FIRST + ".-", max_size=NAME_LIMIT - 1))
HOSTS = NAMES.filter(lambda host: host != "local")
USERS = st.builds(str.__add__, st.sampled_from(FIRST), st.text(FIRST + ".+-", max_size=20))
PORTS = st.integers(1, 65535)
SCHEMES = ("slurm", "k8s", "docker", "podman", "netns")
V6 = st.integers(0, 2**128 - 1).map(lambda number: str(IPv6Address(number)))


@st.composite
def ssh_targets(draw: st.DrawFn) -> tuple[str, Target]:
    """A target's text and what it must be read as."""
    user = draw(st.one_of(st.just(""), USERS))
    port = draw(st.one_of(st.just(0), PORTS))
    bracketed = draw(st.booleans())
    host = draw(V6) if bracketed else draw(HOSTS)
    text = f"[{host}]" if bracketed else host
    text = (f"{user}@" if user else "") + text + (f":{port}" if port else "")
    return text, Target("ssh", host, user, port)


@given(ssh_targets())
def test_every_ssh_target_is_read_as_written(case: tuple[str, Target]) -> None:
    text, wanted = case
    if text.partition(":")[0] in SCHEMES:
        return
    assert parse_target(text) == wanted


@given(NAMES, ssh_targets())
def test_a_name_in_front_keeps_the_target(name: str, case: tuple[str, Target]) -> None:
    node = parse_node(f"{name}={case[0]}") if case[0].partition(":")[0] not in SCHEMES else None
    assert node is None or (node.name, node.where) == (name, case[1])


@given(st.text(max_size=80))
def test_any_text_is_a_node_or_a_usage_error(text: str) -> None:
    try:
        node = parse_node(text)
    except UsageError as error:
        assert "\n" not in error.message
    else:
        check_name(node.name)
        assert not node.where.host.startswith("-")
        assert not node.where.user.startswith("-")


@given(st.lists(st.tuples(NAMES, HOSTS), min_size=1, max_size=8, unique_by=lambda pair: pair[0]))
def test_comma_lists_and_repeated_options_mean_the_same(pairs: list[tuple[str, str]]) -> None:
    items = [f"{name}={host}" for name, host in pairs]
    assert parse_nodes([",".join(items)], Config()) == parse_nodes(items, Config())
    assert [node.name for node in parse_nodes(items, Config())] == [name for name, _ in pairs]


@pytest.mark.parametrize(
    ("text", "name", "target"),
    [
        ("local", "local", Target("local")),
        ("here=local", "here", Target("local")),
        ("netns:4711", "netns-4711", Target("netns", pid=4711)),
        ("alpha=netns:4711", "alpha", Target("netns", pid=4711)),
        ("netns:/run/netns/beta", "netns-beta", Target("netns", path="/run/netns/beta")),
        ("netns:/odd=name", "netns-odd-name", Target("netns", path="/odd=name")),
        ("spark-1", "spark-1", Target("ssh", "spark-1")),
        ("me@spark-1.lan:2222", "spark-1.lan", Target("ssh", "spark-1.lan", "me", 2222)),
        ("[fe80::1%enp1s0]:22", "fe80--1-enp1s0", Target("ssh", "fe80::1%enp1s0", port=22)),
        ("b=root@[::1]", "b", Target("ssh", "::1", "root")),
        ("10.0.0.1", "10.0.0.1", Target("ssh", "10.0.0.1")),
        ("localhost", "localhost", Target("ssh", "localhost")),
        ("slurm:node01", "node01", Target("slurm", "node01")),
        ("k8s:vllm-0", "vllm-0", Target("k8s", pod="vllm-0")),
        ("k8s:ml/vllm.a:main", "vllm.a", Target("k8s", namespace="ml", pod="vllm.a", container="main")),
        ("docker:vllm_1", "vllm_1", Target("docker", container="vllm_1")),
        ("docker:local/vllm", "vllm", Target("docker", container="vllm")),
        ("podman:me@h:22/vllm", "h-vllm", Target("podman", "h", "me", 22, container="vllm")),
        ("docker:[::1]/c", "ip6--1-c", Target("docker", "::1", container="c")),
        ("docker=docker-host", "docker", Target("ssh", "docker-host")),
    ],
)
def test_the_forms_of_a_node(text: str, name: str, target: Target) -> None:
    node = parse_node(text)
    assert (node.name, node.where) == (name, target)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("-oProxyCommand", "can't start with '-'"),
        ("-oProxyCommand=x", "can't be a node's name"),
        ("me@-host", "can't read"),
        ("-me@host", "can't start with '-'"),
        ("a=-host", "can't start with '-'"),
        ("-a=host", "can't be a node's name"),
        (".a=host", "can't be a node's name"),
        ("a b=host", "can't be a node's name"),
        ("é=host", "can't be a node's name"),
        ("=host", "can't be a node's name"),
        ("a=", "empty"),
        ("a" * 64 + "=host", "64 characters"),
        ("a" * 64, "no usable name"),
        ("fe80::1", "brackets"),
        ("[fe80::zz]", "can't read"),
        ("[1:2]", "not an IPv6 address"),
        ("host:0", "not between"),
        ("host:65536", "not between"),
        ("host:", "can't read"),
        ("host:ssh", "can't read"),
        ("ho st", "can't read"),
        ("host\n", "can't read"),
        ("host;id", "can't read"),
        ("ssh://host", "can't read"),
        ("netns:", "process id"),
        ("netns:0", "process id"),
        ("netns:-1", "process id"),
        ("netns:relative", "process id"),
        ("netns:/a\nb", "process id"),
        ("slurm:", "name of a node of the allocation"),
        ("slurm:-N2", "name of a node of the allocation"),
        ("slurm:a b", "name of a node of the allocation"),
        ("k8s:", "NAMESPACE/"),
        ("k8s:-pod", "NAMESPACE/"),
        ("k8s:Pod", "NAMESPACE/"),
        ("k8s:a/b/c", "NAMESPACE/"),
        ("k8s:pod:", "NAMESPACE/"),
        ("k8s:pod:-c", "NAMESPACE/"),
        ("k8s:" + "p" * 254, "NAMESPACE/"),
        ("docker:", "NODE/"),
        ("docker:/c", "NODE/"),
        ("docker:--privileged", "NODE/"),
        ("podman:h/", "NODE/"),
        ("docker:-h/c", "can't start with '-'"),
        ("docker:netns:7/c", "NODE/"),
        ("docker:" + "c" * 64, "no usable name"),
    ],
)
def test_what_is_no_node_is_refused_with_the_reason(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_node(text)


def test_without_items_the_file_counts_and_without_a_file_this_machine() -> None:
    nodes = (NodeSpec("alpha", "spark-1"), NodeSpec("beta", "spark-2"))
    assert parse_nodes([], Config(nodes)) == nodes
    assert parse_nodes([], Config()) == (NodeSpec("local", "local"),)


def test_an_item_that_names_a_node_of_the_file_means_that_node() -> None:
    alpha = NodeSpec("alpha", "spark-1", python="/opt/python", ssh_config="/cfg")
    config = Config((alpha,), ssh_config="/cfg")
    assert parse_nodes(["alpha,new=spark-9"], config) == (alpha, NodeSpec("new", "spark-9", ssh_config="/cfg"))
    assert parse_nodes(["alpha=other"], config) == (NodeSpec("alpha", "other", ssh_config="/cfg"),)


@pytest.mark.parametrize("items", [["a=h1,a=h2"], ["h1", "h1"], ["local", "local"]])
def test_a_name_used_twice_is_refused(items: list[str]) -> None:
    with pytest.raises(UsageError, match="two nodes are named") as caught:
        parse_nodes(items, Config())
    assert "NAME=TARGET" in caught.value.fix


def test_an_empty_part_of_a_list_is_refused() -> None:
    with pytest.raises(UsageError, match="empty"):
        parse_nodes(["a,,b"], Config())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"role": "boss"}, "head or worker"),
        ({"user": "a b"}, "user's name"),
        ({"user": "-l"}, "user's name"),
        ({"user": "you", "target": "me@h"}, "contradicts"),
        ({"user": "you", "target": "local"}, "only for nodes reached by ssh"),
        ({"user": "you", "target": "slurm:a"}, "only for nodes reached by ssh"),
        ({"user": "you", "target": "docker:a"}, "only for nodes reached by ssh"),
        ({"image": "i", "target": "docker:a"}, "container already"),
        ({"container": "c", "target": "k8s:a"}, "container already"),
        ({"python": "-c"}, "starts with '-'"),
        ({"python": ""}, "python is empty"),
        ({"python": "py\n"}, "control character"),
        ({"image": "-v"}, "starts with '-'"),
        ({"ports": ("a\n",)}, "control character"),
        ({"ports": ("",)}, "empty"),
        ({"env": {"1A": ""}}, "can't be the name"),
        ({"env": {"A=B": ""}}, "can't be the name"),
        ({"env": {"A": "x\ny"}}, "control character"),
    ],
)
def test_a_record_can_not_be_made_invalid(fields: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        NodeSpec(**{"name": "n", "target": "h", **fields})  # type: ignore[arg-type]


def test_the_user_of_the_record_counts_when_the_target_has_none() -> None:
    assert NodeSpec("n", "h:22", user="you").where == Target("ssh", "h", "you", 22)
    assert NodeSpec("n", "docker:h/c", user="you").where == Target("docker", "h", "you", container="c")
    assert NodeSpec("n", "you@h", user="you").where == Target("ssh", "h", "you")


def test_nodes_are_values() -> None:
    assert hash(NodeSpec("a", "h", env={"A": "1"})) == hash(NodeSpec("a", "h", env={"A": "1"}))
    assert default_name("netns:7") == "netns-7"
    assert default_name("[::1]:1") == "ip6--1"
    assert default_name("[2001:db8::1]") == "2001-db8--1"
    check_unique([NodeSpec("a", "h"), NodeSpec("b", "h")])
