"""The words of causes: every id has a rule and every rule its words; nothing is left unfilled."""

from __future__ import annotations

import csv
import re

import pytest

from fabricdoc.explain.causes import GENERAL, causes, fill
from fabricdoc.explain.rules import all_rules
from tests.unit.house.house import TREE

pytestmark = pytest.mark.unit

LISTED = {row["id"]: row for row in csv.DictReader((TREE / "presets" / "findings.csv").read_text().splitlines())}
ROOT_CAUSES = [
    "libibverbs-missing",
    "container-rdma-device-missing",
    "container-rdma-device-not-accessible",
    "unusable-hca-visible",
    "ib-disabled-by-env",
    "ib-disable-ignored-external-plugin",
    "env-file-quotes-kept",
    "env-differs-between-ranks",
    "wrong-gid-index",
    "gid-index-link-local",
    "gid-index-drifted",
    "gid-index-differs-between-nodes",
    "gid-auto-selected-link-local",
    "gid-scan-einval-container",
    "ib-hca-prefix-match",
    "ib-hca-names-differ-between-nodes",
    "ib-hca-includes-port-cabled-elsewhere",
    "hca-sets-differ-between-nodes",
    "mixed-link-layers",
    "nic-merge-asymmetric",
    "fused-nic-subdevice-order-differs",
    "socket-ifname-not-found",
    "virtual-interface-selected",
    "loopback-selected",
    "host-firewall",
    "nccl-version-mismatch",
    "net-plugin-mismatch-between-nodes",
    "ofi-no-usable-provider",
    "memlock-limit-too-low",
    "dev-shm-too-small",
    "host-identity-collision",
    "ranks-share-one-gpu",
    "dmabuf-unsupported",
    "peermem-not-registered",
    "acs-breaks-gpudirect",
    "acs-breaks-p2p",
    "iommu-breaks-p2p",
    "ib-timeout-or-retry-too-low",
    "rdma-path-timeout",
    "intra-node-nics-cannot-talk",
    "cross-rail-unreachable",
    "mtu-mismatch",
    "link-flap",
    "roce-packet-loss",
    "nics-share-subnet",
    "gb10-one-function-of-port-used",
    "rdma-path-not-pinned",
    "ll128-unsafe-on-path",
    "ll128-forced-on-unsupported-path",
    "nvls-fabric-manager-state",
    "nvls-multicast-not-permitted-in-container",
    "nccl-build-specific-hang",
]


def test_every_root_cause_has_a_rule() -> None:
    assert set(ROOT_CAUSES) <= set(all_rules())


def test_every_rule_has_words_and_every_words_a_rule() -> None:
    assert set(all_rules()) == set(causes())


def test_every_cause_is_in_the_list_of_findings() -> None:
    assert set(causes()) <= set(LISTED)


@pytest.mark.parametrize("id", sorted(causes()))
def test_a_cause_is_two_sentences_with_a_fix_what_to_collect_and_a_source(id: str) -> None:
    cause = causes()[id]
    said, fix = cause.filled({})
    assert 1 <= len(re.findall(r"[.](?:\s|$)", said)) <= 3
    assert fix
    assert cause.collect
    assert cause.source
    assert not re.search(r"\{\w+\}", said + " ".join(fix))


@pytest.mark.parametrize("id", sorted(causes()))
def test_every_word_in_braces_has_a_general_one(id: str) -> None:
    cause = causes()[id]
    named = set(re.findall(r"\{(\w+)\}", cause.cause + " ".join(cause.fix)))
    assert named <= set(GENERAL)


def test_words_are_filled_in_and_never_formats() -> None:
    assert fill("{hca} of {node}", {"hca": "mlx5_0"}) == "mlx5_0 of this node"
    assert fill("{hca}", {"hca": "{node}"}) == "{node}"
    assert fill("{0} {a.b} {", {}) == "0 {a.b} {"


def test_a_fatal_symptom_stands_behind_every_cause_of_its_own() -> None:
    later = causes()["rdma-path-timeout"].order
    for id in ("link-flap", "mtu-mismatch", "wrong-gid-index", "cross-rail-unreachable", "ib-timeout-or-retry-too-low"):
        assert causes()[id].order < later


@pytest.mark.parametrize("id", sorted(all_rules()))
def test_every_rule_is_named_by_a_test_of_its_family(id: str) -> None:
    family = causes()[id].family
    text = (TREE / "tests" / "unit" / "explain" / "rules" / f"test_{family}.py").read_text()
    assert f'"{id}"' in text
