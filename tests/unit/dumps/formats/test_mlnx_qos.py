"""mlnx_qos: trust, DSCP map, PFC and classes of the interface in its command; half a table tells nothing."""

from __future__ import annotations

import pytest

from tests.unit.dumps.texts import facts, fixture

pytestmark = pytest.mark.unit

OUTPUT = "\n".join(
    [
        "****************************** WARNING ******************************",
        "DCBX mode: Firmware controlled",
        "Priority trust state: dscp",
        "dscp2prio mapping:",
        *(f"\tprio:{p} dscp:{','.join(f'{d:02}' for d in range(p * 8 + 7, p * 8 - 1, -1))}," for p in range(8)),
        "default priority:",
        "Receive buffer size (bytes): 20016,156096,0,0,0,0,0,0,total_size=243072",
        "Cable len: 7",
        "PFC configuration:",
        "\tpriority    0   1   2   3   4   5   6   7",
        "\tenabled     0   0   0   1   0   0   0   0   ",
        "\tbuffer      0   0   0   1   0   0   0   0   ",
        *(
            f"tc: {t} ratelimit: unlimited, tsa: {'ets, bw: 40%' if t < 2 else 'strict'}\n\t priority:  {7 - t}"
            for t in range(8)
        ),
        "",
    ]
)


def qos(text: str = OUTPUT, name: str = "mlnx_qos-enp7.txt") -> dict[object, object]:
    return {path[2]: value for path, value in facts(text, name).items() if path[:2] == ("qos", "enp7")}


def test_everything() -> None:
    assert qos() == {
        "source": "mlnx_qos",
        "trust": "dscp",
        "dscp_priority": [d // 8 for d in range(64)],
        "pfc": [False, False, False, True, False, False, False, False],
        "priority_tc": [7, 6, 5, 4, 3, 2, 1, 0],
        "tc_algorithm": ["ets", "ets", *["strict"] * 6],
        "tc_percent": [40, 40, 0, 0, 0, 0, 0, 0],
    }


def test_the_interface_is_in_the_command() -> None:
    for command in ("mlnx_qos -i enp7", "sudo /usr/bin/mlnx_qos --interface=enp7", "mlnx_qos -a -i enp7"):
        assert qos(f"$ {command}\n{OUTPUT}", "x.txt")["trust"] == "dscp"
    assert qos(OUTPUT, "x.txt") == {}


def test_pcp() -> None:
    assert qos(OUTPUT.replace("state: dscp", "state: pcp"))["trust"] == "pcp"


@pytest.mark.parametrize(
    ("end", "lost"), [("prio:7", "dscp_priority"), ("\tenabled", "pfc"), ("tc: 7", "tc_algorithm")]
)
def test_half_a_table_tells_nothing(end: str, lost: str) -> None:
    found = qos(OUTPUT[: OUTPUT.index(end)])
    assert lost not in found
    assert found["trust"] == "dscp"


def test_in_a_session() -> None:
    found = facts(fixture("session.txt"))
    assert found[("qos", "enp1s0f0np0", "trust")] == "dscp"
    assert found[("qos", "enp1s0f0np0", "pfc")] == [False, False, False, True, False, False, False, False]
    assert ("qos", "enp1s0f0np0", "tc_percent") not in found


@pytest.mark.parametrize(
    ("tsa", "told"),
    [("vendor", ("vendor", 0)), ("strict", ("strict", 0)), ("ets, bw: 100%", ("ets", 100)), ("ets", ("ets", 0))],
)
def test_a_class_tells_its_algorithm_and_its_share(tsa: str, told: tuple[str, int]) -> None:
    found = qos(OUTPUT.replace("tc: 7 ratelimit: unlimited, tsa: strict", f"tc: 7 ratelimit: 9 Gbps, tsa: {tsa}"))
    algorithms, percents = found["tc_algorithm"], found["tc_percent"]
    assert isinstance(algorithms, list) and isinstance(percents, list)
    assert (algorithms[7], percents[7]) == told


def test_a_class_may_serve_several_priorities_or_none() -> None:
    classes = "\n".join(f"tc: {t} ratelimit: unlimited, tsa: strict" for t in range(1, 8))
    own = "\n".join(f"\t priority:  {p}" for p in range(8))
    found = qos(f"DCBX mode: OS controlled\ntc: 0 ratelimit: unlimited, tsa: strict\n{own}\n{classes}\n")
    assert found["priority_tc"] == [0] * 8
    assert found["tc_algorithm"] == ["strict"] * 8


def test_a_priority_above_the_first_class_is_of_none() -> None:
    found = qos(f"DCBX mode: OS controlled\n\t priority:  3\n{OUTPUT[OUTPUT.index('tc: 0') :]}")
    assert found["priority_tc"] == [7, 6, 5, 4, 3, 2, 1, 0]
    assert "priority_tc" not in qos("DCBX mode: OS controlled\n\t priority:  3\n")


@pytest.mark.parametrize("row", ["\tprio:9 dscp:100,", "\tprio:1 dscp:,,", "\tprio:1 dscp:999,7"])
def test_entries_that_are_no_dscp_do_not_fill_the_table(row: str) -> None:
    text = OUTPUT.replace("\tprio:0 dscp:07,06,05,04,03,02,01,00,", row)
    assert "dscp_priority" not in qos(text)


@pytest.mark.parametrize(
    "row", ["\tenabled     0   0   0   1   0   0   0", "\tenabled     0   0   0   2   0   0   0   0"]
)
def test_a_row_that_is_not_of_eight_switches_is_none(row: str) -> None:
    assert "pfc" not in qos(OUTPUT.replace("\tenabled     0   0   0   1   0   0   0   0   ", row))
