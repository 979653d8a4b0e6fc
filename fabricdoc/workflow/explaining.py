"""explain's job: read what the user has, and answer with the cause.

The exit status is decided here; what the files tell and which rule holds is `fabricdoc.explain`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fabricdoc.errors import ExitStatus
from fabricdoc.explain import explain_files
from fabricdoc.model.findings import Findings


def explain_paths(paths: Sequence[str], progress: Callable[[str], None]) -> Findings:
    """The cause that logs, dumps and settings at `paths` show. InputError for a path that is not there."""
    progress(f"reading {paths[0][:60]}" if len(paths) == 1 else f"reading {len(paths)} paths")
    return explain_files(paths)


def explain_status(document: Findings) -> ExitStatus:
    """3 where the files do not decide, 1 for a cause that is an error, 0 otherwise."""
    if document.verdict == "unknown":
        return ExitStatus.INCONCLUSIVE
    broken = any(finding.severity == "error" for finding in document.findings)
    return ExitStatus.NOT_FIT if broken else ExitStatus.FIT
