"""The screen: results on stdout, everything else on stderr, in colour, in plain text or as JSON.

Streams and environment are given, so nothing here reads the process's own. Obeys NO_COLOR, TERM=dumb, a closed
pipe and any encoding. Decides nothing about exit statuses.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from fabricdoc import __version__
from fabricdoc.errors import FabricdocError
from fabricdoc.model.moment import utc_now
from fabricdoc.report.cells import BAD, BOLD, DIM, Unwrapped, broken, line
from fabricdoc.report.json_text import json_text
from fabricdoc.report.outlet import Outlet
from fabricdoc.report.progress import ProgressLine
from fabricdoc.report.text import clean

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from fabricdoc.model.documents import Document
    from fabricdoc.model.run import Plan, Run
    from fabricdoc.model.verdict import Verdict
    from fabricdoc.report.fabric import Part

WIDTH, NARROWEST, WIDEST = 80, 40, 120


class Screen:
    """What a command says: `document`, `text` and lists on stdout; progress, steps, plans, errors on stderr.

    `as_json` makes every result one JSON document, with `lines` each in one line. `env` gives NO_COLOR, TERM and
    COLUMNS; `store` is the file of runs that the user named, which the next command has to name too. Raises ToolError
    when the output can't be written (a full disk); a reader that went away is no error.
    """

    def __init__(
        self,
        stdout: TextIO | None,
        stderr: TextIO | None,
        env: Mapping[str, str],
        *,
        as_json: bool = False,
        lines: bool = False,
        store: str = "",
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.as_json = as_json or lines
        self._lines = lines
        self._store = store
        self._env = env
        self._out, self._err = Outlet(stdout), Outlet(stderr, needed=False)
        self._answered = False
        self._consoles: dict[Outlet, Console] = {}
        self._told: set[str] = set()
        self.live = self._err.isatty() and env.get("TERM", "dumb") != "dumb"
        self._progress = ProgressLine(self._err, live=self.live, width=self._width(self._err), now=now)

    def document(self, document: Document, part: Part = "all") -> None:
        """The answer of a command: JSON, or the rendering and the command worth running next."""
        if self.as_json:
            self._json(document)
            return
        from fabricdoc.report.kinds import next_command

        self.show(document, part)
        after = next_command(document)
        if after is not None:
            self.next_command(*after)

    def show(self, document: Document, part: Part = "all") -> None:
        """A document on the way to the answer (several may be shown): rendered, or nothing with JSON."""
        if not self.as_json:
            from fabricdoc.report.kinds import render

            self._print(self._out, render(document, part))

    def settings(self, linted: Any) -> None:
        """What is wrong with files of settings (`fabricdoc.workflow.Linted`): a document of kind findings."""
        if self.as_json:
            self._json(_header("findings") | linted.payload())
            return
        from fabricdoc.report.settings import render_settings

        shown = linted.shown(self._width(self._out) - 16)
        self._print(self._out, render_settings(linted.remarks, shown, linted.told, len(linted.files), linted.settings))

    def text(self, raw: str) -> None:
        """Text that is itself the result (an env file, a JSON document), as it is."""
        self._progress.clear()
        self._answered = True
        self._out.write_exact(raw)

    def runs(self, runs: Sequence[Any], store: Path | None = None) -> None:
        """The list of stored runs (`fabricdoc.store.RunSummary`), kept in the file `store`."""
        from fabricdoc.report.lists import render_runs, runs_payload

        if self.as_json:
            self._json(_header("runs") | {"runs": runs_payload(runs)})
            return
        self._print(self._out, render_runs(runs, store))
        if not runs:
            self.next_command("fabricdoc demo", "measure two nodes inside this machine")

    def gates(self, gates: Sequence[Any], store: Path | None = None) -> None:
        """The history of gates (`fabricdoc.store.GateSummary`), kept in the file `store`."""
        from fabricdoc.report.gate_history import gates_payload, render_gates

        if self.as_json:
            self._json(_header("gates") | {"gates": gates_payload(gates)})
            return
        self._print(self._out, render_gates(gates, store))

    def profiles(self, profiles: Sequence[Any]) -> None:
        """The list of known profiles (`fabricdoc.model.profile.Profile`)."""
        from fabricdoc.report.lists import profiles_payload, render_profiles

        if self.as_json:
            self._json(_header("profiles") | {"profiles": profiles_payload(profiles)})
        else:
            self._print(self._out, render_profiles(profiles))

    def formats(self, formats: Sequence[tuple[str, str, str]]) -> None:
        """What variables can be written as: name, what one text holds, who reads it."""
        from fabricdoc.report.lists import formats_payload, render_formats

        if self.as_json:
            self._json(_header("formats") | {"formats": formats_payload(formats)})
        else:
            self._print(self._out, render_formats(formats))

    def lab(self, document: Any, *, removed: bool = False) -> None:
        """A lab document (`fabricdoc.lab.LabDocument`): its labs and nodes; `removed` says that they are gone."""
        if self.as_json:
            self._json(document)
            return
        from fabricdoc.report.lists import render_labs

        labs: Sequence[Any] = document.labs
        self._print(self._out, render_labs(labs, removed=removed))
        for lab in () if removed else labs:
            nodes = ",".join(f"{node.name}={node.target}" for node in lab.nodes)
            ports = ",".join(dict.fromkeys(port for node in lab.nodes for port in node.ports))
            which = "the lab" if len(labs) == 1 else f"lab {lab.name}"
            self.next_command(
                f"fabricdoc scan --nodes {nodes} --ports {ports}", f"look at {which} and prove its cables"
            )

    def written(self, paths: Sequence[Path]) -> None:
        """The files a command left."""
        if self.as_json:
            self._json(_header("written") | {"files": [str(path) for path in paths]})
        else:
            from fabricdoc.report.lists import render_written

            self._print(self._out, render_written(paths))

    def plan(self, plan: Plan, notes: Sequence[str] = ()) -> None:
        """What a bench is about to do and the most it can cost, on stderr."""
        from fabricdoc.report.plan import render_plan

        self._print(self._err, render_plan(plan, notes))

    def sizes(self, run: Run, verdict: Verdict | None, names: Sequence[str] = ()) -> None:
        """A run size by size, its layer budget and arrival skew, on the way to the answer; nothing with JSON."""
        from fabricdoc.report.layers import render_layers
        from fabricdoc.report.sizes import render_sizes
        from fabricdoc.report.skew import render_skew

        if not self.as_json:
            self._print(self._out, [*render_sizes(run, verdict, names), *render_layers(run), *render_skew(run), line()])

    def rails(self, run: Run, verdicts: Sequence[Verdict]) -> None:
        """One port or all: a verdict for each objective; nothing with JSON."""
        from fabricdoc.report.rails import render_rails

        if not self.as_json:
            self._print(self._out, render_rails(run, verdicts))

    def notes(self, notes: Sequence[str]) -> None:
        """Sentences that the user should read first, on stderr."""
        self._print(self._err, [line(note) for note in notes])

    def event(self, event: Document) -> None:
        """One line of `--json-lines`: what happened just now. Said to nobody else."""
        if self._lines:
            self._progress.clear()
            self._out.write_exact(json_text(event, one_line=True))

    def progress(self, text: str) -> None:
        """What is going on now: a live line on a terminal, a plain line now and then elsewhere."""
        self._progress.show(text)

    def step(self, title: str) -> None:
        """A heading on stderr: a new part of a long command begins."""
        self._print(self._err, [line(("▸ ", BOLD), (title, BOLD))])

    def next_command(self, command: str, why: str = "") -> None:
        """The command worth running next, on stderr; each one once, and never with JSON."""
        command += self._beside(command)
        if self.as_json or command in self._told:
            return
        self._told.add(command)
        label = line((f"next, to {why}:" if why else "next:", DIM))
        rows = broken(clean(command), self._width(self._err) - 2)
        self._print(self._err, [label, *(Unwrapped((f"  {row}", BOLD)) for row in rows)])

    def _beside(self, command: str) -> str:
        """The store that was named, for a command that reads runs."""
        reads = command.split(" ")[1:2] in (["recommend"], ["export-env"]) and " --store " not in command
        return f" --store {shlex.quote(self._store)}" if self._store and reads else ""

    def error(self, error: FabricdocError) -> None:
        """The end of a command: one line, and what to do; with JSON an error document on stdout too,
        unless the one document was written already."""
        parts: list[RenderableType] = [Unwrapped(("fabricdoc: ", BAD), error.message)]
        if error.fix:
            parts.append(Unwrapped(("fix: ", BOLD), error.fix))
        self._print(self._err, parts)
        if self.as_json and not self._answered:
            from fabricdoc.model.findings import ErrorDocument

            self._json(ErrorDocument(id=error.id, message=error.message, fix=error.fix, status=int(error.status)))

    def close(self) -> None:
        """Take the progress line away and push everything out."""
        self._progress.clear()
        self._out.flush()
        self._err.flush()

    def _json(self, payload: Any) -> None:
        self._progress.clear()
        self._answered = True
        self._out.write_exact(json_text(payload, one_line=self._lines))

    def _print(self, outlet: Outlet, parts: Sequence[RenderableType]) -> None:
        self._progress.clear()
        if outlet.closed:
            return
        console = self._console(outlet)
        for part in parts:
            console.print(part, crop=False)

    def _console(self, outlet: Outlet) -> Console:
        from rich.console import Console

        if outlet not in self._consoles:
            colour = outlet.isatty() and not self._env.get("NO_COLOR") and self._env.get("TERM", "dumb") != "dumb"
            self._consoles[outlet] = Console(
                file=outlet,  # type: ignore[arg-type]  # rich wants IO[str] but uses write, flush, encoding only
                color_system="standard" if colour else None,
                force_terminal=colour,
                no_color=not colour,
                width=self._width(outlet),
                highlight=False,
                markup=False,
                emoji=False,
                legacy_windows=False,
                _environ={},
            )
        return self._consoles[outlet]

    def _width(self, outlet: Outlet) -> int:
        """COLUMNS where it is a number, else the terminal's width, else 80; from 40 to 120."""
        wished = self._env.get("COLUMNS", "")
        width = int(wished) if wished.isdecimal() and len(wished) < 6 else outlet.terminal_columns() or WIDTH
        return min(max(width, NARROWEST), WIDEST)


def _header(kind: str) -> dict[str, Any]:
    return {"schema": f"fabricdoc/{kind}/1", "fabricdoc": __version__, "created": utc_now()}
