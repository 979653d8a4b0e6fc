"""`nvidia-smi`, `nvidia-smi -L`, `nvidia-smi -q`: GPUs, driver, who uses them. "N/A" is a fact on GB10: no memory size.

Of -q only the lines that the model has a place for; `topo -m` is read in `topo`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fabricdoc.dumps.formats.base import Format, Line, known, pci, whole
from fabricdoc.dumps.told import Told

DRIVER = re.compile(r"\|\s*NVIDIA-SMI\s+\S+.*?Driver Version:\s*(?P<driver>[\w.]+)")
ROW = re.compile(
    r"\|\s+(?P<index>\d{1,4})\s{1,4}(?P<name>\S.*?)\s+(?:On|Off|N/A|WDDM|TCC)\s*\|\s*(?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s"
)
SECOND = re.compile(
    r"\|\s*(?P<fan>N/A|ERR!|\d+%)\s+(?P<temperature>N/A|\d+)C?\s+P\d+\s+(?P<power>N/A|\d+)W?\s*/\s*\S+\s*\|\s*"
    r"(?P<memory>Not Supported|N/A|\d+MiB\s*/\s*(?P<total>\d+)MiB)\s*\|\s*(?P<use>\d+)?"
)
PROCESS = re.compile(
    r"\|\s+(?P<gpu>\d{1,4})\s+(?:\S+)\s+(?:\S+)\s+(?P<pid>\d{1,10})\s+(?P<type>[CGM+]{1,4})\s+(?P<name>\S.*?)\s+(?P<memory>N/A|\d+MiB)\s*\|"
)
NO_PROCESS = re.compile(r"\|\s+No running processes found")
LISTED = re.compile(r"GPU (?P<index>\d{1,4}): (?P<name>.+?) \(UUID: (?P<uuid>[\w-]+)\)")
Q_GPU = re.compile(r"GPU (?P<pci>[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s*$")
Q_KEY = re.compile(r"(?P<indent>\s*)(?P<key>[A-Za-z][\w .()/-]*?)\s*:\s(?P<value>.*?)\s*$")
Q_SECTION = re.compile(r"(?P<indent>\s+)(?P<name>[A-Z][\w /-]*?)\s*$")
CLOCKS = {"Clocks": "sm_clock_mhz", "Max Clocks": "sm_clock_max_mhz"}


def read(lines: Sequence[Line], _argument: str) -> Iterator[Told]:
    """Facts of every GPU; -q numbers GPUs in the order it prints them."""
    index: int | None = None
    q_index, section = -1, ""
    pids: dict[int, set[int]] = {}
    first: dict[int, int] = {}
    for number, text in lines:
        if match := DRIVER.match(text):
            yield Told(("host", "nvidia_driver"), match["driver"], number)
        elif match := ROW.match(text):
            index = int(match["index"])
            yield from known(("gpu", index, "name"), match["name"], number)
            yield from known(("gpu", index, "pci"), pci(match["pci"]), number)
        elif index is not None and (match := SECOND.match(text)):
            yield from _second(index, match, number)
            index = None
        elif match := PROCESS.match(text):
            pids.setdefault(int(match["gpu"]), set()).add(int(match["pid"]))
            first.setdefault(int(match["gpu"]), number)
        elif match := LISTED.match(text):
            yield Told(("gpu", int(match["index"]), "name"), match["name"], number)
            yield Told(("gpu", int(match["index"]), "uuid"), match["uuid"], number)
        elif match := Q_GPU.match(text):
            q_index, section = q_index + 1, ""
            yield from known(("gpu", q_index, "pci"), pci(match["pci"]), number)
        elif match := Q_KEY.match(text):
            yield from _long(q_index, section, match["key"], match["value"], number)
        elif match := Q_SECTION.match(text):
            section = match["name"]
    for gpu, users in pids.items():
        yield Told(("gpu", gpu, "processes"), sorted(users), first[gpu])


def _second(index: int, match: re.Match[str], number: int) -> Iterator[Told]:
    yield from known(("gpu", index, "temperature_c"), whole(match["temperature"]), number)
    yield from known(("gpu", index, "utilization_percent"), whole(match["use"] or ""), number)
    power = whole(match["power"].removesuffix("W"))
    yield from known(("gpu", index, "power_w"), None if power is None else float(power), number)
    total = whole(match["total"] or "")
    yield from known(("gpu", index, "memory_bytes"), None if total is None else total << 20, number)
    if match["memory"] in ("Not Supported", "N/A"):
        unified = {"unknown": "nvidia-smi: not supported (unified memory)"}
        yield Told(("gpu", index, "memory_bytes"), unified, number)


def _long(index: int, section: str, key: str, value: str, number: int) -> Iterator[Told]:
    """A line of -q."""
    if key == "Driver Version":
        yield Told(("host", "nvidia_driver"), value, number)
    if index < 0 or value in ("N/A", "None", "Unknown Error"):
        return
    if key == "Product Name":
        yield Told(("gpu", index, "name"), value, number)
    elif key == "GPU UUID":
        yield Told(("gpu", index, "uuid"), value, number)
    elif key == "SM" and section in CLOCKS:
        yield from known(("gpu", index, CLOCKS[section]), whole(value), number)
    elif key == "GPU Current Temp":
        yield from known(("gpu", index, "temperature_c"), whole(value), number)


FORMAT = Format(
    tool="nvidia-smi",
    command=r"nvidia-smi\b(?!.*\btopo\b)",
    file=r"nvidia[-_]?smi(?:[-_. ](?:q|L))?",
    begins=r"\|\s*NVIDIA-SMI\s+\S|=+NVSMI LOG=+|GPU \d+: .+\(UUID: |\+-{10,}[-+]*\+\s*$"
    r"|GPU [0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:",
    goes_on=r"\||[+=-]{3,}|\s+\S|[A-Z][a-z]{2} [A-Z][a-z]{2}\s+\d"
    r"|(?:Timestamp|Driver Version|CUDA Version|Attached GPUs)\s*:",
    read=read,
)
