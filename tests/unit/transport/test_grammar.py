"""Targets that a scheduler or a runtime holds: every form is read as written, and no word of one can be an option."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import UsageError
from fabricdoc.transport.grammar import GRAMMAR, Target, parse_target

pytestmark = pytest.mark.unit

LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
PODS = st.from_regex(r"[a-z0-9][a-z0-9.-]{0,60}", fullmatch=True)
CONTAINERS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,40}", fullmatch=True)
HOSTS = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,40}", fullmatch=True).filter(lambda host: host != "local")
SCHEMES = ("slurm", "k8s", "docker", "podman")


@given(st.none() | LABELS, PODS, st.none() | LABELS)
def test_every_pod_is_read_as_written(namespace: str | None, pod: str, container: str | None) -> None:
    text = "k8s:" + (f"{namespace}/" if namespace else "") + pod + (f":{container}" if container else "")
    assert parse_target(text) == Target("k8s", namespace=namespace or "", pod=pod, container=container or "")


@given(st.sampled_from(["docker", "podman"]), HOSTS, st.integers(1, 65535), CONTAINERS)
def test_every_container_is_read_as_written(scheme: str, host: str, port: int, container: str) -> None:
    assert parse_target(f"{scheme}:{container}").container == container
    where = parse_target(f"{scheme}:me@{host}:{port}/{container}")
    assert (where.kind, where.user, where.host, where.port, where.container) == (scheme, "me", host, port, container)


@given(HOSTS)
def test_every_node_of_slurm_is_read_as_written(host: str) -> None:
    assert parse_target(f"slurm:{host}") == Target("slurm", host=host)


@given(st.sampled_from(SCHEMES), st.text(max_size=60))
def test_any_text_after_a_scheme_is_a_target_without_options_or_a_usage_error(scheme: str, text: str) -> None:
    try:
        where = parse_target(f"{scheme}:{text}")
    except UsageError as error:
        assert "\n" not in error.message
    else:
        assert where.kind == scheme
        for word in (where.host, where.user, where.namespace, where.pod, where.container):
            assert not word.startswith("-")
            assert word.isprintable()
            assert " " not in word


def test_the_grammar_names_every_scheme() -> None:
    assert all(f"{scheme}:" in GRAMMAR for scheme in (*SCHEMES, "netns"))
    with pytest.raises(UsageError) as caught:
        parse_target("ho st")
    assert caught.value.fix == GRAMMAR
