"""What ranks must agree on is in the part that all nodes share: in every format that has one, read by its reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.errors import UsageError
from fabricdoc.export import FORMATS, choose_part, format_named, left_out, render, write_all
from fabricdoc.export.content import Content
from fabricdoc.nccl import catalogue, must_agree
from tests.unit.export.presets_made import HEAD, WORKER, node, pair, preset
from tests.unit.export.test_round_trip import READERS

pytestmark = pytest.mark.unit

AGREE = {name: "1" for name in sorted(catalogue()) if name.startswith("NCCL_") and must_agree(name)}
AGREE.pop("NCCL_NET")
APART = ("NCCL_IB_HCA", "NCCL_SOCKET_IFNAME")
BOTH = pair(AGREE)
SHARED = {"NCCL_NET": "IB", **AGREE}
SEPARATE = [one for one in FORMATS if format_named(one).with_common]
COMMON_ALONE = [one for one in FORMATS if format_named(one).scope == "common"]
PER_NODE = [one for one in FORMATS if format_named(one).scope != "common" and one in READERS]
SHOW_FEW = ("mpirun-wrapper", "ray-start", "vllm", "sglang", "trtllm")
"""Scripts whose stand-ins show three names of their own alone: what they hand on is read in writers/."""


def cases(formats: list[str]) -> list[tuple[str, str]]:
    return [(fmt, reader) for fmt in formats for reader in READERS[fmt]]


def test_what_must_agree_is_what_nccl_is_known_to_need_alike() -> None:
    assert {"NCCL_ALGO", "NCCL_PROTO", "NCCL_BUFFSIZE", "NCCL_MIN_CTAS", "NCCL_MAX_CTAS", "NCCL_NTHREADS"} <= set(AGREE)
    assert not {*APART, "NCCL_IB_GID_INDEX"} & set(AGREE)
    assert {line.name for line in Content(BOTH, BOTH.nodes).common} == set(SHARED)
    assert Content(BOTH, BOTH.nodes).differing == APART


@pytest.mark.parametrize(("fmt", "reader"), cases(SEPARATE))
def test_the_common_part_holds_all_of_it_and_no_nodes_own(fmt: str, reader: str, tmp_path: Path) -> None:
    part = choose_part(BOTH, "common", "elsewhere", "fabricdoc export-env", fmt)
    assert READERS[fmt][reader](render(BOTH, part, fmt), tmp_path) == SHARED


@pytest.mark.parametrize("fmt", SEPARATE)
def test_the_file_beside_the_nodes_is_that_part(fmt: str, tmp_path: Path) -> None:
    write_all(BOTH, tmp_path, fmt, env={})
    part = choose_part(BOTH, "common", "elsewhere", "fabricdoc export-env", fmt)
    assert (tmp_path / f"common{format_named(fmt).file}").read_text() == render(BOTH, part, fmt)


@pytest.mark.long
@pytest.mark.parametrize(("fmt", "reader"), cases(COMMON_ALONE))
def test_formats_of_one_value_for_all_hold_all_of_it_and_say_what_they_lack(
    fmt: str, reader: str, tmp_path: Path
) -> None:
    agree = dict(list(AGREE.items())[:3]) if fmt == "eugr" else AGREE  # its reader starts python for every value
    both = pair(agree)
    read = READERS[fmt][reader](render(both, None, fmt), tmp_path)
    assert {name: read.get(name) for name in agree} == agree
    assert not set(APART) & set(read)
    assert left_out(both, None, fmt).startswith(f"{fmt} holds no {', '.join(APART)}: ")


@pytest.mark.long
@pytest.mark.parametrize(("fmt", "reader"), cases([one for one in PER_NODE if one not in SHOW_FEW]))
def test_a_nodes_own_text_is_whole_without_that_part(fmt: str, reader: str, tmp_path: Path) -> None:
    few = dict(list(AGREE.items())[:60])  # Slurm reads 4 KiB of a prolog
    one = node("alpha", {**HEAD, **few})
    both = preset(one, node("beta", {**WORKER, **few}))
    assert READERS[fmt][reader](render(both, one, fmt), tmp_path) == {**HEAD, **few}


@pytest.mark.parametrize("fmt", SHOW_FEW)
def test_scripts_export_it_on_every_node_alike(fmt: str) -> None:
    texts = [render(BOTH, one, fmt) for one in BOTH.nodes]
    for name in AGREE:
        assert {text.count(f"export {name}='1'") for text in texts} <= {1, 2}, name


@pytest.mark.parametrize("fmt", [one for one in FORMATS if one not in {*SEPARATE, *COMMON_ALONE}])
def test_scripts_of_a_node_and_texts_of_all_have_no_such_part(fmt: str) -> None:
    with pytest.raises(UsageError, match="no part that all nodes share"):
        choose_part(BOTH, "common", "elsewhere", "fabricdoc export-env", fmt)


def test_a_node_that_is_called_so_is_that_node() -> None:
    named = preset(node("common", HEAD), node("other", WORKER))
    assert choose_part(named, "common", "elsewhere", "fabricdoc export-env", "env") is named.nodes[0]
    with pytest.raises(UsageError, match="has no node"):
        choose_part(preset(), "common", "elsewhere", "fabricdoc export-env", "env")
