"""Files of candidates: what is right is read, what is wrong is refused with the file and the place."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.bench.candidate_files import MAX_FILE, read_candidate_file
from fabricdoc.bench.offers import Offer, When
from fabricdoc.errors import ExitStatus, InputError
from fabricdoc.nccl import catalogue, parse_conditions, parse_release, reject_unsafe

pytestmark = pytest.mark.unit

GOOD = """
backend = "nccl"
summary = "mine"

[[candidate]]
name = "one"
why = "because"
source = "measured here"
targets = ["protocol", "channels"]
[candidate.when]
nccl = ">=2.24"
rails = 2
[candidate.variables]
NCCL_PROTO = "Simple"
NCCL_MAX_CTAS = 2

[[candidate]]
name = "two"
[candidate.variables]
NCCL_IB_TC = "106"
"""


def read(folder: Path, text: str | bytes, name: str = "my.toml") -> tuple[str, tuple[Offer, ...]]:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_candidate_file(file, name)


def refusal(folder: Path, text: str | bytes) -> str:
    with pytest.raises(InputError) as caught:
        read(folder, text)
    assert caught.value.status is ExitStatus.USAGE
    assert caught.value.message.startswith("my.toml")
    return f"{caught.value.message} {caught.value.fix}"


def test_a_good_file(tmp_path: Path) -> None:
    backend, (one, two) = read(tmp_path, GOOD)
    assert backend == "nccl"
    assert one == Offer(
        name="one",
        why="because",
        source="measured here",
        targets=("protocol", "channels"),
        when=When(nccl=">=2.24", rails=2),
        variables={"NCCL_PROTO": "Simple", "NCCL_MAX_CTAS": "2"},
        set_name="my",
        place="my.toml line 5, candidate 1 ('one')",
    )
    assert (two.role, two.on_base, two.targets, two.when) == ("candidate", True, ("none",), When())


def test_the_bare_default_stands_alone(tmp_path: Path) -> None:
    _, (bare,) = read(tmp_path, 'backend = "any"\n[[candidate]]\nname = "default"\n')
    assert (bare.name, bare.role, bare.on_base, bare.variables) == ("default", "default", False, {})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('backend = "nccl"', 'backend = "mpi"', "backend must be nccl, gloo or any"),
        ('backend = "nccl"', "", "backend must be nccl, gloo or any"),
        ('summary = "mine"', 'sumary = "mine"', "unknown key 'sumary'"),
        ('name = "one"', "", "line 5, candidate 1 ('no name'): name must be"),
        ('name = "one"', 'name = "One Two"', "name must be"),
        ('name = "one"', "name = 1", "name must be"),
        ('name = "one"', 'name = "two"', "line 18, candidate 2 ('two'): the name is used twice"),
        ('name = "one"', 'name = "base"', "'base' is a name the bench uses itself"),
        ('name = "one"', 'name = "current"', "'current' is a name the bench uses itself"),
        ('name = "one"', 'name = "default"', "default is the bare library"),
        ('why = "because"', 'wy = "because"', "line 7, candidate 1 ('one'): unknown key 'wy'"),
        ('why = "because"', "why = 1", "why: Input should be a valid string"),
        ('["protocol", "channels"]', '["protocols"]', "targets.0: Input should be 'network'"),
        ("rails = 2", 'rails = "many"', "line 12, candidate 1 ('one'): when.rails: Input should be a valid integer"),
        ("rails = 2", 'network = "tcp"', "when.network: Input should be '', 'ib' or 'socket'"),
        ("rails = 2", 'gpu_direct = "yes"', "when.gpu_direct: Input should be"),
        ("rails = 2", "rail = 2", "when.rail: Extra inputs are not permitted"),
        ("rails = 2", "risk = 1", "when.risk: Extra inputs are not permitted"),
        ('">=2.24"', '"2.24 or newer"', "nccl must be conditions"),
        (
            'NCCL_PROTO = "Simple"',
            'NCCL_PROTOCOL = "Simple"',
            "no variable NCCL_PROTOCOL is known did you mean NCCL_PROTO",
        ),
        ('NCCL_PROTO = "Simple"', 'HF_TOKEN = "x"', "no variable HF_TOKEN is known"),
        (
            'NCCL_PROTO = "Simple"',
            'NCCL_PROTO = "LL128"',
            "line 14, candidate 1 ('one'): NCCL_PROTO=LL128 forces LL128",
        ),
        ('NCCL_PROTO = "Simple"', 'NCCL_PROTO = "^LL"', "forces LL128"),
        ('NCCL_PROTO = "Simple"', 'NCCL_ALGO = "Tree"', 'write "ring;allreduce:tree"'),
        ('NCCL_PROTO = "Simple"', 'NCCL_PROTO = "Simple "', "blank"),
        ('NCCL_PROTO = "Simple"', 'NCCL_PROTO = "Simple\\n"', "line break"),
        ('NCCL_PROTO = "Simple"', "NCCL_PROTO = 1.5", "NCCL_PROTO must be text or a whole number"),
        ('NCCL_PROTO = "Simple"', "NCCL_PROTO = true", "NCCL_PROTO must be text or a whole number"),
        ('NCCL_IB_TC = "106"', "", "candidate 2 ('two'): it sets no variables"),
        ('backend = "nccl"', 'backend = "nccl', "line 2"),
    ],
)
def test_what_is_wrong_is_refused_with_the_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert GOOD.count(old) == 1
    assert said in refusal(tmp_path, GOOD.replace(old, new))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"\xff\xfe", "UTF-8"),
        ("x" * (MAX_FILE + 1), f"longer than {MAX_FILE} bytes"),
        ("a = " + "[" * 5000, "my.toml: "),
        ('backend = "nccl"\ncandidate = 3\n', "[[candidate]]"),
        ('backend = "nccl"\ncandidate = [1, 2]\n', "[[candidate]]"),
        ('backend = "nccl"\n[[candidate]]\nname = "a"\nvariables = 3\n', "variables must be a table"),
        ('backend = ["nccl"]\n', "backend must be"),
    ],
)
def test_what_is_no_such_file_at_all(tmp_path: Path, text: str | bytes, said: str) -> None:
    assert said in refusal(tmp_path, text)


def test_a_pipe_or_a_missing_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "loop.toml").symlink_to(tmp_path / "loop.toml")
    for name, said in {
        "pipe.toml": "is a pipe or a device",
        "missing.toml": "No such file or directory",
        ".": "Is a directory",
        "loop.toml": "Too many levels of symbolic links",
    }.items():
        with pytest.raises(InputError, match=said) as caught:
            read_candidate_file(tmp_path / name, name)
        assert caught.value.fix


SHIPPED = sorted(
    entry.name for entry in files("fabricdoc.presets").joinpath("candidates").iterdir() if entry.name.endswith(".toml")
)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_shipped_sets_are_right(name: str) -> None:
    backend, offers = read_candidate_file(files("fabricdoc.presets").joinpath("candidates", name), name)
    assert backend in ("nccl", "gloo", "any")
    for offer in offers:
        assert offer.why and offer.source, offer.name
        assert reject_unsafe(offer.variables) is None
        assert offer.variables.keys() <= catalogue().keys()
        assert all(catalogue()[variable].status not in ("removed", "deprecated") for variable in offer.variables)
        if any(":" in value or ";" in value for value in offer.variables.values()):
            assert offer.when.nccl == ">=2.24", "the per-function form"
        assert not offer.when.nccl or parse_conditions(offer.when.nccl)


@pytest.mark.parametrize("name", SHIPPED)
def test_no_shipped_set_asks_for_a_variable_before_its_release(name: str) -> None:
    """`when.nccl` lets no NCCL through that does not read the set's variables yet, as far as the catalogue knows."""
    _, offers = read_candidate_file(files("fabricdoc.presets").joinpath("candidates", name), name)
    for offer in offers:
        first = max((parse_release(catalogue()[one].since) or (2, 17, 0) for one in offer.variables), default=(0, 0, 0))
        allowed = parse_conditions(offer.when.nccl) if offer.when.nccl else ()
        lowest = max((bound for sign, bound in allowed or () if sign == ">="), default=(2, 17, 0))
        assert first <= max(lowest, (2, 17, 0)), f"{offer.name}: needs {first}, lets {lowest} through"


