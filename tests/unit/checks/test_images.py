"""The image that will serve: its libraries, the variables it brings, and images that are not there."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.checks import check_fabric
from fabricdoc.checks.images import WINS, _is_named, check_images
from fabricdoc.checks.judging import checks_for
from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import ConfFile, Fabric, Library
from fabricdoc.model.findings import Evidence, Finding
from tests.fabrics.altering import changed
from tests.fabrics.images import IMAGE, nccl, with_images
from tests.fabrics.servers import eight_rail_servers
from tests.fabrics.spark import spark_one_cable, spark_straight
from tests.unit.checks.judged import ids, only, texts, whole

pytestmark = pytest.mark.unit

NO_VERBS = Unknown(unknown="libibverbs.so.1 can't be loaded: cannot open shared object file")
NOT_TOLD: Any = Unknown(unknown="x")


def found(fabric: Fabric, id: str, node: str = "spark-a") -> Finding:
    """The one finding of that id about that node."""
    (one,) = [whole(one) for one in check_fabric(fabric) if one.id == id and one.subject.startswith(node)]
    return one


def told(fabric: Fabric) -> set[str]:
    """Ids of all findings, but for what the recorded hosts' own NCCL 2.30.7 is known for."""
    return {one.id for one in check_fabric(fabric)} - {"nccl-many-channels"}


def test_a_healthy_image_says_nothing_more_than_its_nodes() -> None:
    assert told(with_images()) == told(spark_straight())
    assert ids(check_images, with_images()) == []


def test_the_images_checks_run_only_where_an_image_is_named() -> None:
    assert check_images not in checks_for(spark_straight())
    assert check_images in checks_for(with_images(node="spark-b"))


# libraries


@pytest.mark.parametrize(
    ("facts", "id", "severity", "evidence"),
    [
        ({"libibverbs": NO_VERBS}, "libibverbs-missing", "error", "libibverbs.so.1 can't be loaded"),
        ({"ibverbs_providers": ()}, "ibverbs-provider-missing", "error", "providers: none"),
        ({"ibverbs_providers": ("librxe-rdmav34.so",)}, "ibverbs-provider-missing", "error", "librxe-rdmav34.so"),
        ({"libnccl": ()}, "libnccl-missing", "warning", "libnccl.so.2: not on the loader's way"),
        ({"libnccl": (), "torch": NOT_TOLD}, "libnccl-missing", "warning", "torch unknown"),
        ({"libnccl": (nccl("2.30.4"), nccl("2.29.2", "/b"))}, "libnccl-several", "info", "/b: 2.29.2"),
        ({"libnccl": (nccl("2.27.2"),)}, "nccl-too-old-for-platform", "warning", "2.27.2 (told for <2.27.3)"),
        ({"libnccl": (nccl("2.28.9"),)}, "nccl-build-specific-hang", "warning", "libnccl.so.2: 2.28.9"),
        ({"libnccl": (nccl("2.20.5"),)}, "nccl-without-gid-choice", "warning", "2.20.5, below 2.21.5"),
        ({"nccl_plugins": (Library(path="/opt/hpcx/libnccl-net.so"),)}, "net-plugin-found", "info", "libnccl-net.so"),
    ],
)
def test_what_the_image_lacks_or_brings(facts: dict[str, Any], id: str, severity: str, evidence: str) -> None:
    one = found(with_images(**facts), id)
    assert one.severity == severity
    assert f"image {IMAGE}" in texts(one)
    assert any(evidence in text for text in texts(one))
    assert id not in told(with_images())


@pytest.mark.parametrize(
    "facts",
    [
        {"libibverbs": Unknown(unknown="no answer within 3 s")},
        {"libnccl": NOT_TOLD},
        {"ibverbs_providers": NOT_TOLD},
        {"libnccl": (nccl("2.27.3"),)},
        {"libnccl": (nccl("2.30.4"), nccl("2.30.4", "/b"))},
        {
            "nccl_plugins": (Library(path="/opt/hpcx/libnccl-net.so"),),
            "environment": {"NCCL_NET_PLUGIN": "none"},
        },
        {"libnccl": (nccl("2.30.4"),), "torch": NOT_TOLD},
    ],
)
def test_what_nearly_has_it(facts: dict[str, Any]) -> None:
    assert told(with_images(**facts)) == told(with_images())


def test_a_pinned_index_is_a_choice_for_an_old_nccl() -> None:
    assert "nccl-without-gid-choice" not in told(
        with_images(libnccl=(nccl("2.20.5"),), environment={"NCCL_IB_GID_INDEX": "3"})
    )


