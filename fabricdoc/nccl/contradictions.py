"""Sets of variables that work against one another, and everything that is wrong with a whole set.

`check_variables` is what lint and the check of candidates share. Pure functions of a mapping and a release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.numbers import number_at_start
from fabricdoc.nccl.values import ANY, Nccl, check_value
from fabricdoc.nccl.versions import Release

Variables = Mapping[str, str]
MOST_NEAR = 32
"""Unknown names of one set for which the nearest known one is sought: hostile files have thousands."""


def check_variables(
    variables: Variables, release: Release | None = None, nccl: Nccl = ANY, *, most_near: int = MOST_NEAR
) -> tuple[Complaint, ...]:
    """All complaints on a set of variables, one by one first, then about their playing together.

    For the NCCL of that release, or the `nccl` meant. The nearest known name is sought for `most_near` unknown ones.
    """
    single: list[Complaint] = []
    unknown = 0
    for name, value in variables.items():
        found = check_value(name, value, release, nccl, near=unknown < most_near)
        unknown += any(complaint.id == "unknown-variable" for complaint in found)
        single += found
    return (*single, *(complaint for find in _FINDERS for complaint in find(variables)))


def number_of(variables: Variables, name: str) -> int | None:
    """The number NCCL reads, None when the variable is not set or empty."""
    value = variables.get(name, "")
    number = number_at_start(value)
    return 0 if number is None and value else number


def _is(variables: Variables, name: str, number: int) -> bool:
    return number_of(variables, name) == number


def _contradiction(name: str, other: str, message: str, fix: str) -> Complaint:
    return Complaint("contradiction", name, message, fix, others=(other,))


def _disabled(variables: Variables) -> Iterator[Complaint]:
    if not number_of(variables, "NCCL_IB_DISABLE"):
        return
    if variables.get("NCCL_IB_HCA"):
        message = "RDMA is off (NCCL_IB_DISABLE), so the list of HCAs is not read"
        yield _contradiction("NCCL_IB_HCA", "NCCL_IB_DISABLE", message, "leave one of the two out")
    if variables.get("NCCL_NET", "").lower() == "ib":
        message = "RDMA is off (NCCL_IB_DISABLE) and demanded (NCCL_NET=IB): NCCL fails at its start"
        yield _contradiction("NCCL_NET", "NCCL_IB_DISABLE", message, "leave NCCL_IB_DISABLE out")


def _sockets(variables: Variables) -> Iterator[Complaint]:
    if variables.get("NCCL_NET", "").lower() == "socket" and variables.get("NCCL_IB_HCA"):
        message = "NCCL_NET=Socket leaves RDMA alone, so the list of HCAs is not read"
        yield _contradiction("NCCL_IB_HCA", "NCCL_NET", message, "NCCL_NET=IB, or leave NCCL_IB_HCA out")


def _plugin(variables: Variables) -> Iterator[Complaint]:
    network = variables.get("NCCL_NET", "").lower()
    if variables.get("NCCL_NET_PLUGIN", "").lower() == "none" and network not in ("", "ib", "socket"):
        message = f"plugins are off (NCCL_NET_PLUGIN=none), and NCCL_NET={variables['NCCL_NET']} names one"
        yield _contradiction("NCCL_NET", "NCCL_NET_PLUGIN", message, "leave one of the two out")


def _tuner(variables: Variables) -> Iterator[Complaint]:
    tuner = next((n for n in ("NCCL_TUNER_PLUGIN", "NCCL_TUNER_CONFIG_FILE") if variables.get(n, "none") != "none"), "")
    for name in ("NCCL_PROTO", "NCCL_ALGO"):
        if tuner and variables.get(name):
            message = f"a tuner plugin can only prefer what {name} leaves: its other rows are silenced"
            yield _contradiction(name, tuner, message, f"leave {name} out and let the plugin decide")


def _limits(variables: Variables) -> Iterator[Complaint]:
    for low, high in (("NCCL_MIN_CTAS", "NCCL_MAX_CTAS"), ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS")):
        least, most = number_of(variables, low), number_of(variables, high)
        if least is not None and most is not None and least > most > 0:
            message = f"{low}={least} is more than {high}={most}"
            yield _contradiction(low, high, message, f"{low}={most} or less")


def _socket_threads(variables: Variables) -> Iterator[Complaint]:
    threads = number_of(variables, "NCCL_SOCKET_NTHREADS") or 1
    each = number_of(variables, "NCCL_NSOCKS_PERTHREAD") or 1
    if threads * each > 64:
        message = f"{threads} threads with {each} sockets are {threads * each}: NCCL allows 64 and lowers the second"
        yield _contradiction(
            "NCCL_NSOCKS_PERTHREAD", "NCCL_SOCKET_NTHREADS", message, f"NCCL_NSOCKS_PERTHREAD={64 // min(threads, 64)}"
        )


def _pinned_gid(variables: Variables) -> Iterator[Complaint]:
    if (number_of(variables, "NCCL_IB_GID_INDEX") or -1) < 0 and not _is(variables, "NCCL_IB_GID_INDEX", 0):
        return
    for name in ("NCCL_IB_ADDR_RANGE", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ROCE_VERSION_NUM"):
        if variables.get(name):
            message = f"a pinned GID index is used as it is: {name} is not read"
            yield _contradiction(name, "NCCL_IB_GID_INDEX", message, "leave NCCL_IB_GID_INDEX out")


def _fusion(variables: Variables) -> Iterator[Complaint]:
    if not _is(variables, "NCCL_IB_MERGE_NICS", 0):
        return
    for name in ("NCCL_NET_FORCE_MERGE", "NCCL_NET_MERGE_LEVEL"):
        if variables.get(name, "LOC") != "LOC":
            message = f"NCCL_IB_MERGE_NICS=0 forbids fusing NICs, and {name} asks for it"
            yield _contradiction(name, "NCCL_IB_MERGE_NICS", message, "leave one of the two out")


def _splitting(variables: Variables) -> Iterator[Complaint]:
    if (
        _is(variables, "NCCL_IB_SPLIT_DATA_ON_QPS", 1)
        and (number_of(variables, "NCCL_IB_QPS_PER_CONNECTION") or 1) == 1
    ):
        message = "there is one queue pair per connection: nothing can be split"
        fix = "NCCL_IB_QPS_PER_CONNECTION=2, or leave it out"
        yield _contradiction("NCCL_IB_SPLIT_DATA_ON_QPS", "NCCL_IB_QPS_PER_CONNECTION", message, fix)


def _logging(variables: Variables) -> Iterator[Complaint]:
    level = variables.get("NCCL_DEBUG", "").upper()
    if variables.get("NCCL_DEBUG_SUBSYS") and level not in ("INFO", "TRACE", "ABORT"):
        message = f"subsystems choose among INFO lines, and NCCL_DEBUG is {level or 'not set'}"
        yield _contradiction("NCCL_DEBUG_SUBSYS", "NCCL_DEBUG", message, "NCCL_DEBUG=INFO, or leave it out")


def _peers(variables: Variables) -> Iterator[Complaint]:
    if number_of(variables, "NCCL_P2P_DISABLE") and variables.get("NCCL_P2P_LEVEL"):
        message = "peer access is off (NCCL_P2P_DISABLE), so its level is not read"
        yield _contradiction("NCCL_P2P_LEVEL", "NCCL_P2P_DISABLE", message, "leave one of the two out")


def _chunks(variables: Variables) -> Iterator[Complaint]:
    buffer, chunk = number_of(variables, "NCCL_BUFFSIZE"), number_of(variables, "NCCL_P2P_NET_CHUNKSIZE")
    if buffer and chunk and chunk > buffer // 8 > 0:
        message = f"a chunk of {chunk} does not fit one of the 8 slots of a buffer of {buffer}"
        yield _contradiction(
            "NCCL_P2P_NET_CHUNKSIZE", "NCCL_BUFFSIZE", message, f"NCCL_P2P_NET_CHUNKSIZE={buffer // 8}"
        )


_FINDERS: tuple[Callable[[Variables], Iterator[Complaint]], ...] = (
    _disabled,
    _sockets,
    _plugin,
    _tuner,
    _limits,
    _socket_threads,
    _pinned_gid,
    _fusion,
    _splitting,
    _logging,
    _peers,
    _chunks,
)
