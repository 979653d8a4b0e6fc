"""The checks that hold nodes, or the ends of a link, against one another. One node by itself is judged elsewhere."""

from __future__ import annotations

from fabricdoc.checks.builds import check_builds
from fabricdoc.checks.clocks import check_clocks
from fabricdoc.checks.crossed import check_crossed
from fabricdoc.checks.device_order import check_device_order
from fabricdoc.checks.firmware import check_firmware
from fabricdoc.checks.foreign_ports import check_foreign_ports
from fabricdoc.checks.gpu_sets import check_gpu_sets
from fabricdoc.checks.hca_sets import check_hca_sets
from fabricdoc.checks.host_facts import check_host_facts
from fabricdoc.checks.image_pairs import check_image_pairs
from fabricdoc.checks.link_addresses import check_link_addresses
from fabricdoc.checks.link_pairs import check_link_pairs
from fabricdoc.checks.port_pairs import check_port_pairs
from fabricdoc.checks.rail_subnets import check_rail_subnets
from fabricdoc.checks.rings import check_rings
from fabricdoc.checks.settings_pairs import check_settings_pairs

BETWEEN = (
    check_builds,
    check_firmware,
    check_host_facts,
    check_link_addresses,
    check_link_pairs,
    check_port_pairs,
    check_hca_sets,
    check_foreign_ports,
    check_crossed,
    check_device_order,
    check_rings,
    check_clocks,
    check_rail_subnets,
    check_settings_pairs,
    check_gpu_sets,
    check_image_pairs,
)
"""Each from a fabric to its findings; `identity` and `mtu` are named by `checks` itself."""
