"""Rules of memory and direct access: limits, /dev/shm, DMA-BUF, peermem, ACS, IOMMU; each with what looks like it."""

from __future__ import annotations

import pytest

from tests.excerpts import bare, completion, log, told, using, version, warn

pytestmark = pytest.mark.unit

Files = dict[str, str]
IB, SOCKETS = "Using network IB", "Using network Socket"
GDR = "Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA"
PEER = "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"
LIMIT = "max locked memory           (kbytes, -l) {}\n"
ACS = "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir{0} CmpltRedir{0} UpstreamFwd{0} EgressCtrl- DirectTrans-\n"
BRIDGE = "00:01.1 PCI bridge: Intel Corporation Device 352a\n"
HANG = (
    "[rank0]:[E1130 10:00:00 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) "
    "ran for 600012 milliseconds before timing out.\n"
)


def failed(call: str, why: str, place: str = "misc/ibvwrap.cc:278") -> str:
    return warn(place, f"Call to {call} failed with error {why}")


MEMLOCK = {
    "registration": {
        "a.log": log("alpha", IB, failed("ibv_reg_mr", "Cannot allocate memory")),
        "ulimit.txt": LIMIT.format(64),
    },
    "queue pair": {
        "a.log": log("alpha", IB, failed("ibv_create_qp", "Cannot allocate memory")),
        "alpha_ulimit.txt": LIMIT.format(8192),
    },
    "no limit told": {"a.log": log("alpha", IB, failed("ibv_reg_mr_iova2", "Cannot allocate memory"))},
    "with errno": {
        "a.log": log(
            "alpha",
            IB,
            warn("misc/ibvwrap.cc:20", "Call to ibv_create_cq failed with error Cannot allocate memory errno 12"),
        )
    },
}
SHM = {
    "new words": {
        "a.log": log(
            "alpha",
            SOCKETS,
            warn(
                "misc/shmutils.cc:88",
                "Error: failed to extend /dev/shm/nccl-XyZ to 9637892 bytes, error: No space left on device (28)",
            ),
        )
    },
    "old words": {
        "a.log": log(
            "alpha",
            warn("include/shm.h:28", "Call to posix_fallocate failed : No space left on device"),
            "include/shm.h:41 -> 2",
            warn(
                "include/shm.h:48", "Error while creating shared memory segment nccl-shm-recv-5d-0-1-0 (size 9637888)"
            ),
        )
    },
    "oldest words": {
        "a.log": log(
            "alpha", warn("shm.cc:9", "Unable to allocate shared memory (4263936 bytes) : No space left on device")
        )
    },
    "bus error": {"a.log": log("alpha", SOCKETS) + "Bus error (core dumped): insufficient shared memory (shm)\n"},
}
DMABUF = {
    "old words": {
        "a.log": log(
            "alpha", IB, "DMA-BUF is available on GPU device 0", failed("ibv_reg_dmabuf_mr", "Operation not supported")
        )
    },
    "with errno": {
        "a.log": log(
            "alpha",
            IB,
            warn("misc/ibvwrap.cc:288", "Call to ibv_reg_dmabuf_mr failed with error Operation not supported errno 95"),
        )
    },
}
OFF = "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"
PEERMEM = {
    "loaded and off": {
        "a.log": log("alpha", using("mlx5_0"), OFF, IB),
        "lsmod.txt": "Module                  Size  Used by\nnvidia_peermem         16384  0\n",
    },
    "bad address": {"a.log": log("alpha", IB, failed("ibv_reg_mr", "Bad address"))},
    "the module refuses": {
        "a.log": log("alpha", OFF, IB),
        "dmesg.txt": "[ 5.1] nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err -22)\n",
    },
}
GPUDIRECT = {
    "protection error": {"a.log": log("alpha", GDR, IB, completion(4, 81)), "lspci.txt": BRIDGE + ACS.format("+")},
    "no dump": {"a.log": log("alpha", GDR, IB, completion(4, 81))},
    "remote access": {"a.log": log("alpha", GDR, IB, completion(10, 136)), "lspci_acs.txt": ACS.format("+")},
}
P2P = {
    "log ends": {"a.log": log("alpha", PEER, "Connected all rings"), "lspci.txt": BRIDGE + ACS.format("+")},
    "watchdog": {"a.log": log("alpha", PEER) + HANG, "lspci_acs.txt": ACS.format("+")},
}
IOMMU = {
    "command line": {
        "a.log": log("alpha", PEER) + HANG,
        "cmdline.txt": "BOOT_IMAGE=/vmlinuz-6.8.0 root=/dev/sda2 ro amd_iommu=on\n",
    },
    "faults": {
        "a.log": log("alpha", PEER),
        "dmesg.txt": "[ 9.1] nvidia 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x40 address=0x1000]\n",
    },
    "kernel's words": {
        "a.log": log("alpha", PEER, "Connected all rings"),
        "dmesg.txt": "[ 0.5] iommu: Default domain type: Translated\n",
    },
}


