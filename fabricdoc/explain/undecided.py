"""Whether something failed that no rule explains, and what to collect next; or nothing is wrong as far as told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabricdoc.explain.case import Case
from fabricdoc.explain.causes import Cause
from fabricdoc.explain.hits import spots
from fabricdoc.explain.seen import Seen, Sign, Spot

MOST_COLLECT = 6
FIRST = (
    "logs of every rank, from the start: NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,NET "
    "NCCL_DEBUG_FILE=/tmp/nccl.%h.%p",
    "of every node: rdma link, show_gids, ip -br addr, and the env file or launch command",
)
STOPPED = (
    "A communicator was begun, and these files end before any is complete: a start that hangs, or logs that were cut."
)


@dataclass(frozen=True, slots=True)
class Undecided:
    """What is not explained: its lines, a sentence, what it is about, and what would decide."""

    cause: str
    subject: str
    evidence: tuple[Spot, ...]
    collect: tuple[str, ...]


def undecided(case: Case, near: Sequence[Cause]) -> Undecided | None:
    """None where nothing failed, as far as the files tell."""
    failed = failures(case)
    if not failed and not any(one.kinds for one in case.files):
        return Undecided("Nothing in these files is known: no NCCL log, no dump, no settings.", "the files", (), FIRST)
    begun = [] if failed else unfinished(case)
    if not failed and not begun:
        return None
    wanted = dict.fromkeys(line for cause in near for line in cause.collect)
    if begun:
        return Undecided(STOPPED, begun[0].spot.node or begun[0].spot.file, spots(begun[:2]), (*wanted, *FIRST))
    return Undecided(
        "Something failed, and what these files hold does not decide why.",
        failed[0].spot.node or failed[0].spot.file,
        spots(failed[:4]),
        (*wanted, *FIRST)[:MOST_COLLECT],
    )


def failures(case: Case) -> list[Seen | Sign]:
    """Lines that say that something failed; causes first. A message of unknown meaning counts where it is a WARN.

    What NCCL tells as INFO it went on after, and so it does without libibverbs.
    """
    known = [seen for seen in case.errors if seen.level != "INFO" and seen.event != "ib.nolib"]
    told = {(seen.spot.file, seen.spot.line) for seen in case.seen if seen.event != "prefix.warn"}
    unknown = [seen for seen in case.warnings if (seen.spot.file, seen.spot.line) not in told]
    ends = case.sign("engine-hang", "rendezvous-timeout", "tests-failed", "torch-nccl-error", "crashed")
    return [*known, *unknown, *ends]


def unfinished(case: Case) -> list[Seen]:
    """Communicators that were begun, where no connection, no end and no result is told: the logs stop within."""
    made = case.of("comm.init")
    onward = any(seen.event.startswith(("chan.", "conn.", "ib.qp", "gdr.ring", "comm.end")) for seen in case.seen)
    begun = [seen for seen in made if seen.groups.get("state") == "START"]
    return begun if not case.rows and not onward and len(begun) == len(made) else []
