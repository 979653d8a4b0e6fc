"""fabricdoc: NCCL over RoCE, from "is it cabled right?" to "start with exactly these variables".

This package runs where the user sits. What runs on a node is `fabricdoc.probes`; what is data is
`fabricdoc.presets`. Importing this package loads nothing else.
"""

__version__ = "0.1.0"
