"""The images of the nodes held against one another."""

from __future__ import annotations

import pytest

from fabricdoc.checks import check_fabric
from fabricdoc.checks.builds import check_builds
from fabricdoc.checks.image_pairs import check_image_pairs
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Fabric, Library
from tests.fabrics.altering import changed
from tests.fabrics.images import ID, IMAGE, nccl, with_images
from tests.fabrics.spark import spark_straight, spark_switch
from tests.unit.checks.between import ids

pytestmark = pytest.mark.unit

OTHER = "b2" * 32


def four(**facts: object) -> Fabric:
    """Four nodes of one image, but spark-c's has these facts."""
    return with_images(with_images(spark_switch()), "spark-c", **facts)


def test_the_node_with_another_image_is_named_with_what_differs_inside() -> None:
    (found,) = check_image_pairs(four(id=OTHER, torch="2.9.0", python="3.11.1"))
    assert ids([found]) == [("server-image-differs", "warning", "spark-c")]
    assert [(piece.file, piece.text) for piece in found.evidence] == [
        ("spark-a", f"image: {IMAGE} (a1a1a1a1a1a1), as on 3 of 4"),
        ("spark-c", f"image: {IMAGE} (b2b2b2b2b2b2)"),
        ("spark-c", "what differs inside: python, torch"),
    ]
    assert found.fix[0].startswith(f"on spark-c: docker pull {IMAGE}")


def test_two_ids_of_one_content_are_information() -> None:
    (found,) = check_image_pairs(four(id=OTHER))
    assert ids([found]) == [("server-image-differs", "info", "spark-c")]
    assert found.evidence[-1].text == "what differs inside: nothing that was read"


def test_of_two_nodes_neither_is_odd() -> None:
    found = check_image_pairs(with_images(with_images(), "spark-b", id=OTHER, name="other:1", torch="1"))
    assert ids(found) == [("server-image-differs", "warning", "spark-a, spark-b")]
    assert "other:1 (b2b2b2b2b2b2)" in found[0].evidence[1].text


@pytest.mark.parametrize(
    "fabric",
    [
        with_images(),
        with_images(node="spark-a"),
        spark_straight(),
        with_images(with_images(), "spark-b", name="the-same-by-another-name"),
        with_images(with_images(), "spark-b", id=Unknown(unknown="x"), torch="1"),
        changed(with_images(with_images(), "spark-b", id=OTHER, torch="1"), "spark-b", "host", arch="x86_64"),
    ],
)
def test_one_image_unknown_ids_and_other_architectures_are_no_difference(fabric: Fabric) -> None:
    assert check_image_pairs(fabric) == ()


def test_nccl_builds_of_images_count_before_the_hosts() -> None:
    (found,) = check_builds(four(id=OTHER, libnccl=(nccl("2.28.9", "/opt/libnccl.so.2"),)))
    assert ids([found]) == [("nccl-version-mismatch", "error", "spark-c")]
    assert [(piece.file, piece.text) for piece in found.evidence] == [
        ("spark-a", f"image {IMAGE}: NCCL (libnccl.so.2): 2.30.4, as on 3 of 4"),
        ("spark-c", f"image {IMAGE}: NCCL (libnccl.so.2): 2.28.9"),
    ]
    hosts = changed(spark_straight(), "spark-a", "host", libnccl=(nccl("2.29.1"),))
    assert {one.id for one in check_builds(hosts)} == {"nccl-version-mismatch"}
    assert check_builds(with_images(hosts)) == ()


def test_an_image_against_a_host_is_a_warning_only() -> None:
    hosts = changed(spark_straight(), "*", "host", libnccl=(nccl("2.29.1"),))
    (found,) = check_builds(with_images(hosts, "spark-b"))
    assert ids([found]) == [("nccl-version-mismatch", "warning", "spark-a, spark-b")]
    assert [piece.text.startswith("image ") for piece in found.evidence] == [False, True]


def test_an_image_that_was_not_read_has_no_vote() -> None:
    hosts = changed(spark_straight(), "*", "host", libnccl=(nccl("2.29.1"),))
    assert check_builds(changed(with_images(hosts), "spark-b", "node", image=Unknown(unknown="x"))) == ()


def test_one_version_in_two_builds_of_images() -> None:
    other = Library(path="/x/libnccl.so.2", version="2.30.4", sha256="5" * 64)
    (found,) = check_builds(four(libnccl=(other,)))
    assert ids([found]) == [("nccl-build-differs", "warning", "spark-c")]


def test_a_plugin_in_one_image_only() -> None:
    plugin = (Library(path="/opt/hpcx/libnccl-net.so"),)
    (found,) = check_builds(four(nccl_plugins=plugin))
    assert ids([found]) == [("net-plugin-mismatch-between-nodes", "error", "spark-c")]
    assert check_builds(with_images(spark_switch(), nccl_plugins=plugin)) == ()


def test_variables_of_images_that_must_be_equal() -> None:
    fabric = with_images(spark_switch(), environment={"NCCL_ALGO": "Ring"})
    (found,) = check_image_pairs(with_images(fabric, "spark-c", environment={"NCCL_ALGO": "Tree"}))
    assert ids([found]) == [("env-differs-between-ranks", "warning", "spark-c")]
    assert all(piece.text.startswith(f"image {IMAGE}: NCCL_ALGO") for piece in found.evidence)
    assert check_image_pairs(fabric) == ()
    assert check_image_pairs(with_images(fabric, "spark-c", environment={"NCCL_ALGO": "Ring", "NCCL_DEBUG": "A"})) == ()


def test_they_are_among_all_checks() -> None:
    assert "server-image-differs" in {one.id for one in check_fabric(four(id=OTHER))}
    assert ID != OTHER
