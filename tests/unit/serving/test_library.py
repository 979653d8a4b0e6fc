"""Names are found in the user's folders before the shipped ones; an unknown name gets the nearest."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.errors import InputError, UsageError
from fabricdoc.serving import list_profiles, load_profile

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def no_own_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def _write(folder: Path, name: str, summary: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    path.write_text(f'name = "{name}"\nsummary = "{summary}"\nsource = "t"\n[decode]\nrows = 1\n[prefill]\nrows = 1\n')
    return path


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    path = _write(tmp_path, "mine", "by path")
    assert load_profile(path).summary == "by path"
    assert load_profile(str(path)).summary == "by path"


def test_a_file_in_the_working_folder_needs_no_slash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, "mine", "here")
    monkeypatch.chdir(tmp_path)
    assert load_profile("mine.toml").summary == "here"


def test_extra_folders_win_over_the_users_and_those_over_the_shipped(tmp_path: Path) -> None:
    name = "single-node"
    assert load_profile(name).summary.startswith("a server on one node")
    _write(tmp_path / "config/fabricdoc/presets/profiles", name, "the user's")
    assert load_profile(name).summary == "the user's"
    _write(tmp_path / "extra/profiles", name, "extra")
    assert load_profile(name, (tmp_path / "extra",)).summary == "extra"
    assert list_profiles((tmp_path / "extra",)).count(name) == 1


def test_own_profiles_are_listed_with_the_shipped(tmp_path: Path) -> None:
    _write(tmp_path / "extra/profiles", "a-mine", "x")
    assert list_profiles((tmp_path / "extra", tmp_path / "missing"))[0] == "a-mine"
    assert "single-node" in list_profiles((tmp_path / "extra",))


@pytest.mark.parametrize(
    ("asked", "near"),
    [("qwen3.8-flash-next", "qwen3.8-flash-next-tp2"), ("singlenode", "single-node"), ("dense", "dense-small-tp2")],
)
def test_an_unknown_name_gets_the_nearest(asked: str, near: str) -> None:
    with pytest.raises(UsageError, match="there is no profile") as caught:
        load_profile(asked)
    assert near in caught.value.fix
    assert caught.value.id == "unknown-profile"


def test_a_name_near_nothing_gets_the_command_that_lists_them_not_a_list_of_600_columns() -> None:
    with pytest.raises(UsageError) as caught:
        load_profile("zzz")
    assert caught.value.fix == f"see which there are ({len(list_profiles())}): fabricdoc profile list"


def test_a_part_of_a_name_is_guessed_as_well_as_the_whole() -> None:
    for asked in ("lama", "lama-70b"):
        with pytest.raises(UsageError) as caught:
            load_profile(asked)
        assert "did you mean llama-3.3-70b-tp2 or" in caught.value.fix


def test_a_missing_file_is_an_input_error_and_not_a_name() -> None:
    with pytest.raises(InputError, match="No such file"):
        load_profile("./nowhere.toml")
