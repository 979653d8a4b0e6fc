"""Rules of how a variable reached NCCL: quotes, export and comments that an env file's reader keeps."""

from __future__ import annotations

from fabricdoc.explain.case import Case, same
from fabricdoc.explain.hits import Answer, Hit, Near, Rule, spots, words
from fabricdoc.explain.seen import Set

QUOTES = "\"'"


KEPT = "env-file-quotes-kept"
"""The complaint of the reader of env files."""


def quoted(each: Set) -> bool:
    """Whether a value holds quotes that its reader keeps."""
    return KEPT in each.wrong or (len(each.value) > 1 and each.value[0] in QUOTES)


def env_file_quotes_kept(case: Case) -> Answer:
    """NCCL read a value with quotes, or read a number as 0 that a quoted value of its env file explains."""
    read = case.values(*{one.name for one in case.sets}, by="log")
    said = [each for each in read if quoted(each) and each.how != "plugin"]
    kept = [each for each in case.sets if each.by == "file" and each.form == "docker" and quoted(each)]
    reader = case.sign("docker-env-file")
    if said:
        each = said[0]
        source = [one for one in kept if one.name == each.name][:1]
        return Hit(spots(each, source, reader[:1]), _filled(each), "certain")
    for each in kept:
        read = [one for one in case.values(each.name, by="log") if same(one.spot.node, each.spot.node)]
        inner = each.value.strip(QUOTES)
        changed = [one for one in read if one.value not in (inner, each.value)]
        if read and not changed:
            return Near(spots(each, read[:1]), "NCCL read the value without its quotes", ("a value read with quotes",))
        if changed or reader:
            return Hit(spots(each, changed[:1], reader[:1]), _filled(each), "certain" if changed else "likely")
    return None


def _filled(each: Set) -> dict[str, str]:
    return words(name=each.name, value=each.value.strip(QUOTES), node=each.spot.node, file=each.spot.file)


RULES: dict[str, Rule] = {"env-file-quotes-kept": env_file_quotes_kept}
