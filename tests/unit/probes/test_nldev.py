"""RDMA netlink: hand-made answers of a ConnectX-7, a soft device and an InfiniBand one, hostile bytes, this kernel."""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.model.documents import Unknown
from fabricdoc.model.fabric import Hca
from fabricdoc.probes import netlink, nldev
from fabricdoc.probes.netlink import NLM_F_DUMP_INTR, NLMSG_DONE, NLMSG_ERROR
from tests.netlink_messages import Attributes, message, nest

pytestmark = pytest.mark.unit

GET, PORT_GET = 0x1401, 0x1405


def u32(number: int) -> bytes:
    return struct.pack("=I", number)


def guid(text: str) -> bytes:
    return struct.pack("=Q", int(text.replace(":", ""), 16))


MLX5: Attributes = [
    (nldev.DEV_INDEX, u32(2)), (nldev.DEV_NAME, b"rocep1s0f0\0"), (nldev.PORT_INDEX, u32(1)), (4, bytes(8)),
    (nldev.FW_VERSION, b"28.45.4028\0"), (nldev.NODE_GUID, guid("fc4c:ea03:00f9:4231")),
    (nldev.SYS_IMAGE_GUID, guid("fc4c:ea03:00f9:4230")), (14, b"\1"), (nldev.DEV_PROTOCOL, b"roce\0"),
]  # fmt: skip
PORT: Attributes = [
    (nldev.DEV_INDEX, u32(2)), (nldev.DEV_NAME, b"rocep1s0f0\0"), (nldev.PORT_INDEX, u32(1)), (4, bytes(8)),
    (nldev.PORT_STATE, b"\4"), (nldev.PORT_PHYS_STATE, b"\5"), (50, u32(7)), (nldev.NDEV_NAME, b"enp1s0f0np0\0"),
]  # fmt: skip


def test_the_numbers_are_those_of_this_machines_kernel_header() -> None:
    header = Path("/usr/include/rdma/rdma_netlink.h")
    if not header.exists():
        pytest.skip("no kernel headers here to compare with")
    body = header.read_text().split("enum rdma_nldev_attr {")[1].split("};")[0]
    names = [line.strip().split(",")[0] for line in body.splitlines() if line.strip().startswith("RDMA_NLDEV_")]
    numbered = [name for name in names if "=" not in name]
    for name in ("DEV_INDEX", "DEV_NAME", "PORT_INDEX", "FW_VERSION", "NODE_GUID", "SYS_IMAGE_GUID", "PORT_STATE",
                 "PORT_PHYS_STATE", "NDEV_NAME", "DEV_PROTOCOL"):  # fmt: skip
        assert numbered.index(f"RDMA_NLDEV_ATTR_{name}") == getattr(nldev, name), name


def test_a_device_with_firmware_and_guids() -> None:
    assert nldev.device(nest(MLX5)) == nldev.Device(
        2, "rocep1s0f0", "28.45.4028", "fc4c:ea03:00f9:4231", "fc4c:ea03:00f9:4230", "roce"
    )


def test_a_soft_device_has_no_firmware() -> None:
    found = nldev.device(nest([(nldev.DEV_INDEX, u32(0)), (nldev.DEV_NAME, b"rxe0\0")]))
    assert found == nldev.Device(0, "rxe0", "", "", "", "")


def test_a_port_with_its_interface() -> None:
    assert nldev.port(nest(PORT)) == nldev.Port(1, "ACTIVE", "LinkUp", "enp1s0f0np0")


def test_a_port_whose_interface_is_in_another_namespace_names_none() -> None:
    assert nldev.port(nest(PORT[:6])).netdev == ""


@pytest.mark.parametrize(("state", "phys", "words"), [(1, 3, ("DOWN", "Disabled")), (1, 2, ("DOWN", "Polling"))])
def test_states_in_sysfs_words(state: int, phys: int, words: tuple[str, str]) -> None:
    found = nldev.port(
        nest([(nldev.PORT_INDEX, u32(2)), (nldev.PORT_STATE, bytes([state])), (nldev.PORT_PHYS_STATE, bytes([phys]))])
    )
    assert (found.number, found.state, found.phys_state) == (2, *words)


@pytest.mark.parametrize("value", [b"", b"\0", b"\xff"])
def test_a_state_without_a_word_is_none(value: bytes) -> None:
    found = nldev.port(nest([(nldev.PORT_INDEX, u32(1)), (nldev.PORT_STATE, value)]))
    assert (found.state, found.phys_state) == ("", "")


@given(st.integers(0, 2**64 - 1))
def test_guids_are_written_as_sysfs_writes_them(number: int) -> None:
    text = nldev.guid(struct.pack("=Q", number))
    assert [len(part) for part in text.split(":")] == [4, 4, 4, 4]
    assert int(text.replace(":", ""), 16) == number


@given(st.binary(max_size=120))
def test_any_bytes_are_read_or_refused_never_worse(data: bytes) -> None:
    for read in (nldev.device, nldev.port):
        try:
            read(data)
        except (ValueError, LookupError, struct.error):
            continue


