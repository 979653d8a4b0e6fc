"""Which files one process reads together, and in which order they win.

NCCL (misc/param.cc): the process's environment wins; then the file that NCCL_CONF_FILE names (2.23), or without it
~/.nccl.conf; then /etc/nccl.conf, which is always read. A first setter is never overwritten. Here files are told apart
by their names and folders, or by the node that the user names for them; nothing is opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fabricdoc.nccl.complaints import Complaint
from fabricdoc.nccl.lint import Source, winners
from fabricdoc.nccl.lint_settings import Remark, remark_on

NAMED = "NCCL_CONF_FILE"


class Unit(NamedTuple):
    """What one process gets: files strongest first, as a node or file is called, and the conf files it never opens."""

    name: str
    layers: tuple[Source, ...]
    unread: tuple[Source, ...] = ()


def arranged(sources: Sequence[Source]) -> tuple[Unit, ...]:
    """The processes that these files make: files of one named node together, else each environment by itself.

    Conf files without a node go below the environments of their folder (`etc` and home folders count as what they are
    in); alone, each folder is a process of its own. One environment and conf files of different kinds are one process.
    """
    named = dict.fromkeys(source.node for source in sources if source.node)
    units = [one for node in named for one in _together(node, [one for one in sources if one.node == node])]
    rest = [source for source in sources if not source.node]
    return (*units, *_by_folder(rest))


def _by_folder(sources: Sequence[Source]) -> Iterator[Unit]:
    confs = [source for source in sources if source.form == "nccl.conf"]
    others = [source for source in sources if source.form != "nccl.conf"]
    kinds = [_kind(source.file) for source in confs]
    if len(others) < 2 and len(set(kinds)) == len(kinds):
        yield from _together("", sources)
        return
    used: set[str] = set()
    for source in others:
        below = [one for one in confs if root(one.file) == root(source.file)]
        used |= {one.file for one in below}
        yield from _together("", [source, *below])
    left = [one for one in confs if one.file not in used]
    for folder in dict.fromkeys(root(one.file) for one in left):
        yield from _together("", [one for one in left if root(one.file) == folder])


def _together(node: str, sources: Sequence[Source]) -> Iterator[Unit]:
    """The processes of one node: one for each environment of a file; later env files win over earlier ones."""
    confs = [source for source in sources if source.form == "nccl.conf"]
    others = [source for source in reversed(sources) if source.form != "nccl.conf"]
    parts = others[0].parts() if len(others) == 1 else ()
    if len(parts) > 1:
        for part in parts:
            line = part.settings[-1].line
            yield _unit(node or f"{part.file}:{line}", [part], confs)
    elif sources:
        yield _unit(node or (others or confs)[0].file, others, confs)


def _unit(name: str, environments: Sequence[Source], confs: Sequence[Source]) -> Unit:
    named = winners(environments).get(NAMED)
    wanted = named.setting.value.rpartition("/")[2] if named else ""
    order = {"named": 0, "home": 1, "system": 2}
    kinds = {one.file: "named" if wanted and one.file.endswith(wanted) else _kind(one.file) for one in confs}
    unread = [one for one in confs if wanted and kinds[one.file] == "home"]
    read = sorted((one for one in confs if one not in unread), key=lambda one: order[kinds[one.file]])
    return Unit(name, (*environments, *read), tuple(unread))


def _kind(file: str) -> str:
    return "home" if file.rpartition("/")[2].startswith(".") else "system"


def root(file: str) -> str:
    """The folder that stands for a file's machine: without `etc`, `root` and `home/USER` at its end."""
    parts = file.split("/")[:-1]
    if parts[-1:] in (["etc"], ["root"]):
        parts = parts[:-1]
    elif parts[-2:-1] == ["home"]:
        parts = parts[:-2]
    return "/".join(one for one in parts if one != ".")


def unread_files(unit: Unit) -> Iterator[Remark]:
    """A remark at the first line of a file that NCCL does not open, and on NCCL_CONF_FILE in a file it opens."""
    for source in unit.unread:
        if source.settings:
            message = f"{NAMED} is set, and replaces the file in the home folder: nothing of {source.file} is read"
            complaint = Complaint("nccl-setting-shadowed", source.settings[0].name, message, f"leave {NAMED} out")
            yield remark_on(source.settings[0], complaint, source.file)
    for source in unit.layers:
        for setting in source.settings if source.form == "nccl.conf" else ():
            if setting.name == NAMED:
                message = f"{NAMED} counts in the environment only: when NCCL reads this line it has chosen its files"
                complaint = Complaint("does-nothing", NAMED, message, f"set {NAMED} in the environment")
                yield remark_on(setting, complaint, source.file)
