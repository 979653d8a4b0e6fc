"""A curated preset for nodes nobody has measured: scan, prove the cables, put it together, keep it where asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fabricdoc.errors import ToolError
from fabricdoc.export import starting_preset
from fabricdoc.model.preset import Preset
from fabricdoc.transport import NodeSpec
from fabricdoc.tuning import preset_to_toml
from fabricdoc.workflow.looking import look


def preset_from_scan(
    platform: str, specs: Sequence[NodeSpec], progress: Callable[[str], None], save: Path | None = None
) -> Preset:
    """The starting preset of the platform for these nodes, written to `save` as TOML if that is given.

    Raises as `fabricdoc.export.starting_preset`, and ToolError where the file can't be written.
    """
    preset = starting_preset(platform, look(specs, progress))
    progress(f"{preset.choice}: not measured here; see the comments, and measure with: fabricdoc bench")
    if save is not None:
        try:
            save.write_text(preset_to_toml(preset), encoding="utf-8")
        except OSError as error:
            raise ToolError(f"can't write {save}: {error.strerror}", fix="name another file with --save") from error
    return preset
