"""NCCL's versions, builds and plugins held against one another."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks.builds import check_builds
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Container, Fabric, Library, Node
from tests.unit.checks.between import ids, nodes_with, of_host, with_host

pytestmark = pytest.mark.unit

HIDDEN = Unknown(unknown="no")
PATH = "/usr/lib/libnccl.so.2"


def nccl(*versions: Any, sha: Any = "a" * 64) -> tuple[Library, ...]:
    return tuple(Library(path=f"{PATH}.{k}", version=version, sha256=sha) for k, version in enumerate(versions))


def versions(*values: Any) -> Fabric:
    return of_host("libnccl", *(nccl(value) for value in values))


def plugins(*values: tuple[str, ...]) -> Fabric:
    made = (tuple(Library(path=f"/opt/hpcx/{name}") for name in names) for names in values)
    return of_host("nccl_plugins", *made)


def test_the_node_with_another_nccl_is_named() -> None:
    (found,) = check_builds(versions("2.30.7+cuda13.3", "2.28.9+cuda13.0", "2.30.7+cuda13.3"))
    assert ids([found]) == [("nccl-version-mismatch", "warning", "beta")]
    assert [(piece.file, piece.text) for piece in found.evidence] == [
        ("alpha", "NCCL (libnccl.so.2): 2.30.7+cuda13.3, as on 2 of 3"),
        ("beta", "NCCL (libnccl.so.2): 2.28.9+cuda13.0"),
    ]
    assert found.fix[0] == f"on beta: install NCCL 2.30.7+cuda13.3 in place of {PATH}.0"
    assert found.confidence == "likely"


def test_of_two_nodes_neither_is_odd() -> None:
    (found,) = check_builds(versions("2.30.7", "2.28.9"))
    assert ids([found]) == [("nccl-version-mismatch", "warning", "alpha, beta")]
    assert [piece.file for piece in found.evidence] == ["alpha", "beta"]


def test_inside_images_it_is_the_servers_own_library_and_an_error() -> None:
    def inside(name: str, version: str) -> Node:
        made = with_host(name, libnccl=nccl(version))
        return made.model_copy(update={"container": Container(kind="docker")})

    found = check_builds(nodes_with(["2.30.7", "2.28.9"], inside))
    assert [(one.id, one.severity, one.confidence) for one in found] == [("nccl-version-mismatch", "error", "certain")]


def test_which_of_two_libraries_comes_first_matters() -> None:
    fabric = of_host("libnccl", nccl("2.30.7", "2.28.9"), nccl("2.28.9", "2.30.7"), nccl("2.30.7", "2.28.9"))
    assert ids(check_builds(fabric)) == [("nccl-version-mismatch", "warning", "beta")]


@pytest.mark.parametrize(
    "fabric",
    [
        versions("2.30.7", "2.30.7"),
        versions("2.30.7"),
        versions("2.30.7", HIDDEN),
        of_host("libnccl", nccl("2.30.7"), ()),
        of_host("libnccl", nccl("2.30.7"), HIDDEN),
        of_host("libnccl", nccl("2.30.7"), nccl("2.30.7", "2.30.7")),
    ],
)
def test_alike_alone_absent_or_unknown_is_no_difference(fabric: Fabric) -> None:
    assert check_builds(fabric) == ()


def test_one_version_in_two_builds_is_told() -> None:
    fabric = of_host("libnccl", *(nccl("2.28.9", sha=digit * 64) for digit in "aab"))
    (found,) = check_builds(fabric)
    assert ids([found]) == [("nccl-build-differs", "warning", "gamma")]
    assert found.evidence[1].text == "SHA-256 of libnccl.so.2: bbbbbbbbbbbb"


def test_builds_of_two_architectures_or_versions_are_not_compared() -> None:
    mixed = nodes_with(["x86_64", "aarch64"], lambda name, arch: with_host(name, arch=arch, libnccl=_own(name)))
    assert check_builds(mixed) == ()
    found = check_builds(of_host("libnccl", nccl("2.28.9", sha="a" * 64), nccl("2.30.7", sha="b" * 64)))
    assert [one.id for one in found] == ["nccl-version-mismatch"]
    assert check_builds(of_host("libnccl", nccl("2.28.9"), nccl("2.28.9", sha=HIDDEN))) == ()


def _own(name: str) -> tuple[Library, ...]:
    return nccl("2.28.9", sha=name[0] * 64)


def test_a_plugin_on_some_nodes_only_is_told() -> None:
    (found,) = check_builds(plugins(("libnccl-net.so",), ("libnccl-net.so",), ()))
    assert ids([found]) == [("net-plugin-mismatch-between-nodes", "warning", "gamma")]
    assert found.evidence[1].text == "network plugins of NCCL: none"
    assert "or on every rank: export NCCL_NET_PLUGIN=none" in found.fix


def test_plugins_of_other_kinds_and_nodes_where_a_variable_rules_have_no_vote() -> None:
    assert check_builds(plugins(("libnccl-tuner.so",), ())) == ()
    ruled = of_host("nccl_plugins", (Library(path="/x/libnccl-net.so"),), (), environment={"NCCL_NET_PLUGIN": "none"})
    assert check_builds(ruled) == ()
    assert check_builds(of_host("nccl_plugins", (Library(path="/x/libnccl-net.so"),), HIDDEN)) == ()


@pytest.mark.parametrize("arch", ["aarch64", HIDDEN])
def test_builds_are_compared_among_nodes_of_one_known_architecture(arch: Any) -> None:
    files = (nccl("2.28.9", sha="a" * 64), nccl("2.28.9", sha="b" * 64))
    found = check_builds(of_host("libnccl", *files, arch=arch))
    assert [one.id for one in found] == ([] if isinstance(arch, Unknown) else ["nccl-build-differs"])


def test_a_second_library_without_a_hash_hides_whether_builds_differ() -> None:
    half = (*nccl("2.28.9", sha="b" * 64), *nccl("2.28.9", sha=HIDDEN))
    assert check_builds(of_host("libnccl", nccl("2.28.9", sha="a" * 64), half)) == ()


def test_the_libraries_in_the_way_are_named_up_to_four() -> None:
    many = nccl(*(["2.28.9"] * 6))
    found = check_builds(of_host("libnccl", nccl("2.30.7"), many, nccl("2.30.7")))
    assert found[0].fix[0] == f"on beta: install NCCL 2.30.7 in place of {', '.join(f'{PATH}.{k}' for k in range(4))}"


def test_who_should_have_no_plugin_is_told_so() -> None:
    (found,) = check_builds(plugins((), (), ("libnccl-net.so", "libnccl-net-ofi.so")))
    assert found.fix[0] == "put on gamma what the others have (no plugin)"
    assert found.evidence[1].text == "network plugins of NCCL: libnccl-net-ofi.so, libnccl-net.so"


def test_one_plugin_found_in_two_places_is_one() -> None:
    twice = (Library(path="/opt/a/libnccl-net.so"), Library(path="/opt/b/libnccl-net.so"))
    assert check_builds(of_host("nccl_plugins", twice, twice[:1])) == ()


def test_libraries_of_unknown_version_are_no_version() -> None:
    assert check_builds(of_host("libnccl", nccl(HIDDEN, "2.30.7"), nccl("2.30.7"))) == ()
