"""A candidate as its file offers it: the set, and when it applies. Pure data; what is here is `ground`'s matter."""

from __future__ import annotations

from typing import Literal

from fabricdoc.model.documents import Frozen
from fabricdoc.model.run import Candidate

GpuDirect = Literal["", "any", "dmabuf", "peermem"]
Network = Literal["", "ib", "socket"]


class When(Frozen):
    """What must be true for a candidate to be offered; each field left out asks for nothing.

    `nccl` holds conditions on the loaded library (">=2.24"), `platforms` names (gb10), `rails` and `nodes` the least
    number of each, `network` what the rails are, `gpu_direct` the way GPU memory must be open to the HCA.
    """

    nccl: str = ""
    platforms: tuple[str, ...] = ()
    rails: int = 0
    nodes: int = 0
    network: Network = ""
    gpu_direct: GpuDirect = ""


class Offer(Candidate):
    """A candidate of a file. `place` is where it stands there, `own` says that the user wrote the file."""

    when: When = When()
    place: str = ""
    own: bool = False

    def candidate(self) -> Candidate:
        """The plain candidate, as the run document holds it."""
        return Candidate.model_validate(self.model_dump(include=set(Candidate.model_fields)))
