"""The checks that hold nodes, or the ends of a link, against one another. One node by itself is judged elsewhere."""

from __future__ import annotations

from fabricdoc.checks.builds import check_builds
from fabricdoc.checks.firmware import check_firmware
from fabricdoc.checks.host_facts import check_host_facts
from fabricdoc.checks.link_addresses import check_link_addresses
from fabricdoc.checks.link_pairs import check_link_pairs
from fabricdoc.checks.qos_classes import check_qos_classes
from fabricdoc.checks.qos_pairs import check_qos_pairs

BETWEEN = (
    check_builds,
    check_firmware,
    check_host_facts,
    check_link_addresses,
    check_link_pairs,
    check_qos_classes,
    check_qos_pairs,
)
"""Each from a fabric to its findings; `identity` and `mtu` are named by `checks` itself."""
