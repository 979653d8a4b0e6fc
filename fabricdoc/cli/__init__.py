"""The command line: parses words, calls one job, hands its document to the screen, returns its status.

No logic lives here, and importing it loads neither pydantic, pyroute2, asyncio, numpy nor torch: every command
imports what it needs when it runs.
"""

try:
    from fabricdoc.cli.program import main, run
except KeyboardInterrupt:  # Ctrl-C while the program is still being loaded: nothing was started, and nothing is to tell
    raise SystemExit(130) from None

__all__ = ["main", "run"]
