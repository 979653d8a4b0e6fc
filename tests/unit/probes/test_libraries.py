"""Libraries in the loader's order: NCCL, its plugins, and the providers that libibverbs would load."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fabricdoc.model.host import Library
from fabricdoc.probes import libraries
from fabricdoc.probes.facts import is_unknown
from tests.sysfs import write
from tests.unit.probes.test_library_file import TEXT, elf
from tests.unit.probes.test_loader_cache import cache

pytestmark = pytest.mark.unit

FLAGS = {"x86_64": 0x0303, "aarch64": 0x0A03}.get(os.uname().machine, 0)
WHEEL = "/venv/lib/python3.12/site-packages"
LIBDIR = "/usr/lib/x86_64-linux-gnu"


def put(root: Path, *paths: str, data: bytes = b"") -> None:
    for path in paths:
        (root / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (root / path.lstrip("/")).write_bytes(data)


def known_to_the_loader(root: Path, *paths: str) -> None:
    put(root, "/etc/ld.so.cache", data=cache(*((FLAGS, path.rpartition("/")[2], path) for path in paths)))


def search(root: Path, packages: tuple[str, ...] = (), **environ: str) -> libraries.Search:
    return libraries.Search(str(root), environ, packages)


def nccl(root: Path, *, hashed: bool = False, packages: tuple[str, ...] = (), **environ: str) -> list[Library]:
    found: list[Any] = libraries.libnccl(search(root, packages, **environ), hashed=hashed)
    return [Library.model_validate(one) for one in found]


def test_every_nccl_in_the_loaders_order(tmp_path: Path) -> None:
    own, system, wheel = "/opt/nccl/libnccl.so.2", f"{LIBDIR}/libnccl.so.2", f"{WHEEL}/nvidia/nccl/lib/libnccl.so.2"
    forced = "/forced/libnccl.so.2"
    put(tmp_path, own, forced, system, wheel, "/usr/lib/libnccl.so.2", "/other/libx.so")
    for number, path in enumerate((own, forced, system, wheel, "/usr/lib/libnccl.so.2")):
        put(tmp_path, path, data=elf(f"NCCL version 2.{number}.0+cuda13.0\0".encode()))
    known_to_the_loader(tmp_path, system)
    found = nccl(
        tmp_path, packages=(WHEEL,), LD_LIBRARY_PATH=":relative:/gone:/opt/nccl", LD_PRELOAD=f"/other/libx.so {forced}"
    )
    assert [one.path for one in found] == [forced, own, system, "/usr/lib/libnccl.so.2", wheel]
    assert [one.version for one in found] == [f"2.{number}.0+cuda13.0" for number in (1, 0, 2, 4, 3)]


def test_one_file_under_two_names_is_one(tmp_path: Path) -> None:
    put(tmp_path, "/usr/lib/libnccl.so.2.30.7", data=elf(TEXT))
    (tmp_path / "usr/lib/libnccl.so.2").symlink_to("libnccl.so.2.30.7")
    (tmp_path / "lib").symlink_to("usr/lib")
    known_to_the_loader(tmp_path, "/usr/lib/libnccl.so.2")
    assert [one.path for one in nccl(tmp_path)] == ["/usr/lib/libnccl.so.2"]


def test_the_hash_only_when_it_is_asked_for(tmp_path: Path) -> None:
    put(tmp_path, "/usr/lib/libnccl.so.2", data=elf(TEXT))
    (plain,), (hashed,) = nccl(tmp_path), nccl(tmp_path, hashed=True)
    assert "not asked for" in str(plain.sha256)
    assert isinstance(hashed.sha256, str)
    assert len(hashed.sha256) == 64


def test_a_file_that_is_no_library_is_listed_without_a_version(tmp_path: Path) -> None:
    put(tmp_path, "/usr/lib/libnccl.so.2", data=b"#!/bin/sh")
    (found,) = nccl(tmp_path)
    assert "no NCCL version" in str(found.version)


def test_a_machine_without_nccl_has_none(tmp_path: Path) -> None:
    assert nccl(tmp_path, packages=(WHEEL,), LD_LIBRARY_PATH="/opt") == []


def test_plugins_by_name_on_the_loaders_way(tmp_path: Path) -> None:
    put(
        tmp_path,
        "/opt/hpcx/libnccl-net.so",
        "/opt/hpcx/libnccl-tuner-x.so",
        "/opt/hpcx/libnccl.so.2",
        "/opt/hpcx/libnccl-net.so.txt",
        "/opt/aws/libnccl-net-ofi.so",
        f"{LIBDIR}/libnccl-net.so.0",
    )
    known_to_the_loader(tmp_path, f"{LIBDIR}/libnccl-net.so.0", f"{LIBDIR}/libnccl.so.2")
    found = libraries.nccl_plugins(search(tmp_path, LD_LIBRARY_PATH="/opt/aws:/opt/hpcx"))
    assert [Library.model_validate(one).path for one in found] == [
        "/opt/aws/libnccl-net-ofi.so",
        "/opt/hpcx/libnccl-net.so",
        "/opt/hpcx/libnccl-tuner-x.so",
        f"{LIBDIR}/libnccl-net.so.0",
    ]


def test_a_folder_full_of_plugins_is_bounded(tmp_path: Path) -> None:
    put(tmp_path, *(f"/opt/libnccl-net-{number}.so" for number in range(40)))
    assert len(libraries.nccl_plugins(search(tmp_path, LD_LIBRARY_PATH="/opt"))) == libraries.MAX_FOUND


def verbs(root: Path, *providers: str, drivers: dict[str, str] | None = None) -> Any:
    put(root, f"{LIBDIR}/libibverbs.so.1.14.50.0", *(f"{LIBDIR}/libibverbs/{one}" for one in providers))
    (root / f"{LIBDIR}/libibverbs.so.1".lstrip("/")).symlink_to("libibverbs.so.1.14.50.0")
    known_to_the_loader(root, f"{LIBDIR}/libibverbs.so.1")
    write(root, {f"etc/libibverbs.d/{name}": text for name, text in (drivers or {}).items()})
    return libraries.providers(search(root))


def test_providers_that_are_there_and_named(tmp_path: Path) -> None:
    found = verbs(
        tmp_path,
        "libmlx5-rdmav34.so",
        "librxe-rdmav34.so",
        "libefa-rdmav34.so",
        "notes.txt",
        drivers={
            "mlx5.driver": "driver mlx5",
            "rxe.driver": "# soft\ndriver rxe",
            "x.driver": "driver gone",
            "y": "driver efa",
        },
    )
    assert found == ["libmlx5-rdmav34.so", "librxe-rdmav34.so"]


def test_without_a_folder_of_settings_all_that_are_there_count(tmp_path: Path) -> None:
    assert verbs(tmp_path, "libmlx5-rdmav34.so") == ["libmlx5-rdmav34.so"]


def test_a_driver_named_by_its_path(tmp_path: Path) -> None:
    assert verbs(tmp_path, "libmlx5-rdmav34.so", drivers={"m.driver": f"driver {LIBDIR}/libibverbs/libmlx5"}) == [
        "libmlx5-rdmav34.so"
    ]


def test_an_image_without_providers_has_none(tmp_path: Path) -> None:
    assert verbs(tmp_path) == []


def test_an_image_without_libibverbs_is_unknown(tmp_path: Path) -> None:
    assert is_unknown(libraries.providers(search(tmp_path)))


def test_the_cache_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    monkeypatch.setattr(libraries, "cached", lambda path: reads.append(path) or {})
    found = search(tmp_path)
    libraries.libnccl(found, hashed=False)
    libraries.nccl_plugins(found)
    libraries.providers(found)
    assert reads == [f"{tmp_path}/etc/ld.so.cache"]
