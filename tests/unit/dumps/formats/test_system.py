"""Names of the system, each told by its own command or line."""

from __future__ import annotations

import pytest

from tests.unit.dumps.texts import facts

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
