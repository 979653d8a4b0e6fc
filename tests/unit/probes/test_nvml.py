"""NVML's return codes: an error in its words, a missing function, a number, a text."""

from __future__ import annotations

import ctypes

import pytest

from fabricdoc.probes.nvml import Nvml, NvmlError, fact
from tests.drivers import Gpu, nvml

pytestmark = pytest.mark.unit

DEVICE = ctypes.c_void_p(1)


def test_a_refusal_is_an_error_with_its_code_and_words() -> None:
    opened = Nvml(nvml([Gpu(refused={"nvmlDeviceGetUUID": 15})]))
    with pytest.raises(NvmlError, match="NVML: GPU is lost") as caught:
        opened.text("nvmlDeviceGetUUID", DEVICE)
    assert caught.value.code == 15


def test_a_text_and_a_number() -> None:
    opened = Nvml(nvml([Gpu(power_mw=7)]))
    assert opened.text("nvmlDeviceGetName", DEVICE) == "NVIDIA GB10"
    assert opened.words("nvmlSystemGetDriverVersion") == "580.95.05"
    assert opened.number("nvmlDeviceGetPowerUsage", DEVICE) == 7


def test_a_text_that_is_no_utf8_is_cleaned() -> None:
    assert Nvml(nvml([Gpu(name=b"GB\xff10")])).text("nvmlDeviceGetName", DEVICE).startswith("GB")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (NvmlError(3, "Not Supported"), "this part has none"),
        (NvmlError(4, "Insufficient Permissions"), "NVML: Insufficient Permissions"),
        (AttributeError("x"), "NVML: this driver lacks the function"),
    ],
)
def test_what_can_not_be_read_is_a_reason(error: Exception, reason: str) -> None:
    def refuse() -> int:
        raise error

    assert fact(refuse, "this part has none") == {"unknown": reason}


def test_what_can_be_read_is_the_value() -> None:
    assert fact(lambda: 5) == 5


def test_a_missing_function_is_an_attribute_error_and_a_reason() -> None:
    opened = Nvml(nvml([Gpu()], without=("nvmlDeviceGetPowerUsage",)))
    with pytest.raises(AttributeError):
        opened.number("nvmlDeviceGetPowerUsage", DEVICE)
    assert fact(lambda: opened.number("nvmlDeviceGetPowerUsage", DEVICE)) == {
        "unknown": "NVML: this driver lacks the function"
    }


def test_without_words_of_its_own_a_part_that_has_none_says_not_supported() -> None:
    opened = Nvml(nvml([Gpu(refused={"nvmlDeviceGetPowerUsage": 3})]))
    assert fact(lambda: opened.number("nvmlDeviceGetPowerUsage", DEVICE)) == {"unknown": "NVML: not supported"}


def test_an_error_of_ours_is_no_fact() -> None:
    with pytest.raises(ZeroDivisionError):
        fact(lambda: 1 // 0)
