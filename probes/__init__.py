"""What runs on a node: it only looks, or measures when told to.

Standard library only, Python 3.10 and later, no import from `fabricdoc`; sent to the node as a zip and run
from memory, leaving nothing behind. Probes report raw facts (a value or the reason there is none);
judgement lives in `fabricdoc`. Only the bench agent and the rank it forks import more, inside functions: torch,
in `torch_facts`, `worker`, `rendezvous`, `collectives`, `clocks` and `views`.
"""
