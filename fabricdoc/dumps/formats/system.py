"""Names of the system: `uname -a`, `hostname`, /etc/os-release, /etc/machine-id, boot id, `ls /dev/infiniband`.

One format for each, since each is told by its own command or line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabricdoc.dumps.formats.base import Format, Line
from fabricdoc.dumps.told import Told

UNAME = re.compile(
    r"Linux (?P<host>[\w.-]{1,253}) (?P<kernel>\d+\.\d+\S{0,100}) .*?\b(?P<arch>x86_64|aarch64|ppc64le|s390x|riscv64)\b"
)
HOSTNAME = re.compile(r"\s*([A-Za-z0-9][\w.-]{0,252})\s*$")


def read_uname(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """Host, kernel and machine of `uname -a`; a bare `uname -r` says the kernel alone."""
    for number, text in lines:
        if match := UNAME.match(text):
            yield Told(("host", "hostname"), match["host"], number)
            yield Told(("host", "kernel"), match["kernel"], number)
            yield Told(("host", "arch"), match["arch"], number)
        elif match := re.match(r"\s*(\d+\.\d+\.\d+[\w.+-]{0,100})\s*$", text):
            yield Told(("host", "kernel"), match[1], number)


def read_hostname(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """The one line of `hostname`; several names in one file are of nobody."""
    found = [(number, match[1]) for number, text in lines if (match := HOSTNAME.match(text))]
    if len(found) == 1:
        yield Told(("host", "hostname"), found[0][1], found[0][0])


def read_release(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """PRETTY_NAME."""
    for number, text in lines:
        if match := re.match(r"PRETTY_NAME=[\"']?([^\"']{1,200})[\"']?\s*$", text):
            yield Told(("host", "os"), match[1], number)


def read_machine_id(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """The id: 32 hexadecimal digits."""
    for number, text in lines:
        if match := re.match(r"\s*([0-9a-f]{32})\s*$", text):
            yield Told(("host", "machine_id"), match[1], number)


def read_boot_id(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """The id: a UUID."""
    for number, text in lines:
        if match := re.match(r"\s*([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\s*$", text):
            yield Told(("host", "boot_id"), match[1], number)


def read_devices(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """Device files of RDMA; none where `ls` says that there is no such folder."""
    names: list[str] = []
    for number, text in lines:
        if "No such file or directory" in text and "/dev/infiniband" in text:
            yield Told(("host", "infiniband_devices"), [], number)
            return
        found = [word.rpartition("/")[2] for word in text.split()]
        names += [word for word in found if re.fullmatch(r"uverbs\d+|rdma_cm|umad\d+|issm\d+|ucm\d+", word)]
    if names:
        yield Told(("host", "infiniband_devices"), sorted(set(names)), lines[0].number)


NEVER = r"(?!)"
FORMATS = (
    Format(
        tool="uname",
        command=r"uname\b",
        file=r"uname",
        begins=r"Linux \S+ \d+\.\d+\S* .*\b(?:x86_64|aarch64|ppc64le|s390x|riscv64)\b",
        goes_on=r"\s*\d+\.\d+\.\d+\S*\s*$",
        read=read_uname,
    ),
    Format(
        tool="hostname",
        command=r"(?:hostname|hostnamectl hostname|cat /etc/hostname)\b(?!\s+-I)",
        file=r"hostnames?",
        begins=NEVER,
        goes_on=r"\s*[A-Za-z0-9][\w.-]*\s*$",
        read=read_hostname,
    ),
    Format(
        tool="os-release",
        command=r"(?:cat|grep)\b.*/etc/os-release",
        file=r"os[-_]release",
        begins=r"PRETTY_NAME=",
        goes_on=r"[A-Z_]+=",
        read=read_release,
    ),
    Format(
        tool="machine-id",
        command=r"cat\s+/etc/machine-id",
        file=r"machine[-_]id",
        begins=NEVER,
        goes_on=r"\s*[0-9a-f]{32}\s*$",
        read=read_machine_id,
    ),
    Format(
        tool="boot-id",
        command=r"cat\s+/proc/sys/kernel/random/boot_id",
        file=r"boot[-_]id",
        begins=NEVER,
        goes_on=r"\s*[0-9a-f-]{36}\s*$",
        read=read_boot_id,
    ),
    Format(
        tool="dev-infiniband",
        command=r"ls\b.*/dev/infiniband",
        file=r"dev[-_]infiniband",
        begins=r"/dev/infiniband/\S+|ls: .*'?/dev/infiniband'?: No such"
        r"|[cl][rwx-]{9}.*\s(?:/dev/infiniband/)?(?:uverbs\d+|rdma_cm|umad\d+|issm\d+)",
        goes_on=r"total \d+|d[rwx-]{9}|(?:\s*(?:uverbs\d+|rdma_cm|umad\d+|issm\d+|by-ibdev|by-path))+\s*$",
        read=read_devices,
    ),
)
