"""A launch that the store refused (disk full, permission): its last refuge is one JSON file in another folder.

Only writes; the caller picks the folder and tells the user where the file is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

from fabricdoc.errors import StoreError
from fabricdoc.model.run import Launch
from fabricdoc.store.packing import SampleKey
from fabricdoc.store.place import make_folder
from fabricdoc.sudo import give_away

SCHEMA = "fabricdoc/rescued-launch/1"


def rescue(run_id: str, launch: Launch, samples: Mapping[SampleKey, Sequence[float]], folder: Path) -> Path:
    """Write the launch with its samples (µs) as JSON into `folder`, never over a file that is there.

    Returns the file, on disk when this returns. Raises StoreError when that folder can't be written either.
    """
    text = json.dumps(
        {
            "schema": SCHEMA,
            "run": run_id,
            "launch": launch.model_dump(mode="json"),
            "samples": [{**key._asdict(), "values": list(values)} for key, values in samples.items()],
        }
    )
    try:
        make_folder(folder)
        return _write_new(folder, f"{run_id}-launch-{launch.number:04d}", text.encode())
    except OSError as error:
        raise StoreError(
            f"launch {launch.number} can't be kept in {folder} either: {error.strerror}",
            fix="free space, or name a writable place with --store",
        ) from error


def _write_new(folder: Path, stem: str, data: bytes) -> Path:
    """Write beside, sync, then rename to the first free name, so that a kill leaves no half a file under it."""
    draft = folder / f".{stem}.{os.getpid()}.part"
    try:
        with draft.open("xb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        give_away(draft)
        return draft.rename(_free_name(folder, stem))
    finally:
        draft.unlink(missing_ok=True)


def _free_name(folder: Path, stem: str) -> Path:
    names = (f"{stem}.json" if number == 1 else f"{stem}-{number}.json" for number in count(1))
    return next(folder / name for name in names if not (folder / name).exists())