def test_the_fix_is_in_the_image_and_not_on_the_host() -> None:
    assert found(with_images(libibverbs=NO_VERBS), "libibverbs-missing").fix[0].startswith(f"in image {IMAGE}: install")
    assert found(with_images(ibverbs_providers=()), "ibverbs-provider-missing").fix[0].startswith(f"in image {IMAGE}")
    asked = found(with_images(libnccl=()), "libnccl-missing").fix[0]
    assert asked.startswith(f"on spark-a: docker run --rm --entrypoint python3 {IMAGE} -c ")


# the host beside an image


@pytest.mark.parametrize(
    "host",
    [
        {"libnccl": (), "torch": "2.9.0"},
        {"libnccl": (nccl("2.20.5"),)},
        {"libnccl": (nccl("2.28.9"), nccl("2.27.1", "/b"))},
        {"libibverbs": NO_VERBS},
        {"ibverbs_providers": ()},
        {"nccl_plugins": (Library(path="/opt/hpcx/libnccl-net.so"),)},
    ],
)
def test_a_host_that_serves_from_an_image_needs_no_libraries(host: dict[str, Any]) -> None:
    alone = changed(spark_straight(), "*", "host", **host)
    assert told(alone) - told(spark_straight())
    assert told(with_images(alone)) == told(with_images())
    unread = changed(alone, "*", "node", image=Unknown(unknown="x: spark-a: docker knows no such image: x"))
    assert told(unread) - {"server-image-missing"} == told(spark_straight())


# variables that the image brings (spark facts 4.13, 3.5, P20)


