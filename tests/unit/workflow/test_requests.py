"""What of a request is refused before a node is looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabricdoc.errors import InputError, UsageError
from fabricdoc.transport import NodeSpec
from fabricdoc.workflow.requests import Request, check_request

pytestmark = pytest.mark.unit

SPECS = (NodeSpec("alpha", "a"), NodeSpec("beta", "b"))


def test_a_plain_request_passes() -> None:
    check_request(Request(SPECS))
    check_request(Request(SPECS, backend="nccl", candidates=("decode", "both-nics"), engine="sglang", current="pid:7"))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"backend": "mpi"}, "unknown backend"),
        ({"engine": "tgi"}, "no engine is called 'tgi'"),
        ({"current": "pid:x"}, "no process number"),
        ({"current": "absent.env"}, "absent.env"),
        ({"backend": "nccl", "candidates": ("decod",)}, "no candidate set is called 'decod'"),
        ({"backend": "gloo", "candidates": ("roce",)}, "roce holds candidates for nccl"),
        ({"candidates": ("decod",)}, "no candidate set is called 'decod'"),
        ({"candidates": ("base",)}, "'base' is no set to choose"),
        ({"candidates": ("decode:nothing",)}, "decode has no candidate 'nothing'"),
        ({"profile": "no-such"}, "no-such"),
    ],
)
def test_what_can_be_refused_at_once_is(fields: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        check_request(Request(SPECS, **fields))  # type: ignore[arg-type]


def test_a_set_of_either_backend_passes_where_the_nodes_have_yet_to_choose(tmp_path: Path) -> None:
    own = tmp_path / "candidates"
    own.mkdir()
    (own / "rail.toml").write_text(
        'backend = "gloo"\nsummary = "s"\n[[candidate]]\nname = "rail"\nwhy = "w"\nsource = "s"\ntargets = ["none"]\n'
        '[candidate.variables]\nGLOO_SOCKET_IFNAME = "eth1"\n'
    )
    check_request(Request(SPECS, candidates=("roce",)))
    check_request(Request(SPECS, candidates=("rail",), presets=(tmp_path,)))
    with pytest.raises(UsageError, match="rail holds candidates for gloo"):
        check_request(Request(SPECS, candidates=("rail", "decode"), presets=(tmp_path,)))


def test_an_empty_settings_file_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("serve.env").write_text("HF_TOKEN=x\n")
    with pytest.raises(InputError, match="sets no communication variable"):
        check_request(Request(SPECS, current="serve.env"))


def test_both_nics_is_asked_for_by_flag_or_by_set() -> None:
    assert Request(SPECS, both_nics=True).weighs_rails
    assert Request(SPECS, candidates=("both-nics",)).weighs_rails
    assert Request(SPECS, candidates=("both-nics", "decode")).sets == ("decode",)
    assert not Request(SPECS, candidates=("decode",)).weighs_rails
