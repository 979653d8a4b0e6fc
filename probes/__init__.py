"""What runs on a node: it only looks, or measures when told to.

Standard library only, Python 3.10 and later, no import from `fabricdoc`; sent to the node as a zip and run
from memory, leaving nothing behind. Probes report raw facts (a value or the reason there is none);
judgement lives in `fabricdoc`. Two modules may import more, inside a function: `worker` (torch).
"""