@pytest.mark.parametrize(
    ("baked", "id", "severity"),
    [
        ({"GLOO_SOCKET_IFNAME": "enP8s8"}, "socket-ifname-not-found", "error"),
        ({"TP_SOCKET_IFNAME": "enP8s8"}, "socket-ifname-not-found", "error"),
        ({"NCCL_SOCKET_IFNAME": "=enp9s0np0,enP8s8"}, "socket-ifname-not-found", "error"),
        ({"UCX_NET_DEVICES": "mlx5_9:1,enP8s8"}, "ucx-devices-not-found", "warning"),
        ({"NCCL_IB_HCA": "rocep2s0f0"}, "ib-hca-matches-nothing", "error"),
        ({"NCCL_IB_HCA": "rocep1s0f0,rocep9s0f0"}, "ib-hca-entry-unknown", "warning"),
        ({"NCCL_IB_DISABLE": "1"}, "ib-disabled-by-env", "error"),
        ({"NCCL_NET": "Socket"}, "ib-disabled-by-env", "error"),
        ({"NCCL_PROTO": "LL"}, "nccl-proto-ll-forced", "warning"),
        ({"NCCL_IB_TIMEOUT": "8"}, "ib-timeout-or-retry-too-low", "warning"),
        ({"NCCL_IB_GID_INDEX": "0"}, "gid-index-link-local", "error"),
        ({"CUDA_LAUNCH_BLOCKING": "0"}, "cuda-launch-blocking-set", "warning"),
        ({"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}, "expandable-segments-on-gb10", "warning"),
        (
            {"NCCL_IB_USE_INLINE": "1", "NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS": "1"},
            "nccl-setting-risky",
            "warning",
        ),
    ],
)
def test_what_an_image_sets(baked: dict[str, str], id: str, severity: str) -> None:
    named = [one for one in check_images(with_images(node="spark-b", environment=baked)) if one.id == id]
    assert named and {whole(one).severity for one in named} == {severity}
    for one in named:
        assert one.subject.startswith("spark-b") and one.subject.endswith(f"(image {IMAGE})")
        (name, value) = next(iter(baked.items()))
        assert f"{name}={value} (image {IMAGE})" in texts(one)
        assert {piece.file for piece in one.evidence} == {"spark-b"}
        assert one.fix[-1] == WINS
        assert not [line for line in one.fix if line.startswith("on spark-b: export") or ": unset" in line]


@pytest.mark.parametrize(
    "baked",
    [
        {"GLOO_SOCKET_IFNAME": "enP7s7", "TP_SOCKET_IFNAME": "enP7s7"},
        {"NCCL_SOCKET_IFNAME": "enP7s7,enp1s0f0np0,enP2p1s0f0np0"},
        {"UCX_NET_DEVICES": "rocep1s0f0:1"},
        {"UCX_NET_DEVICES": "mlx5_9:1,enP7s7"},
        {"UCX_NET_DEVICES": "^docker0"},
        {"NCCL_IB_HCA": "=rocep1s0f0,roceP2p1s0f0,rocep1s0f1,roceP2p1s0f1"},
        {"NCCL_IB_DISABLE": "0", "NCCL_NET": "IB"},
        {"NCCL_IB_USE_INLINE": "1"},
        {"NCCL_VERSION": "2.21.5-1", "NCCL_DEBUG": "INFO"},
    ],
)
def test_what_an_image_sets_and_the_node_has(baked: dict[str, str]) -> None:
    assert ids(check_images, with_images(environment=baked)) == []


def test_what_only_the_shell_on_the_node_sets_is_no_matter_of_the_image() -> None:
    fabric = changed(spark_straight(), "*", "host", environment={"NCCL_IB_HCA": "nothing", "NCCL_PROTO": "LL"})
    assert ids(check_images, with_images(fabric, environment={"NCCL_DEBUG": "INFO"})) == []


def test_a_file_inside_the_image_counts_too() -> None:
    conf = (ConfFile(path="/etc/nccl.conf", values={"NCCL_IB_HCA": "rocep2s0f0"}),)
    one = only(check_images, with_images(node="spark-a", nccl_conf=conf), "ib-hca-matches-nothing")
    assert f"NCCL_IB_HCA=rocep2s0f0 (image {IMAGE}:/etc/nccl.conf)" in texts(one)


def test_two_places_of_one_image_are_named_as_they_are() -> None:
    conf = (ConfFile(path="/etc/nccl.conf", values={"NCCL_DEBUG": "WARN"}),)
    fabric = with_images(node="spark-a", nccl_conf=conf, environment={"NCCL_DEBUG": "INFO"})
    one = only(check_images, fabric, "nccl-setting-shadowed")
    assert f"takes the one from the image {IMAGE}:" in one.cause


def test_the_fix_is_said_for_a_container() -> None:
    one = only(check_images, with_images(node="spark-a", environment={"NCCL_IB_HCA": "x"}), "ib-hca-matches-nothing")
    assert one.fix[0].startswith("start the server on spark-a with --env NCCL_IB_HCA='=roceP2p1s0f0,")


# images that are not there


def test_an_image_that_a_node_does_not_have() -> None:
    reason = f"{IMAGE}: spark-b: docker knows no such image: Error: No such image"
    one = only(
        check_images, changed(with_images(), "spark-b", "node", image=Unknown(unknown=reason)), "server-image-missing"
    )
    assert (one.severity, one.subject, texts(one)) == ("warning", "spark-b", [reason])


@pytest.mark.parametrize(
    "why",
    [
        "no python3",
        "docker can't be run: No such file or directory",
        "docker knows no such image: permission denied while trying to connect to the Docker daemon socket",
        "docker knows no such image: Cannot connect to the Docker daemon. Is the docker daemon running?",
    ],
)
def test_an_image_that_could_not_be_looked_into_is_information(why: str) -> None:
    unread = changed(with_images(), "spark-b", "node", image=Unknown(unknown=f"{IMAGE}: spark-b: {why}"))
    assert ids(check_images, unread) == [("server-image-not-read", "info", "spark-b")]
    assert ids(check_images, spark_straight()) == []


def test_a_server_without_hcas_has_no_findings_of_its_image() -> None:
    laptop = changed(spark_one_cable(), "*", "node", hcas=())
    assert {one.id for one in check_fabric(with_images(laptop, libnccl=(nccl("2.20.5"),), libibverbs=NO_VERBS))} == {
        one.id for one in check_fabric(laptop)
    }


def test_eight_rails_and_their_image() -> None:
    fabric = with_images(eight_rail_servers(2), libnccl=(nccl("2.20.5"),))
    assert {one.subject for one in check_fabric(fabric) if one.id == "nccl-without-gid-choice"} == {
        "server-001: NCCL 2.20.5",
        "server-002: NCCL 2.20.5",
    }


def test_bootstrap_over_an_interface_of_the_image_is_judged_among_several_nodes() -> None:
    """One node alone has nobody to meet: then it is no fault, with a second one it is."""
    fabric = with_images(node="spark-a", environment={"NCCL_SOCKET_IFNAME": "lo"})
    assert ("loopback-selected", "error") in {one[:2] for one in ids(check_images, fabric)}
    alone = fabric.model_copy(update={"nodes": fabric.nodes[:1]})
    assert "loopback-selected" not in {one[0] for one in ids(check_images, alone)}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("file image vllm:v0.2: NCCL_IB_HCA=x", True),
        ("file image vllm:v0.2:/etc/nccl.conf", True),
        ("image vllm:v0.2", True),
        ("file image vllm:v0.20: NCCL_IB_HCA=x", False),
        ("file image vllm:v0.2.1: NCCL_IB_HCA=x", False),
        ("file image vllm:v0.2-cu13", False),
    ],
)
def test_an_image_is_told_from_one_whose_name_begins_like_it(text: str, named: bool) -> None:
    finding = Finding(id="none", severity="info", subject="a", cause="b", evidence=(Evidence(file="a", text=text),))
    assert _is_named("vllm:v0.2", finding) is named