def rows(table: dict[str, Files]) -> list[object]:
    return [pytest.param(files, id=name) for name, files in table.items()]


def test_an_old_release_names_no_reason_and_the_limit_does() -> None:
    failed = {"a.log": log("alpha", warn("ibvwrap.cc:252", "Call to ibv_create_qp failed"))}
    assert told({**failed, "ulimit.txt": LIMIT.format("64")}).verdict == "memlock-limit-too-low"
    assert told({**failed, "ulimit.txt": LIMIT.format("unlimited")}).verdict == "unknown"


def test_a_queue_that_an_old_release_can_not_make_is_perhaps_one_of_memory() -> None:
    document = told({"a.log": log("alpha", warn("ibvwrap.cc:268", "Call to ibv_create_cq failed"))})
    assert (document.verdict, document.findings[0].confidence) == ("memlock-limit-too-low", "possible")
    assert "ulimit -l" in document.findings[0].cause


@pytest.mark.parametrize("files", rows(MEMLOCK))
def test_a_low_limit_is_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "memlock-limit-too-low"
    assert document.findings[0].confidence == ("certain" if len(files) > 1 else "likely")


def test_memory_that_is_not_limited_is_another_cause() -> None:
    files = {**MEMLOCK["registration"], "ulimit.txt": LIMIT.format("unlimited")}
    document = told(files)
    assert document.verdict == "unknown"
    assert "memlock-limit-too-low" in [one.id for one in document.considered]


@pytest.mark.parametrize("files", rows(SHM))
def test_a_small_shm_is_told(files: Files) -> None:
    assert told(files).verdict == "dev-shm-too-small"


def test_a_segment_that_is_made_is_nothing_wrong() -> None:
    assert told({"a.log": log("alpha", "Channel 00 : 1[1] -> 0[0] via SHM/direct/direct", SOCKETS)}).verdict == "none"


@pytest.mark.parametrize("files", rows(DMABUF))
def test_a_driver_without_dmabuf_is_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "dmabuf-unsupported"
    assert any("NCCL_DMABUF_ENABLE=0" in line for line in document.findings[0].fix)


def test_another_failure_of_dmabuf_is_not_unsupported() -> None:
    document = told({"a.log": log("alpha", IB, failed("ibv_reg_dmabuf_mr", "Cannot allocate memory"))})
    assert document.verdict == "unknown"
    assert "dmabuf-unsupported" in [one.id for one in document.considered]


@pytest.mark.parametrize("files", rows(PEERMEM))
def test_an_unregistered_module_is_told(files: Files) -> None:
    assert told(files).verdict == "peermem-not-registered"


def test_gpudirect_that_is_off_without_the_module_is_harmless() -> None:
    document = told({"a.log": log("alpha", using("mlx5_0"), OFF, IB)})
    assert document.verdict == "none"
    assert "gpudirect-off" in [one.id for one in document.findings]


def test_gpudirect_that_is_off_on_a_gb10_is_right() -> None:
    files = {**PEERMEM["loaded and off"], "smi.txt": "| 0  NVIDIA GB10  On |\n"}
    document = told(files)
    assert document.verdict == "none"
    assert "peermem-not-registered" in [one.id for one in document.considered]


@pytest.mark.parametrize("files", rows(GPUDIRECT))
def test_redirected_gpudirect_is_told(files: Files) -> None:
    document = told(files)
    assert document.verdict == "acs-breaks-gpudirect"
    assert document.findings[0].confidence == ("certain" if len(files) > 1 else "likely")


def test_bridges_without_redirect_speak_against_it() -> None:
    files = {"a.log": log("alpha", GDR, IB, completion(4, 81)), "lspci.txt": BRIDGE + ACS.format("-")}
    document = told(files)
    assert document.verdict == "unknown"
    assert "acs-breaks-gpudirect" in [one.id for one in document.considered]


@pytest.mark.parametrize("files", rows(P2P))
def test_redirected_peer_access_is_told(files: Files) -> None:
    assert told(files).verdict == "acs-breaks-p2p"


PASSED = "# Out of bounds values : 0 OK\n"


