"""The rows of presets/gate and the floors of profiles: complete, checked, and a user's own win."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.checks import load_catalogue
from fabricdoc.errors import InputError, UsageError
from fabricdoc.gate import Floors, check_ids, floors_of, hardware_ids
from fabricdoc.gate.adopted import BY_FINDINGS
from fabricdoc.gate.catalogue import WHO, Kind, error_counters, kept_free, kind_of, kinds

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def nobodys_presets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "fabricdoc" / "presets" / "gate"


def test_every_finding_of_a_row_is_in_the_one_list() -> None:
    unknown = {id for kind in kinds().values() for id in kind.findings} - set(load_catalogue())
    assert unknown == set()


def test_every_row_asks_something_and_says_who_must_act() -> None:
    for kind in kinds().values():
        assert kind.asks
        assert kind.who in WHO, kind.id
        assert kind.findings or kind.fix, kind.id


def test_the_levels_rows_come_after_the_quick_ones() -> None:
    ids = list(kinds())
    assert ids.index("time") < ids.index("smoke-launch")
    assert ids[0] == "preset-expired"


def test_rows_that_findings_alone_answer_exist() -> None:
    assert set(BY_FINDINGS) <= set(kinds())


def test_a_row_refuses_from_its_severity_on() -> None:
    strict, mild = Kind("a", "a", "launcher", decides="error"), Kind("a", "a", "launcher", decides="warning")
    assert [strict.refused_by(one) for one in ("error", "warning", "info")] == [True, False, False]
    assert [mild.refused_by(one) for one in ("error", "warning", "info")] == [True, True, False]


def test_an_id_of_nobodys_is_the_launchers() -> None:
    assert (kind_of("my-own").who, kind_of("my-own").hardware) == ("launcher", False)


def test_ids_and_findings_ids_name_checks() -> None:
    assert check_ids(["mtu", "gate-mtu-changed", "gpu-in-use", "mtu"], "--waive") == ("mtu", "gpu-idle")


def test_an_id_that_is_none_is_refused_with_what_was_meant() -> None:
    with pytest.raises(UsageError) as caught:
        check_ids(["mut"], "--waive")
    assert caught.value.id == "no-such-check"
    assert "did you mean mtu" in caught.value.fix
    assert "--waive 'mut'" in caught.value.message


@given(st.text(max_size=200))
def test_any_word_is_a_check_or_a_usage_error(word: str) -> None:
    try:
        assert check_ids([word], "--hardware")[0] in kinds()
    except UsageError as error:
        assert len(error.message) < 600


def test_hardware_is_what_an_administrator_would_drain_for() -> None:
    assert {"carrier", "port", "gpus", "kernel-log", "pcie"} <= set(hardware_ids())
    assert not {"ports-free", "delivery", "memory", "gpu-idle", "preset-expired", "peer"} & set(hardware_ids())


def test_single_node_asks_for_memory_and_tenants_only() -> None:
    floors = floors_of("single-node")
    assert {"memory", "gpu-idle"} <= set(floors.only)
    assert not {"peer", "mtu", "hca-active", "ports-reached"} & set(floors.only)


def test_a_profile_that_no_file_names_has_the_general_floors() -> None:
    assert floors_of("qwen3.8-flash-next-tp2") == Floors()


def test_the_users_floors_win_folder_before_home(nobodys_presets: Path, tmp_path: Path) -> None:
    nobodys_presets.mkdir(parents=True)
    (nobodys_presets / "floors.toml").write_text("[mine]\nmemory_gib = 20\n\n[both]\nshm_mib = 1\n")
    (tmp_path / "gate").mkdir()
    (tmp_path / "gate" / "floors.toml").write_text("[both]\nshm_mib = 2\nmemlock_mib = 0.5\n")
    assert floors_of("mine", [tmp_path]) == Floors(memory_gib=20.0)
    assert floors_of("both", [tmp_path]) == Floors(shm_mib=2.0, memlock_mib=0.5)
    assert floors_of("both") == Floors(shm_mib=1.0)


def test_a_floor_of_the_users_takes_nothing_else_away(nobodys_presets: Path, tmp_path: Path) -> None:
    """With a floor for memory a single node is still not asked about cables; who wants that says so."""
    nobodys_presets.mkdir(parents=True)
    (nobodys_presets / "floors.toml").write_text("[single-node]\nmemory_gib = 90\nshm_mib = 1\n")
    assert floors_of("single-node") == floors_of("single-node")._replace(memory_gib=90.0, shm_mib=1.0)
    assert "memory" in floors_of("single-node").only and "peer" not in floors_of("single-node").only
    (tmp_path / "gate").mkdir()
    (tmp_path / "gate" / "floors.toml").write_text("[single-node]\nmemory_gib = 7\nonly = []\n")
    assert floors_of("single-node", [tmp_path]) == Floors(memory_gib=7.0, shm_mib=1.0)


@pytest.mark.parametrize(
    "text",
    [
        "[p]\nmemory = 3\n",
        "[p]\nmemory_gib = 'much'\n",
        "[p]\nmemory_gib = -1\n",
        "[p]\nmemory_gib = true\n",
        "[p]\nmemory_gib = nan\n",
        "[p]\nmemory_gib = 1e300\n",
        "p = 3\n",
        "[p\n",
        "[p]\nonly = 3\n",
        "[p]\nonly = 'memory'\n",
        "[p]\nonly = ['memory', 'memmory']\n",
        "[p]\nonly = [['memory']]\n",
    ],
)
def test_a_file_of_floors_that_is_none_names_itself(tmp_path: Path, text: str) -> None:
    (tmp_path / "gate").mkdir()
    (tmp_path / "gate" / "floors.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        floors_of("p", [tmp_path])
    assert "floors.toml" in caught.value.message


def test_what_a_launch_must_leave_is_the_bench_s_own_number() -> None:
    assert (kept_free(unified=True), kept_free(unified=False)) == (10.0, 2.0)


def test_counters_are_those_that_checks_judge_with_every_priority() -> None:
    counters = error_counters()
    assert "symbol_error" in counters["port"]
    assert not any("{" in name for names in counters.values() for name in names)
    assert any(name.endswith("prio3_discards") for name in counters["ethtool"])
