"""Which libraries and variables count: the image's, unless there is none."""

from __future__ import annotations

import gc
import weakref

import pytest

from fabricdoc.checks.served import images_of, naming_images, software
from fabricdoc.checks.variables import variable
from fabricdoc.model.documents import NOT_READ, Unknown
from fabricdoc.model.fabric import ConfFile
from fabricdoc.model.findings import Evidence, Finding
from tests.fabrics.altering import changed
from tests.fabrics.images import IMAGE, nccl, server_image, with_images
from tests.fabrics.spark import spark_straight

pytestmark = pytest.mark.unit


def test_without_an_image_it_is_the_node_itself() -> None:
    node = spark_straight().nodes[0]
    assert software(node).node is node
    assert software(node).where == "on spark-a"
    assert [piece.text for piece in software(node).seen("x")] == ["x"]


def test_an_image_s_libraries_stand_before_the_host_s() -> None:
    place = software(with_images(libnccl=(nccl("2.30.4"),)).nodes[0])
    assert place.node.host.libnccl == (nccl("2.30.4"),)
    assert place.node.host.libibverbs == server_image().libibverbs
    assert place.node.host.memlock == spark_straight().nodes[0].host.memlock
    assert place.where == f"in image {IMAGE}"
    assert [(piece.file, piece.text) for piece in place.seen("x")] == [("spark-a", f"image {IMAGE}"), ("spark-a", "x")]


def test_an_image_s_variables_win_over_its_files_and_the_shell_s_are_gone() -> None:
    conf = (ConfFile(path="/etc/nccl.conf", values={"NCCL_A": "file", "NCCL_B": "file"}),)
    fabric = changed(spark_straight(), "*", "host", environment={"NCCL_C": "shell", "NCCL_A": "shell"})
    place = software(with_images(fabric, environment={"NCCL_A": "image"}, nccl_conf=conf).nodes[0])
    found = [variable(place.node, f"NCCL_{letter}") for letter in "ABC"]
    assert [one and one.text() for one in found] == [
        f"NCCL_A=image (image {IMAGE})",
        f"NCCL_B=file (image {IMAGE}:/etc/nccl.conf)",
        None,
    ]


def test_files_that_could_not_be_read_leave_the_variables() -> None:
    place = software(with_images(environment={"NCCL_A": "1"}, nccl_conf=Unknown(unknown="x")).nodes[0])
    assert variable(place.node, "NCCL_A") is not None


def test_of_an_image_that_was_not_read_no_library_is_known() -> None:
    fabric = changed(spark_straight(), "spark-a", "node", image=Unknown(unknown="no such image"))
    place = software(fabric.nodes[0])
    assert place.image == ""
    assert isinstance(place.node.host.libnccl, Unknown)
    assert isinstance(place.node.host.libibverbs, Unknown)
    assert place.node.host.environment == fabric.nodes[0].host.environment
    assert software(changed(fabric, "spark-a", "node", image=NOT_READ).nodes[0]).node.host.libnccl


def test_evidence_names_the_image_of_its_node() -> None:
    fabric = with_images(node="spark-b")
    assert list(images_of(fabric)) == ["spark-b"]
    pieces = tuple(Evidence(file=name, text="x") for name in ("spark-a", "spark-b"))
    finding = Finding(id="none", severity="info", subject="s", evidence=pieces)
    assert [one.text for one in naming_images(finding, fabric).evidence] == ["x", f"image {IMAGE}: x"]
    assert naming_images(finding, spark_straight()) is finding


@pytest.mark.long
def test_a_node_is_seen_inside_as_one_object_that_leaves_with_it() -> None:
    fabric = with_images()
    node = fabric.nodes[0]
    assert software(node).node is software(node).node
    inside = weakref.ref(software(node).node)
    del fabric, node
    gc.collect()
    assert inside() is None
