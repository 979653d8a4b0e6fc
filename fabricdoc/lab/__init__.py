"""The CPU lab: nodes as namespaces of this machine, joined by veth rails, with no trace left behind.

`open_lab` gives a lab that ends with the caller (even at kill -9); `lab_up`, `lab_down` and `lab_list` keep one
standing between commands. The room makes and removes labs; it does not enter nodes, run probes or measure:
the transport does, given `LabNode.target`. Importing it is cheap: pyroute2 and pydantic load when needed.
"""

from fabricdoc.lab.opening import open_lab
from fabricdoc.lab.spec import Lab, LabNode, LabSpec, LabState
from fabricdoc.lab.standing import lab_document, lab_down, lab_list, lab_up

__all__ = [
    "Lab",
    "LabNode",
    "LabSpec",
    "LabState",
    "lab_document",
    "lab_down",
    "lab_list",
    "lab_up",
    "open_lab",
]
