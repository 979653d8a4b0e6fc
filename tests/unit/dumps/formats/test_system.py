"""Names of the system, each told by its own command or line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.dumps.texts import facts, line_of

pytestmark = pytest.mark.unit


MACHINE = "0123456789abcdef0123456789abcdef"
BOOT = "01234567-89ab-cdef-0123-456789abcdef"
UNAME = "Linux spark-a 6.14.0-1013-nvidia #13 SMP PREEMPT_DYNAMIC Mon Oct 1 aarch64 aarch64 aarch64 GNU/Linux\n"
NO_FOLDER = "ls: cannot access '/dev/infiniband': No such file or directory\n"
LONG_LIST = "total 0\ncrw-rw-rw- 1 root root 231, 192 Nov  1 10:00 uverbs0\n"
RELEASE = 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 24.04.3 LTS"\nID=ubuntu\n'


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        (UNAME, "x", {"hostname": "spark-a", "kernel": "6.14.0-1013-nvidia", "arch": "aarch64"}),
        ("$ uname -r\n6.14.0-1013-nvidia\n", "x", {"kernel": "6.14.0-1013-nvidia"}),
        ("$ hostname\nspark-a\n", "x", {"hostname": "spark-a"}),
        ("a.example\nb.example\n", "hostnames.txt", {}),
        (RELEASE, "os-release", {"os": "Ubuntu 24.04.3 LTS"}),
        (f"$ cat /etc/machine-id\n{MACHINE}\n", "x", {"machine_id": MACHINE}),
        (f"$ cat /proc/sys/kernel/random/boot_id\n{BOOT}\n", "x", {"boot_id": BOOT}),
        ("$ ls /dev/infiniband\nrdma_cm  uverbs0\n", "x", {"infiniband_devices": ["rdma_cm", "uverbs0"]}),
        (f"$ ls -l /dev/infiniband/\n{LONG_LIST}", "x", {"infiniband_devices": ["uverbs0"]}),
        (f"$ ls /dev/infiniband\n{NO_FOLDER}", "x", {"infiniband_devices": []}),
        (NO_FOLDER, "x", {"infiniband_devices": []}),
        (f"{MACHINE}\n", "x", {}),
    ],
)
def test_each(text: str, name: str, told: dict[str, object]) -> None:
    assert facts(text, name) == {("host", key): value for key, value in told.items()}


@pytest.mark.parametrize("arch", ["x86_64", "aarch64", "ppc64le", "s390x", "riscv64"])
def test_machines(arch: str) -> None:
    assert facts(f"Linux h 6.8.0-60-generic #63 SMP {arch} GNU/Linux\n")[("host", "arch")] == arch


@pytest.mark.parametrize(
    "line",
    ["Linux is 6 feet under", "Linux h 6.8", "linux h 6.8.0 x86_64", "Linux h six #1 SMP x86_64 x86_64 GNU/Linux"],
)
def test_sentences_about_linux_are_no_uname(line: str) -> None:
    assert facts(f"{line}\n") == {}


@pytest.mark.parametrize("names", ["one\ntwo\n", "\n", "a b\n", "-a\n"])
def test_hostname_prints_one_name(names: str) -> None:
    assert facts(f"$ hostname\n{names}") == {}


@pytest.mark.parametrize("line", ["PRETTY_NAME=", 'PRETTY_NAME=""', f"PRETTY_NAME={'x' * 201}", "NAME=Ubuntu"])
def test_a_release_without_its_name(line: str) -> None:
    assert facts(f"$ cat /etc/os-release\n{line}\n") == {}


def test_single_quotes_and_none() -> None:
    assert facts("PRETTY_NAME='Debian 12'\n") == facts("PRETTY_NAME=Debian 12\n") == {("host", "os"): "Debian 12"}


@pytest.mark.parametrize("word", [MACHINE[:-1], f"{MACHINE}0", MACHINE.upper(), MACHINE.replace("0", "g")])
def test_what_is_no_machine_id(word: str) -> None:
    assert facts(f"$ cat /etc/machine-id\n{word}\n") == {}


@pytest.mark.parametrize("word", [BOOT[:-1], BOOT.replace("-", "_"), BOOT.upper()])
def test_what_is_no_boot_id(word: str) -> None:
    assert facts(f"$ cat /proc/sys/kernel/random/boot_id\n{word}\n") == {}


def test_device_files_are_sorted_and_named_once() -> None:
    text = "$ ls /dev/infiniband\nuverbs1  uverbs0  rdma_cm  uverbs1\nby-ibdev\n"
    assert facts(text) == {("host", "infiniband_devices"): ["rdma_cm", "uverbs0", "uverbs1"]}


def test_another_missing_folder_says_nothing_of_devices() -> None:
    assert (
        facts("$ ls /dev/infiniband /dev/nothing\nls: cannot access '/dev/nothing': No such file or directory\n") == {}
    )
    assert facts("$ ls /dev/infiniband\ntotal 0\n") == {}


@given(
    st.sampled_from(["uname -a", "hostname", "cat /etc/os-release", "cat /etc/machine-id", "ls /dev/infiniband"]),
    st.text(max_size=120),
)
def test_any_output_tells_bounded_words_or_nothing(command: str, output: str) -> None:
    for path, value in facts(f"$ {command}\n{output}\n").items():
        assert (
            path[0] in ("host", "address", "route", "neighbour", "netdev", "sysctl", "acs", "pcie")
            and value is not None
        )
        assert len(str(value)) <= 300


@pytest.mark.parametrize("name", ["hostname.txt", "spark1-hostname.txt", "hostnames"])
def test_a_file_of_that_name_holds_it(name: str) -> None:
    assert facts("spark-a\n", name) == {("host", "hostname"): "spark-a"}


@pytest.mark.parametrize(("name", "text"), [("machine-id", MACHINE), ("boot_id.txt", BOOT)])
def test_ids_in_files_of_their_names(name: str, text: str) -> None:
    assert list(facts(f"{text}\n", name).values()) == [text]


def test_addresses_of_hostname_are_no_name() -> None:
    assert facts("$ hostname -I\n10.0.0.1 10.0.1.1\n") == {}


def test_a_name_of_no_letters_is_none() -> None:
    assert facts("$ hostname\n.hidden\n") == facts("$ hostname\n-x\n") == {}


def test_each_is_told_on_its_line() -> None:
    assert line_of(RELEASE, ("host", "os"), "os-release") == 2