@pytest.mark.parametrize("name", SHIPPED)
def test_no_shipped_value_is_one_the_catalogue_does_not_accept(name: str) -> None:
    _, offers = read_candidate_file(files("fabricdoc.presets").joinpath("candidates", name), name)
    for offer in offers:
        for variable, value in offer.variables.items():
            accepted = catalogue()[variable].accepted
            if accepted.replace("|", "").isdigit():
                assert value in accepted.split("|"), f"{offer.name}: {variable}={value}, accepted {accepted}"


NODES = """
backend = "nccl"
[[candidate]]
name = "own"
[candidate.variables]
NCCL_IB_TC = "106"
[candidate.nodes.alpha]
NCCL_IB_HCA = "=mlx5_0"
{alpha}
[candidate.nodes.beta]
NCCL_IB_HCA = "=mlx5_1"
{beta}
"""


def test_values_of_single_nodes(tmp_path: Path) -> None:
    _, (own,) = read(tmp_path, NODES.format(alpha="", beta=""))
    assert own.variables == {"NCCL_IB_TC": "106"}
    assert own.node_variables == {"alpha": {"NCCL_IB_HCA": "=mlx5_0"}, "beta": {"NCCL_IB_HCA": "=mlx5_1"}}


@pytest.mark.parametrize(
    ("alpha", "beta", "said"),
    [
        ('NCCL_PROTO = "LL"', 'NCCL_PROTO = "Simple"', "line 9, candidate 1 ('own'): NCCL_PROTO must be equal on all"),
        ('NCCL_MAX_CTAS = "4"', "", "NCCL_MAX_CTAS must be equal on all ranks, and is 4 on alpha, (unset) on beta"),
        ('NCCL_PROTOO = "LL"', "", "line 9, candidate 1 ('own'): no variable NCCL_PROTOO is known"),
    ],
)
def test_values_of_single_nodes_that_must_agree(tmp_path: Path, alpha: str, beta: str, said: str) -> None:
    assert said in refusal(tmp_path, NODES.format(alpha=alpha, beta=beta))


def test_nodes_must_be_tables(tmp_path: Path) -> None:
    assert "nodes must be tables" in refusal(tmp_path, 'backend = "nccl"\n[[candidate]]\nname = "a"\nnodes = 3\n')


def test_what_is_read_at_load_needs_an_agent_of_its_own(tmp_path: Path) -> None:
    text = GOOD.replace('NCCL_IB_TC = "106"', 'LD_PRELOAD = "/opt/nccl/libnccl.so.2"')
    one, two = read(tmp_path, text)[1]
    assert (one.fresh_agent, two.fresh_agent) == (False, True)


def test_a_file_that_plans_a_month_is_refused(tmp_path: Path) -> None:
    one = '[[candidate]]\nname = "c{0}"\n[candidate.variables]\nNCCL_IB_TC = "{0}"\n'
    text = 'backend = "nccl"\n' + "".join(one.format(number) for number in range(201))
    assert "201 candidates; at most 200" in refusal(tmp_path, text)


@pytest.mark.long
@given(st.text(max_size=200))
def test_no_text_ends_in_anything_but_offers_or_an_input_error(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    try:
        read(folder, text.encode("utf-8", "surrogatepass"))
    except InputError as error:
        assert error.message.startswith("my.toml")
