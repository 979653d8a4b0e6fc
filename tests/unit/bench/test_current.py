"""The user's current settings: where they are named, what is taken over, what must not run."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.bench.current import (
    CurrentSource,
    current_candidate,
    left_out,
    parse_current,
    read_file,
    refused,
    remarks,
)
from fabricdoc.errors import InputError, UsageError

pytestmark = pytest.mark.unit

FILE = CurrentSource("file", "serve.env")


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("serve.env", CurrentSource("file", "serve.env")),
        ("/etc/vllm.env", CurrentSource("file", "/etc/vllm.env")),
        ("odd:name.env", CurrentSource("file", "odd:name.env")),
        ("pid:4711", CurrentSource("pid", "4711")),
        ("container:vllm-head", CurrentSource("container", "vllm-head")),
        ("pid:alpha=12,beta=34", CurrentSource("pid", nodes={"alpha": "12", "beta": "34"})),
        ("container:alpha=head,beta=worker", CurrentSource("container", nodes={"alpha": "head", "beta": "worker"})),
    ],
)
def test_where_current_settings_are(text: str, source: CurrentSource) -> None:
    assert parse_current(text) == source
    assert str(source) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no file, pid or container"),
        ("a\0b", "no file, pid or container"),
        ("pid:", "no process number"),
        ("pid:0", "no process number"),
        ("pid:-1", "no process number"),
        ("pid:self", "no process number"),
        ("pid:99999999", "no process number"),
        ("pid:٣", "no process number"),
        ("container:", "no name or id of a container"),
        ("container:../etc", "no name or id of a container"),
        ("container:a b", "no name or id of a container"),
        ("pid:alpha=12,alpha=13", "each node is named once"),
        ("pid:=12", "each node is named once"),
        ("pid:alpha=x", "no process number"),
    ],
)
def test_what_names_nothing_is_refused_with_the_forms(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_current(text)
    assert said in caught.value.message
    assert "pid:4711" in caught.value.fix


def test_of_names_each_nodes_own() -> None:
    assert parse_current("pid:alpha=12").of("alpha") == "12"
    assert parse_current("pid:alpha=12").of("beta") is None
    assert parse_current("pid:7").of("anything") == "7"


def test_only_communication_variables_of_a_file_are_taken(tmp_path: Path) -> None:
    file = tmp_path / "serve.env"
    file.write_text("# ours\nexport NCCL_IB_HCA==mlx5_0\nHF_TOKEN=secret\nGLOO_SOCKET_IFNAME=eth0\n\nnonsense\n")
    assert read_file(file).values == {"NCCL_IB_HCA": "=mlx5_0", "GLOO_SOCKET_IFNAME": "eth0"}


@pytest.mark.parametrize("content", [b"", b"# only words\n", b"HF_TOKEN=x\n", b"\xff\xfe\x00"])
def test_a_file_without_any_is_an_input_error(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "x.env"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_file(file)
    assert "x.env" in caught.value.message
    assert caught.value.fix


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        read_file(tmp_path / "absent.env")


def test_equal_values_are_common_and_others_stay_with_their_node() -> None:
    current = current_candidate(
        CurrentSource("pid", "7"),
        {
            "alpha": {"NCCL_PROTO": "Simple", "NCCL_IB_HCA": "=mlx5_0"},
            "beta": {"NCCL_PROTO": "Simple", "NCCL_IB_HCA": "=mlx5_1"},
        },
    )
    assert current.variables == {"NCCL_PROTO": "Simple"}
    assert current.node_variables == {"alpha": {"NCCL_IB_HCA": "=mlx5_0"}, "beta": {"NCCL_IB_HCA": "=mlx5_1"}}
    assert (current.role, current.on_base, current.set_name) == ("current", False, "current")
    assert current.why == "as in pid:7"
    assert refused(current, ["alpha", "beta"]) is None


def test_what_the_bench_decides_itself_is_not_taken_over() -> None:
    nodes = {"alpha": {"NCCL_DEBUG": "TRACE", "NCCL_DEBUG_FILE": "/x", "NCCL_COMM_ID": "a:1", "NCCL_PROTO": "LL"}}
    assert current_candidate(FILE, nodes).variables == {"NCCL_PROTO": "LL"}
    assert left_out(nodes) == ("NCCL_COMM_ID", "NCCL_DEBUG", "NCCL_DEBUG_FILE")


def test_a_preloaded_library_needs_an_agent_of_its_own() -> None:
    assert current_candidate(FILE, {"alpha": {"LD_PRELOAD": "/opt/libnccl.so.2"}}).fresh_agent
    assert not current_candidate(FILE, {"alpha": {"NCCL_PROTO": "LL"}}).fresh_agent


@pytest.mark.parametrize(
    ("alpha", "beta", "said"),
    [
        ({"NCCL_PROTO": "LL"}, {"NCCL_PROTO": "Simple"}, "NCCL_PROTO must be equal on all ranks, and is LL on alpha"),
        ({"NCCL_ALGO": "Ring"}, {}, "NCCL_ALGO must be equal on all ranks, and is Ring on alpha, (unset) on beta"),
        ({"NCCL_PROTO": "LL128"}, {"NCCL_PROTO": "LL128"}, "forces LL128"),
        ({"NCCL_IB_HCA": '"mlx5_0"'}, {}, "quote"),
    ],
)
def test_what_must_not_be_run_is_left_out_with_the_reason(
    alpha: dict[str, str], beta: dict[str, str], said: str
) -> None:
    nodes = {"alpha": alpha, "beta": beta}
    left = refused(current_candidate(FILE, nodes), list(nodes))
    assert left is not None
    assert said in left.reason
    assert left.name == "current"


def test_what_has_no_effect_is_told() -> None:
    current = current_candidate(FILE, {"a": {"NCCL_EXCLUDE_IB_HCA": "x", "NCCL_LL_THRESHOLD": "0", "NCCL_PROTO": "LL"}})
    said = remarks(current, ["2.28.9"])
    assert said[0].startswith("NCCL_EXCLUDE_IB_HCA is no variable NCCL knows")
    assert said[1].startswith("NCCL 2.28.9 does not read NCCL_LL_THRESHOLD any more")
    assert len(said) == 2


NAMES = st.sampled_from(["NCCL_PROTO", "NCCL_IB_HCA", "NCCL_DEBUG", "GLOO_SOCKET_IFNAME", "NCCL_MAX_CTAS"])
VALUES = st.text(st.characters(codec="ascii", exclude_categories=("Cc",)), max_size=4)


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), st.dictionaries(NAMES, VALUES), min_size=1))
def test_every_node_gets_back_exactly_what_was_read_there(nodes: dict[str, dict[str, str]]) -> None:
    current = current_candidate(FILE, nodes)
    for node, values in nodes.items():
        given_back = current.variables | current.node_variables.get(node, {})
        assert given_back == {name: value for name, value in values.items() if name != "NCCL_DEBUG"}


@given(st.text(max_size=60))
def test_no_text_is_anything_but_a_source_or_refused(text: str) -> None:
    try:
        source = parse_current(text)
    except UsageError:
        return
    assert source.kind in ("file", "pid", "container")
