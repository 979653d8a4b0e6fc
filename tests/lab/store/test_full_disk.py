"""A really full disk: a small tmpfs in a mount namespace of our own."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest

from fabricdoc.errors import StoreError
from fabricdoc.model.run import Candidate, Estimate, Launch, Plan, Rank, Run
from fabricdoc.store import RunStore, SampleKey, rescue

pytestmark = pytest.mark.lab

CLONE_NEWNS, CLONE_NEWUSER, MS_REC, MS_PRIVATE = 0x20000, 0x10000000, 0x4000, 0x40000


def _small_disk(folder: Path, size: int) -> None:
    """Mount a tmpfs of `size` bytes on `folder`, seen by this process alone. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    flags = CLONE_NEWNS if os.geteuid() == 0 else CLONE_NEWNS | CLONE_NEWUSER
    steps = (
        lambda: libc.unshare(flags),
        lambda: libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None),
        lambda: libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, b"size=%d" % size),
    )
    for step in steps:
        if step() != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _fill_and_go_on(disk: Path, shelter: Path) -> None:
    _small_disk(disk, 1 << 20)
    plan = Plan(
        backend="gloo", ranks=(Rank(rank=0, node="alpha", local_rank=0),), candidates=(Candidate(name="base"),),
        shapes=(), views=("eager",), blocks=1, seed=1, launch_deadline_s=1.0, profile="p", objective="mix",
        estimate=Estimate(launches=1, seconds=1.0, bytes_per_link=0, memory_per_node=0),
    )  # fmt: skip
    values = tuple(index / 7 for index in range(8000))
    samples = {SampleKey("eager", "all_reduce", 8, "bfloat16", 0): values}
    (disk / "ballast").write_bytes(bytes(200_000))
    with RunStore.open(disk / "state/runs.sqlite", write=True) as store:
        store.begin(Run(id="run-1", plan=plan, nodes=()))
        number = 0
        while True:
            number += 1
            launch = Launch(
                number=number, round="search", block=0, position=0, candidate="base", status="ok", seconds=1.0,
                started="2026-11-29T10:00:00Z",
            )  # fmt: skip
            try:
                store.append_launch("run-1", launch, samples)
            except StoreError as error:
                assert "no space left" in error.message, error.message
                break
            assert number < 100, "a disk of 1 MiB took more than it has"
        assert number > 1
        assert rescue("run-1", launch, samples, shelter).stat().st_size > 8000
        with pytest.raises(StoreError, match="can't be kept"):
            rescue("run-1", launch, samples, disk)
        assert not [path for path in disk.iterdir() if path.suffix in (".json", ".part")]
        assert [kept.number for kept in store.load().launches] == list(range(1, number))
        (disk / "ballast").unlink()
        store.append_launch("run-1", launch, samples)
        assert store.samples("run-1", number) == samples
        assert store._connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_full_disk_loses_nothing_and_the_store_goes_on_once_there_is_space(tmp_path: Path) -> None:
    (disk := tmp_path / "disk").mkdir()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            _fill_and_go_on(disk, tmp_path / "shelter")
            status = 0
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode()[:4000])
            raise
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read().decode()
    assert os.waitpid(child, 0)[1] == 0, told
    assert [path.name for path in (tmp_path / "shelter").iterdir()]
