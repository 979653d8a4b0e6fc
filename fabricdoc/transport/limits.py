"""Room for many conversations at once: this process's own limit of open files, within what its user may have.

Nothing of the machine is changed, and no limit is lowered.
"""

from __future__ import annotations

import resource

# what Python, the store and the terminal have open besides
OTHERS = 128


def allow_files(count: int) -> None:
    """Raise the soft limit of open files so that `count` more fit, as far as the hard limit lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + OTHERS
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if most > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
