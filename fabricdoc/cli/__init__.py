"""The command line: parses words, calls one job, hands its document to the screen, returns its status.

No logic lives here, and importing it loads neither pydantic, pyroute2, asyncio, numpy nor torch: every command
imports what it needs when it runs.
"""

from fabricdoc.cli.program import main, run

__all__ = ["main", "run"]