def test_redirects_and_translation_of_a_run_that_ends_well_are_only_considered() -> None:
    files = {"a.log": log("alpha", PEER, "Connected all rings") + PASSED, "lspci.txt": BRIDGE + ACS.format("+")}
    document = told({**files, "cmdline.txt": IOMMU["command line"]["cmdline.txt"]})
    assert document.verdict == "none"
    assert [one.id for one in document.considered] == ["iommu-breaks-p2p", "acs-breaks-p2p"]
    assert told({**files, "a.log": files["a.log"] + HANG}).verdict == "acs-breaks-p2p"


def test_redirects_without_peer_access_are_nothing_wrong() -> None:
    files = {
        "a.log": log("alpha", "Channel 00 : 1[1] -> 0[0] via SHM/direct/direct"),
        "lspci.txt": BRIDGE + ACS.format("+"),
    }
    assert told(files).verdict == "none"


@pytest.mark.parametrize("files", rows(IOMMU))
def test_a_translating_iommu_is_told(files: Files) -> None:
    assert told(files).verdict == "iommu-breaks-p2p"


def test_pass_through_is_no_translation() -> None:
    files = {
        "a.log": log("alpha", version("2.27.5"), PEER, bare("")),
        "cmdline.txt": "BOOT_IMAGE=/vmlinuz amd_iommu=on iommu=pt\n",
    }
    assert told(files).verdict == "none"


def test_wrong_values_over_redirected_gpudirect_are_told() -> None:
    row = "  1048576  262144  float  sum  -1  61.40  17.08  17.08  16  60.88  17.22  17.22  3\n"
    files = {"a.log": log("alpha", GDR, IB), "nccl_tests.txt": row, "lspci.txt": BRIDGE + ACS.format("+")}
    assert told(files).verdict == "acs-breaks-gpudirect"


def test_redirected_gpudirect_that_works_is_only_considered() -> None:
    document = told({"a.log": log("alpha", GDR, IB), "lspci.txt": BRIDGE + ACS.format("+")})
    assert document.verdict == "none"
    assert [one.id for one in document.considered] == ["acs-breaks-gpudirect"]


def test_a_segment_that_is_gone_is_not_one_that_does_not_fit() -> None:
    gone = "Error while attaching to shared memory segment /dev/shm/nccl-Ab1 (size 14156128), error: {}"
    lines = [warn("misc/shmutils.cc:129", gone.format("No such file or directory (2)"))]
    assert told({"a.log": log("alpha", *lines)}).verdict == "unknown"
    older = [
        warn("misc/shmutils.cc:93", "Call to open failed: No such file or directory"),
        warn(
            "misc/shmutils.cc:129", "Error while attaching to shared memory segment /dev/shm/nccl-Ab1 (size 14156128)"
        ),
    ]
    assert told({"a.log": log("alpha", *older)}).verdict == "unknown"
    full = [warn("misc/shmutils.cc:129", gone.format("No space left on device (28)"))]
    assert told({"a.log": log("alpha", *full)}).verdict == "dev-shm-too-small"


def test_a_full_dev_shm_comes_before_what_its_death_looks_like() -> None:
    lines = (
        "Bootstrap : Using eno1:10.1.0.5<0>",
        "NET/Socket : Using [0]eno1:10.1.0.5<0> [1]docker0:172.17.0.1<0>",
        warn("include/shm.h:28", "Call to posix_fallocate failed : No space left on device"),
        warn("include/socket.h:409", "Net : Connect to 172.17.0.1<40111> failed : Connection refused"),
    )
    document = told({"a.log": log("alpha", *lines)})
    assert document.verdict == "dev-shm-too-small"
    assert "virtual-interface-selected" in [one.id for one in document.considered]


@pytest.mark.parametrize(("node", "sure"), [("alpha", True), ("bravo", False)])
def test_a_limit_is_held_against_its_own_nodes_failure(node: str, sure: bool) -> None:
    line = warn("misc/ibvwrap.cc:160", "Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory")
    other = "bravo" if node == "alpha" else "alpha"
    files = {
        "alpha.log": log("alpha", line),
        f"{node}_ulimit.txt": LIMIT.format("64"),
        f"{other}_ulimit.txt": LIMIT.format("unlimited"),
    }
    document = told(files)
    assert (document.verdict == "memlock-limit-too-low") is sure


@pytest.mark.parametrize(("node", "told_of"), [("alpha", True), ("bravo", False)])
def test_redirects_are_held_against_their_own_nodes_channels(node: str, told_of: bool) -> None:
    stuck = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=600000)"
    files = {
        "alpha.log": log("alpha", PEER, "Connected all rings", bare(f"[rank0]:[E] {stuck} ran for 600009 ms")),
        "bravo.log": log("bravo", "Connected all rings"),
        f"{node}_lspci.txt": BRIDGE + ACS.format("+"),
    }
    assert (told(files).verdict == "acs-breaks-p2p") is told_of
