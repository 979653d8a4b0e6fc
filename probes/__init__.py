"""What runs on a node: it only looks, or measures when told to.

Standard library only, Python 3.10 and later, no import from `fabricdoc`; sent to the node as a zip and run
from memory, leaving nothing behind. Probes report raw facts (a value or the reason there is none);
judgement lives in `fabricdoc`. Only these import more, inside functions: the bench agent and the rank it forks
torch, in `torch_facts`, `worker`, `rendezvous`, `collectives`, `clocks` and `views`; `rdma_ping_pyverbs` the
distribution's pyverbs, where there is one.
"""
