"""The demo's result folder: made before anything starts, so that a full or read-only disk is found early."""

from __future__ import annotations

from pathlib import Path

from fabricdoc.errors import ToolError


class Folder:
    """A folder that documents are left in; `left` lists them in order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.left: list[Path] = []
        try:
            path.mkdir(parents=True, exist_ok=True)
            probe = path / ".writable"
            probe.write_bytes(b"x" * 4096)
            probe.unlink()
        except OSError as error:
            raise ToolError(
                f"can't write into {path}: {error.strerror}", fix="name another folder with -o DIR", id="folder"
            ) from error

    def leave(self, name: str, text: str) -> None:
        """Write one document, whole or not at all."""
        target = self.path / name
        partial = self.path / f".{name}.partial"
        try:
            partial.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
            partial.replace(target)
        except OSError as error:
            raise ToolError(
                f"can't write {target}: {error.strerror}", fix="free space, or name another folder with -o DIR"
            ) from error
        self.left.append(target)
