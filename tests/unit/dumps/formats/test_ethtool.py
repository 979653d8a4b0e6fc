"""ethtool: link settings, driver, FEC, pause, counters; of -S and -i only a command or a name says whose they are."""

from __future__ import annotations

import pytest

from tests.unit.dumps.texts import facts, fixture

pytestmark = pytest.mark.unit

SESSION = fixture("session.txt")
SETTINGS = """Settings for enp1s0f0np0:
\tSupported link modes:   200000baseCR4/Full
\t                        100000baseCR2/Full
\tSupports auto-negotiation: Yes
\tSpeed: {speed}
\tDuplex: {duplex}
\tAuto-negotiation: {autoneg}
\tLanes: 4
\tPort: Direct Attach Copper
\tLink detected: {link}
"""
STATISTICS = "NIC statistics:\n     rx_prio3_pause: 12\n     tx_prio3_pause: 0\n     [0]: rx_ucast: 5\n     odd: word\n"


def settings(**change: str) -> dict[object, object]:
    values = {"speed": "200000Mb/s", "duplex": "Full", "autoneg": "on", "link": "yes"} | change
    return {path[2]: value for path, value in facts(SETTINGS.format(**values)).items()}


def test_settings() -> None:
    assert settings() == {
        "name": "enp1s0f0np0",
        "speed_mbps": 200000,
        "duplex": "full",
        "autoneg": True,
        "lanes": 4,
        "connector": "Direct Attach Copper",
        "carrier": True,
    }


def test_a_dead_link_has_no_speed() -> None:
    found = settings(speed="Unknown!", duplex="Unknown! (255)", autoneg="off", link="no (No cable)")
    assert found["carrier"] is False
    assert found["autoneg"] is False
    assert not {"speed_mbps", "duplex"} & set(found)


def test_statistics_belong_to_the_interface_that_was_asked_about() -> None:
    wanted = {"rx_prio3_pause": 12, "tx_prio3_pause": 0, "[0]: rx_ucast": 5}
    for name, text in (
        ("x.txt", f"$ ethtool -S enp9\n{STATISTICS}"),
        ("ethtool-S-enp9.txt", STATISTICS),
        ("spark1_ethtool_S_enp9.txt", STATISTICS),
    ):
        found = facts(text, name)
        assert {path[3]: value for path, value in found.items() if path[:3] == ("counter", "enp9", "ethtool")} == wanted
    assert facts(STATISTICS) == {}


def test_statistics_that_grep_left_without_a_heading() -> None:
    assert facts("$ ethtool -S enp9 | grep pause\n     rx_prio3_pause: 12\n") == {
        ("counter", "enp9", "ethtool", "rx_prio3_pause"): 12
    }


def test_driver() -> None:
    found = facts(SESSION)
    assert found[("netdev", "enp1s0f0np0", "driver")] == "mlx5_core"
    assert found[("netdev", "enp1s0f0np0", "pci")] == "0000:01:00.0"
    assert found[("netdev", "enp1s0f0np0", "firmware")] == "28.45.4028"


@pytest.mark.parametrize(
    ("word", "fec"), [("RS", "RS"), ("BaseR", "BaseR"), ("Off", "Off"), ("None", "Off"), ("Odd", None)]
)
def test_fec(word: str, fec: str | None) -> None:
    text = f"FEC parameters for e0:\nSupported/Configured FEC encodings: Auto\nActive FEC encoding: {word}\n"
    assert facts(text).get(("netdev", "e0", "fec")) == fec


def test_pause() -> None:
    text = "Pause parameters for e0:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\toff\n"
    assert facts(text) == {
        ("netdev", "e0", "name"): "e0",
        ("qos", "e0", "pause_rx"): True,
        ("qos", "e0", "pause_tx"): False,
    }


def test_module() -> None:
    text = "$ ethtool -m e0\n\tIdentifier : 0x11 (QSFP28)\n\tVendor name : INVENTED\n\tVendor PN : X-1\n"
    assert facts(text) == {("netdev", "e0", "cable_vendor"): "INVENTED", ("netdev", "e0", "cable_part"): "X-1"}


def test_a_counter_beyond_64_bits_is_left_out() -> None:
    assert facts("$ ethtool -S e0\nNIC statistics:\n     a_b: 99999999999999999999\n") == {}


@pytest.mark.parametrize(("text", "value"), [(str((1 << 63) - 1), (1 << 63) - 1), (str(1 << 63), None), ("-4", None)])
def test_a_counter_has_at_most_63_bits(text: str, value: int | None) -> None:
    found = facts(f"$ ethtool -S e0\nNIC statistics:\n     a_b: {text}\n")
    assert found.get(("counter", "e0", "ethtool", "a_b")) == value


def test_another_interface_begins_with_its_own_heading() -> None:
    text = "\n".join(
        SETTINGS.format(speed=speed, duplex="Full", autoneg="on", link="yes") for speed in ("1Mb/s", "2Mb/s")
    )
    found = facts(text.replace("Settings for enp1s0f0np0", "Settings for e9", 1))
    assert (found[("netdev", "e9", "speed_mbps")], found[("netdev", "enp1s0f0np0", "speed_mbps")]) == (1, 2)


def test_settings_below_statistics_are_settings_again() -> None:
    text = f"$ ethtool -S e0\n{STATISTICS}{SETTINGS.format(speed='10Mb/s', duplex='Half', autoneg='on', link='yes')}"
    found = facts(text)
    assert found[("netdev", "enp1s0f0np0", "duplex")] == "half"
    assert found[("counter", "e0", "ethtool", "rx_prio3_pause")] == 12
    assert not [path for path in found if path[0] == "counter" and path[1] != "e0"]


def test_coalescing_and_refusals_tell_nothing() -> None:
    text = "Coalesce parameters for e0:\nAdaptive RX: on  TX: on\nrx-usecs: 8\nSpeed: 5\n"
    text += "Cannot get wol: Operation not permitted\n"
    assert facts(text) == {("netdev", "e0", "name"): "e0"}


@pytest.mark.parametrize("line", ["driver: mlx5_core", "bus-info: 0000:01:00.0", "firmware-version: 28.45.4028 (X)"])
def test_a_drivers_lines_are_of_nobody_without_an_interface(line: str) -> None:
    assert facts(f"{line}\n") == {}
    assert len(facts(f"driver: mlx5_core\n{line}\n", "ethtool-i-e0.txt")) in (1, 2)


@pytest.mark.parametrize(
    "words", ["Auto-negotiation: maybe", "Lanes: Unknown!", "Link detected: perhaps", "Speed: ", "RX: perhaps"]
)
def test_words_that_are_no_value_tell_nothing(words: str) -> None:
    assert facts(f"Settings for e0:\n\t{words}\n") == {("netdev", "e0", "name"): "e0"}
    assert facts(f"Pause parameters for e0:\n{words}\n") == {("netdev", "e0", "name"): "e0"}
