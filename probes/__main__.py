"""Entry of the zip sent to a node: `run(module, nonce)` opens the wire and hands it to one probe."""

from __future__ import annotations

import importlib
import sys

from .wire import Wire

MODULES = ("scan", "beacon", "lldp", "reach", "rdma_ping", "several", "settings", "agent", "delivered")


def run(module: str, nonce: str) -> int:
    """Run one probe's `main(wire)`; returns its exit status (0, or 2 for a module that is not a probe)."""
    if module not in MODULES:
        sys.stderr.write(f"not a probe: {module}\n")
        return 2
    probe = importlib.import_module(f"{__package__}.{module}")
    status: int = probe.main(Wire(nonce))
    return status


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2]))