@given(st.lists(st.tuples(st.integers(0, 100), st.binary(max_size=20)), max_size=8))
def test_any_attributes_are_text_or_refused(pairs: list[tuple[int, bytes]]) -> None:
    try:
        found = nldev.device(nest(pairs))
    except (LookupError, struct.error):
        return
    "".join(field for field in found if isinstance(field, str)).encode()


class Wire:
    """A socket that answers from a list of packets per opening and keeps what was sent."""

    def __init__(self, openings: list[list[bytes]], truncated: bool = False) -> None:
        self.openings = openings
        self.sent: list[bytes] = []
        self.families: list[int] = []
        self._flags = socket.MSG_TRUNC if truncated else 0
        self._packets: Iterator[bytes] = iter(())

    def __call__(self, family: int, kind: int, protocol: int) -> Wire:
        assert family == socket.AF_NETLINK
        self.families.append(protocol)
        self._packets = iter(self.openings.pop(0))
        return self

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_error: object) -> None:
        return

    def settimeout(self, seconds: float) -> None:
        assert seconds > 0

    def bind(self, address: tuple[int, int]) -> None:
        assert address == (0, 0)

    def send(self, data: bytes) -> int:
        self.sent.append(data)
        return len(data)

    def recvmsg(self, _size: int) -> tuple[bytes, list[object], int, tuple[int, int]]:
        return next(self._packets), [], self._flags, (0, 0)


def answering(monkeypatch: pytest.MonkeyPatch, openings: list[list[bytes]], truncated: bool = False) -> Wire:
    wire = Wire(openings, truncated)
    monkeypatch.setattr(netlink.socket, "socket", wire)
    return wire


def done(sequence: int = 1) -> bytes:
    return message(NLMSG_DONE, u32(0), sequence=sequence)


def test_devices_are_asked_for_once_and_come_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    other: Attributes = [(nldev.DEV_INDEX, u32(9)), (nldev.DEV_NAME, b"alpha\0")]
    wire = answering(monkeypatch, [[message(GET, nest(MLX5)) + message(GET, nest(other)), done()]])
    assert [found.name for found in nldev.read_devices()] == ["alpha", "rocep1s0f0"]
    assert wire.families == [20]
    assert struct.unpack("=IHHII", wire.sent[0]) == (16, GET, 0x301, 1, 0)


def test_ports_are_asked_for_by_the_devices_index(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = answering(monkeypatch, [[message(PORT_GET, nest(PORT)), done()]])
    assert [found.netdev for found in nldev.read_ports(2)] == ["enp1s0f0np0"]
    assert struct.unpack("=IHHIIHHI", wire.sent[0]) == (24, PORT_GET, 0x301, 1, 0, 8, 1, 2)


def test_a_device_that_is_gone_is_einval(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, [[message(NLMSG_ERROR, struct.pack("=i", -errno.EINVAL))]])
    with pytest.raises(OSError, match="Invalid argument"):
        nldev.read_ports(5)


def test_a_dump_that_changed_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    half = [message(GET, nest(MLX5), flags=NLM_F_DUMP_INTR), done()]
    whole = [message(GET, nest(MLX5), sequence=2), done(2)]
    answering(monkeypatch, [half, whole])
    assert len(nldev.read_devices()) == 1


def test_a_dump_that_never_holds_still_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    openings = [[message(GET, nest(MLX5), flags=NLM_F_DUMP_INTR, sequence=n), done(n)] for n in range(1, 6)]
    answering(monkeypatch, openings)
    with pytest.raises(OSError, match="kept changing"):
        nldev.read_devices()


def test_a_packet_that_was_cut_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, [[done()]], truncated=True)
    with pytest.raises(OSError, match="larger than the buffer"):
        nldev.read_devices()


def test_a_hidden_device_becomes_an_hca_of_unknowns_and_what_is_known() -> None:
    found = nldev.hca(nldev.device(nest(MLX5)), [nldev.port(nest(PORT)), nldev.Port(2, "", "", "")])
    hca = Hca.model_validate(found)
    assert (hca.firmware, hca.node_guid) == ("28.45.4028", "fc4c:ea03:00f9:4231")
    assert isinstance(hca.pci, Unknown)
    assert isinstance(hca.driver, Unknown)
    first, second = hca.ports
    assert (first.link_layer, first.state, first.phys_state) == ("Ethernet", "ACTIVE", "LinkUp")
    assert {type(fact) for fact in (first.gids, first.rate_gbps, first.max_mtu, first.gid_slots)} == {Unknown}
    assert second.state == second.netdev == Unknown(unknown=nldev.SILENT)


@pytest.mark.parametrize(("protocol", "layer"), [("ib", "InfiniBand"), ("iw", "Ethernet"), ("usnic", None)])
def test_the_link_layer_follows_from_the_protocol(protocol: str, layer: str | None) -> None:
    device = nldev.Device(1, "a", "", "", "", protocol)
    (port,) = Hca.model_validate(nldev.hca(device, [nldev.Port(1, "DOWN", "Polling", "")])).ports
    assert port.link_layer == (layer or Unknown(unknown=nldev.SILENT))


def test_this_kernel_lists_devices_or_has_no_rdma() -> None:
    try:
        found = nldev.read_devices()
    except OSError as error:
        assert error.errno == errno.EPROTONOSUPPORT
        return
    assert len(found) == len({device.name for device in found})
