"""The ping's errnos, statuses and limits: complete for what the lab has seen, and templates that can be filled."""

from __future__ import annotations

import errno
import os
import string

import pytest

from fabricdoc.fabric import rdma_words
from fabricdoc.fabric.rdma_words import errno_word, ping_limit, status_word

pytestmark = pytest.mark.unit

KNOWN = {"node", "netdev", "hca", "gid", "index", "ip", "peer_node", "peer_netdev", "peer_gid", "peer_ip"}


@pytest.mark.parametrize("number", [61, 22, 110, 101, 12, 13])
def test_the_errnos_that_were_seen_have_a_name_a_cause_and_a_fix(number: int) -> None:
    word = errno_word(number)
    assert word.name == errno.errorcode[number]
    assert word.cause and word.fix


def test_every_entry_names_its_number_as_the_system_does_and_can_be_filled() -> None:
    for number, word in rdma_words._words("errno").items():
        assert word.name == errno.errorcode[number], os.strerror(number)
        for text in (word.cause, *word.fix):
            assert {name for _, name, _, _ in string.Formatter().parse(text) if name} <= KNOWN


def test_statuses_are_verbs_h_names() -> None:
    """enum ibv_wc_status counts from 0: RETRY_EXC_ERR is the 13th."""
    assert status_word(12).name == "IBV_WC_RETRY_EXC_ERR"
    assert status_word(2).name == "IBV_WC_LOC_QP_OP_ERR"
    assert all(word.name.startswith("IBV_WC_") and word.cause for word in rdma_words._words("status").values())


def test_numbers_nobody_knows_are_told_as_they_are() -> None:
    assert errno_word(7777).name == "errno 7777"
    assert status_word(99).name == "status 99"


def test_limits_are_sane() -> None:
    assert 2 <= ping_limit("all_pairs_nodes") <= 64
    assert 1 <= ping_limit("wait_s") <= 10
    assert ping_limit("pairs_at_once") <= 64
    with pytest.raises(KeyError):
        ping_limit("none")
