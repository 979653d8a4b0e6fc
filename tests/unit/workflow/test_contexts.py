"""What each node is while it is measured: the scan's facts and what its agent said."""

from __future__ import annotations

import pytest

from fabricdoc.model.documents import Unknown
from fabricdoc.model.host import ConfFile, ServerImage
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow.contexts import contexts
from tests.fabrics import crossed_pair
from tests.unit.workflow.asked import Answered

pytestmark = pytest.mark.unit

SPECS = [NodeSpec("alpha", "a", python="/opt/one"), NodeSpec("beta", "b", python="/opt/two")]


def test_each_node_has_its_own_python_and_the_torch_it_told() -> None:
    agents = Answered()
    agents.hello["beta"] |= {"torch": "2.11.0", "nccl": "2.27.3"}
    alpha, beta = contexts(SPECS, crossed_pair(), agents.hello)
    assert [(one.name, one.python, one.torch, one.nccl) for one in (alpha, beta)] == [
        ("alpha", "/opt/one", "2.13.0", "2.28.9"),
        ("beta", "/opt/two", "2.11.0", "2.27.3"),
    ]
    node = crossed_pair().nodes[0]
    assert (alpha.hostname, alpha.kernel, alpha.target) == (node.host.hostname, node.host.kernel, node.target)


def test_a_torch_without_nccl_and_gpus_that_could_not_be_read_are_no_values() -> None:
    fabric = crossed_pair()
    blind = fabric.nodes[0].model_copy(update={"gpus": Unknown(unknown="no driver")})
    fabric = fabric.model_copy(update={"nodes": (blind, fabric.nodes[1])})
    alpha, _ = contexts(SPECS, fabric, Answered(nccl=None).hello)
    assert alpha.nccl == Unknown(unknown="this torch has no NCCL")
    assert alpha.gpus == ()


def test_what_ranks_inherit_is_the_agents_environment_over_nccls_files() -> None:
    fabric = crossed_pair()
    conf = (
        ConfFile(path="/root/.nccl.conf", values={"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}),
        ConfFile(path="/etc/nccl.conf", values={"NCCL_ALGO": "Tree", "NCCL_NVLS_ENABLE": "0"}),
    )
    first = fabric.nodes[0]
    first = first.model_copy(update={"host": first.host.model_copy(update={"nccl_conf": conf})})
    fabric = fabric.model_copy(update={"nodes": (first, fabric.nodes[1])})
    agents = Answered()
    agents.hello["alpha"] |= {"environment": {"NCCL_PROTO": "Simple"}}
    agents.hello["beta"].pop("environment", None)
    alpha, beta = contexts(SPECS, fabric, agents.hello)
    assert alpha.environment == {"NCCL_PROTO": "Simple", "NCCL_ALGO": "Ring", "NCCL_NVLS_ENABLE": "0"}
    assert beta.environment == {}


def test_in_an_image_its_own_files_count() -> None:
    fabric = crossed_pair()
    image = ServerImage(
        name="vllm",
        id="sha256:1",
        nccl_conf=(ConfFile(path="/etc/nccl.conf", values={"NCCL_NET": "IB"}),),
    )
    inside = fabric.nodes[0].model_copy(update={"image": image})
    fabric = fabric.model_copy(update={"nodes": (inside, fabric.nodes[1])})
    alpha, _ = contexts(SPECS, fabric, Answered().hello)
    assert isinstance(alpha.environment, dict)
    assert alpha.environment["NCCL_NET"] == "IB"
