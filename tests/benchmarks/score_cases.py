"""How often explain is right on a folder of cases, in one process: `score_cases.py FOLDER [-v]`.

Each case is a folder of input files and an expected.toml (root_cause, accept). Right is a verdict that is accepted,
with a fix, no error or warning where nothing is wrong, and every piece of evidence verbatim at its file and line.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from fabricdoc.explain import explain_files
from fabricdoc.model.findings import Findings


def stands(folder: Path, document: Findings) -> list[str]:
    """Every piece of evidence that is not verbatim in its line."""
    wrong = []
    for finding in document.findings:
        for piece in finding.evidence:
            lines = (folder / piece.file).read_text(errors="replace").splitlines()
            if piece.line is not None and (piece.line > len(lines) or piece.text.strip() not in lines[piece.line - 1]):
                wrong.append(f"{finding.id} {piece.file}:{piece.line}")
    return wrong


def judge(case: Path, *, loud: bool) -> tuple[bool, str]:
    """Whether a case is right, and a line about it."""
    wanted = tomllib.loads((case / "expected.toml").read_text())
    accept = wanted.get("accept", [wanted["root_cause"]])
    with tempfile.TemporaryDirectory() as folder:
        for file in case.iterdir():
            if file.name != "expected.toml":
                shutil.copy(file, folder)
        began = time.perf_counter()
        document = explain_files([folder])
        took = time.perf_counter() - began
        unverified = stands(Path(folder), document)
    alarms = [one.id for one in document.findings if one.severity != "info"]
    right = document.verdict in accept and not unverified and not (wanted["root_cause"] == "none" and alarms)
    right = right and (document.verdict in ("none", "unknown") or bool(document.findings[0].fix))
    others = [one.id for one in document.considered]
    text = f"{'ok   ' if right else 'WRONG'} {case.name}: {document.verdict} (accepted {accept}) beside {others}"
    text += f" {took * 1000:.0f} ms"
    return right, text + (f" NOT VERBATIM {unverified}" if unverified else "") if loud or not right else ""


def main(arguments: list[str]) -> int:
    """Score the folder; always 0."""
    cases = sorted(path.parent for path in Path(arguments[0]).glob("*/expected.toml"))
    found = [judge(case, loud="-v" in arguments) for case in cases]
    sys.stdout.write("".join(f"{text}\n" for _right, text in found if text))
    sys.stdout.write(f"right {sum(right for right, _text in found)}/{len(found)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
