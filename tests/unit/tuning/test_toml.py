"""Any preset comes back equal from its file; any other file is one line that names the place."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import tomlkit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabricdoc.errors import InputError
from fabricdoc.model.documents import Unknown
from fabricdoc.model.preset import Fingerprint, Latency, Line, NodePreset, NodePrint, PortPrint, Preset
from fabricdoc.model.verdict import Interval
from fabricdoc.tuning import preset_to_toml, read_preset
from tests.unit.export.presets_made import pair

pytestmark = pytest.mark.unit

words = st.text(max_size=30)
unknown = st.builds(Unknown, unknown=words)
facts = words | unknown
numbers = st.integers(-(2**63), 2**63 - 1) | unknown
some = {"max_size": 3}
ratios = st.floats(1e-6, 1e6)
effects = st.builds(Interval, ratio=ratios, low=ratios, high=ratios, blocks=st.integers(0, 99))
lines = st.builds(
    Line, name=words, value=words, kind=st.sampled_from(["placed", "measured", "diagnostic"]), evidence=words,
    effect=st.none() | effects, launches=st.integers(0, 999),
)  # fmt: skip
nodes = st.builds(
    NodePreset, name=words, target=words, lines=st.lists(lines, unique_by=lambda line: line.name, **some).map(tuple),
    inherited=st.dictionaries(words, words, max_size=2),
)  # fmt: skip
ports = st.builds(PortPrint, netdev=words, hca=words | st.none(), mac=facts, mtu=numbers, speed_mbps=numbers,
                  addresses=st.lists(words, **some).map(tuple), peer=words)  # fmt: skip
prints = st.builds(NodePrint, name=words, hostname=facts, kernel=facts, torch=facts, nccl=facts, nvidia_driver=facts,
                   gpus=st.lists(words, **some).map(tuple), ports=st.lists(ports, **some).map(tuple))  # fmt: skip
micros = st.floats(0, 1e12, exclude_min=True)
latencies = st.builds(
    Latency, view=st.sampled_from(["graph", "eager"]), op=st.just("all_reduce"), size=st.integers(1, 2**40),
    dtype=st.just("bfloat16"), in_place=st.booleans(), low_us=micros, median_us=micros, high_us=micros,
    launches=st.integers(1, 99),
)  # fmt: skip
presets = st.builds(
    Preset, name=words, run=words, backend=st.sampled_from(["gloo", "nccl"]), objective=words, profile=words,
    choice=words, reason=words, exercised=words, not_exercised=st.lists(words, **some).map(tuple),
    nodes=st.lists(nodes, unique_by=lambda node: node.name, **some).map(tuple), created=words, fabricdoc=words,
    schema_=st.just("fabricdoc/preset/1"),
    fingerprint=st.builds(Fingerprint, nodes=st.lists(prints, **some).map(tuple)),
    ranks_per_node=st.integers(1, 16), latencies=st.lists(latencies, **some).map(tuple),
)  # fmt: skip

SMALL = Preset(
    name="p", run="run-1", backend="gloo", objective="mix", profile="q", choice="one", reason="Use one.",
    exercised="gloo",
    nodes=(NodePreset(name="alpha", target="netns:1", lines=(
        Line(name="NCCL_NET", value="IB", kind="placed", evidence="the rails that were proven"),
        Line(name="NCCL_ALGO", value="ring;allreduce:tree", kind="measured", evidence="18 % faster"))),),
    fingerprint=Fingerprint(nodes=(NodePrint(
        name="alpha", hostname="h", kernel="6.1", torch="2.13", nccl={"unknown": "gloo"},
        nvidia_driver={"unknown": "no"}, ports=(PortPrint(
            netdev="eth0", hca=None, mac="02:00:00:00:00:01", mtu=9000, speed_mbps={"unknown": "veth"}),)),)),
)  # fmt: skip


@pytest.mark.long
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(preset=presets)
def test_any_preset_comes_back_equal(tmp_path: Path, preset: Preset) -> None:
    path = tmp_path / "preset.toml"
    path.write_text(preset_to_toml(preset), encoding="utf-8")
    assert read_preset(path) == preset


@pytest.mark.long
@settings(deadline=None, max_examples=40)
@given(preset=presets)
def test_another_reader_of_toml_sees_the_same(preset: Preset) -> None:
    text = preset_to_toml(preset)
    assert tomlkit.parse(text).unwrap() == tomllib.loads(text)


@settings(deadline=None)
@given(st.lists(lines, min_size=1, max_size=3, unique_by=lambda line: line.name))
def test_evidence_stands_above_each_variable_and_never_on_its_line(some_lines: list[Line]) -> None:
    preset = SMALL.model_copy(update={"nodes": (NodePreset(name="a", target="a", lines=tuple(some_lines)),)})
    text = preset_to_toml(preset)
    for chunk, line in zip(text.split("\n[[nodes.lines]]\n")[1:], some_lines, strict=True):
        comments = [row for row in chunk.split("\n") if row.startswith("#")]
        assert chunk.startswith(f"# {line.kind}:")
        told = " ".join(row[2:] for row in comments).split()
        plain = "".join(letter if letter.isprintable() else " " for letter in line.evidence).split()
        assert "".join(told) == f"{line.kind}:" + "".join(plain)


def test_the_file_reads_well() -> None:
    text = preset_to_toml(SMALL)
    assert text.startswith("# Preset p: Use one.\n")
    assert '[[nodes.lines]]\n# measured: 18 % faster\nname = "NCCL_ALGO"\nvalue = "ring;allreduce:tree"\n' in text
    assert "hca" not in text
    assert text.endswith("\n") and not text.endswith("\n\n")
    assert max(map(len, text.split("\n"))) < 120


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        (
            'schema = "fabricdoc/preset/1"',
            'schema = "fabricdoc/preset/2"',
            "its schema is fabricdoc/preset/2, and .* reads fabricdoc/preset/1",
        ),
        ('schema = "fabricdoc/preset/1"', 'schema = "fabricdoc/preset/0"', "schema is 'fabricdoc/preset/0', wanted"),
        ('schema = "fabricdoc/preset/1"', 'schema = "fabricdoc/run/1"', "schema is 'fabricdoc/run/1', wanted"),
        ('schema = "fabricdoc/preset/1"\n', "", "it has no schema"),
        (
            'kind = "placed"',
            'kind = "plcaed"',
            r"nodes\[0\]\.lines\[0\]\.kind: Input should be 'placed', 'measured' or 'diagnostic'",
        ),
        ('value = "IB"', "value = 3", r"nodes\[0\]\.lines\[0\]\.value: "),
        ('value = "IB"\n', "", r"nodes\[0\]\.lines\[0\]\.value: Field required"),
        ('value = "IB"', 'value = "IB"\nvalu = "x"', r"nodes\[0\]\.lines\[0\]\.valu: Extra inputs"),
        ('value = "IB"', 'value = "IB', "Illegal character .* line 28"),
        ('value = "IB"', 'value = "IB"\nvalue = "IB"', "Cannot overwrite a value"),
        ('name = "NCCL_NET"', 'name = "NCCL_ALGO"', "variable 'NCCL_ALGO' of node 'alpha' is there twice"),
        ("[[nodes]]", '[[nodes]]\nname = "alpha"\ntarget = "x"\n\n[[nodes]]', "node 'alpha' is there twice"),
        ("mtu = 9000", 'mtu = "large"', r"fingerprint\.nodes\[0\]\.ports\[0\]\.mtu"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, old: str, new: str, place: str) -> None:
    text = preset_to_toml(SMALL)
    assert old in text
    path = tmp_path / "preset.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=place) as caught:
        read_preset(path)
    assert str(path) in caught.value.message
    assert caught.value.fix
    assert "\n" not in caught.value.message


def test_unreadable_files_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    for path, why in ((tmp_path / "no.toml", "No such file"), (tmp_path, "Is a directory"),
                      (tmp_path / "bytes.toml", "not UTF-8")):  # fmt: skip
        with pytest.raises(InputError, match=why):
            read_preset(path)


@pytest.mark.long
@given(st.dictionaries(st.sampled_from(["schema", "nodes", "fingerprint", "name"]),
    st.recursive(st.integers() | st.text(max_size=4), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["nodes", "ports", "lines", "name"]), inner, max_size=3), max_leaves=8)))  # fmt: skip
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_any_other_toml_is_an_input_error(tmp_path: Path, content: dict[str, object]) -> None:
    path = tmp_path / "other.toml"
    path.write_text(tomlkit.dumps(content), encoding="utf-8")
    with pytest.raises(InputError):
        read_preset(path)


def test_placed_lines_tell_no_launches() -> None:
    assert "launches" not in preset_to_toml(pair())


def test_the_head_says_what_all_nodes_share_and_what_is_each_ones_own() -> None:
    text = preset_to_toml(pair())
    assert "# Common to all nodes: NCCL_NET" in text
    line = next(line for line in text.splitlines() if line.startswith("# Common to all nodes: "))
    common, own = line.split(". Per node: ")
    assert "NCCL_IB_HCA" in own
    assert "NCCL_IB_HCA" not in common
    alone = preset_to_toml(pair().model_copy(update={"nodes": ()}))
    assert "# Common to all nodes: nothing. Per node: nothing." in alone
