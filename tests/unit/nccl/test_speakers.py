"""Who wrote a line and when, whatever a launcher puts in front."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.nccl.reader import read_events
from fabricdoc.nccl.speakers import Speaker, front_of, moment, speaker

pytestmark = pytest.mark.unit

LINE = "node-01.fabric:77:78 [3] NCCL INFO Using network IB"


@pytest.mark.parametrize(
    "front",
    [
        "",
        "0: ",
        "[1,0]<stdout>:",
        "[1,0]<stderr>: ",
        "worker-1  | ",
        "worker-1|",
        "(RayWorkerWrapper pid=123, ip=10.0.0.1) ",
        "(EngineCore_DP0 pid=99) ",
        "[pod/vllm-0/server] ",
        "2026-11-29T15:12:36.123456789Z ",
        "Nov 29 15:12:36 spark python3[77]: ",
        "[2026-11-29 15:12:36] ",
        "spark-1: ",
    ],
)
def test_launchers_and_clocks_in_front_change_nothing(front: str) -> None:
    (event,) = read_events(front + LINE)
    assert speaker(event.head) == Speaker("node-01.fabric", 77, 78, 3)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("n1:5:6 [0] misc/socket.cc:72", Speaker("n1", 5, 6, 0, "misc/socket.cc:72")),
        ("[2026-11-29 15:00:00] n1:5:6 [0] init.cc:12 (initTransportsRank)", Speaker("n1", 5, 6, 0, "init.cc:12")),
        ("n1:5:6 [0] 123.456 init.cc:12", Speaker("n1", 5, 6, 0, "init.cc:12")),
        ("n1:5:6", Speaker("n1", 5, 6)),
        ("n1:5:6 [-1]", Speaker("n1", 5, 6, -1)),
        ("something else", None),
        ("", None),
        ("12:30:45", None),
    ],
)
def test_forms_of_the_front(head: str, expected: Speaker | None) -> None:
    assert speaker(head) == expected


def test_threads_of_one_rank_are_one_process() -> None:
    main, proxy = speaker("n1:5:5 [2]"), speaker("n1:5:9 [2] transport/net.cc:3")
    assert main is not None and proxy is not None
    assert main.process == proxy.process == ("n1", 5, 2)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("[2026-11-29 15:12:36] n1:5:6 [0]", "2026-11-29 15:12:36"),
        ("2026-11-29T15:12:36.123456Z n1:5:6 [0]", "2026-11-29 15:12:36.123456"),
        ("Nov 29 15:12:36 spark python3[77]: n1:5:6 [0]", "15:12:36"),
        ("2026-11-29 15:12:36,123 n1:5:6 [0]", "2026-11-29 15:12:36.123"),
        ("n1:5:6 [0]", ""),
        ("n1:55:66 [0]", ""),
    ],
)
def test_the_time_in_front(head: str, expected: str) -> None:
    assert moment(head) == expected


@given(st.text(max_size=400))
def test_no_text_breaks_it(head: str) -> None:
    moment(head)
    found = speaker(head)
    assert found is None or (found.host and found.pid >= 0)


@pytest.mark.parametrize(
    ("head", "front"),
    [
        ("n1:7:8 [3]", "n1:7:8 [3]"),
        ("2026-11-29 15:12:36 0: n1:7:8 [3]", "n1:7:8 [3]"),
        ("n1:7:8", "n1:7:8"),
        ("[2026-11-29 15:12:36] n1:7:8 [3] misc/socket.cc:72", "n1:7:8 [3] misc/socket.cc:72"),
        ("15:12:36 n1:7:8 [3] init.cc:12 (initTransportsRank)", "n1:7:8 [3] init.cc:12 (initTransportsRank)"),
        ("15:12:36 n1:7:8 [3] 123.456 init.cc:12", "n1:7:8 [3] 123.456 init.cc:12"),
        ("[15:12:36] n1:7:8 a.cc:1", "n1:7:8 a.cc:1"),
        ("15:12:36|n1:7:8 [3]", "n1:7:8 [3]"),
        ("[1,0]<stdout>:n1:7:8 [3]", ":n1:7:8 [3]"),
        (" x", " x"),
        ("a  ", " "),
        ("", ""),
    ],
)
def test_the_front_is_what_stands_behind_the_clock(head: str, front: str) -> None:
    assert front_of(head) == front


PIECES = [
    "15:12:36",
    "[2026-11-29 15:12:36]",
    "0:",
    "n1:7:8",
    "n2:7:8",
    "[3]",
    "a.cc:1",
    "(f)",
    "1.5",
    "x|n1:7:8",
    "<e>n1:7:8",
]


@given(st.lists(st.sampled_from(PIECES), max_size=7), st.lists(st.sampled_from(PIECES), max_size=3))
def test_heads_of_one_front_are_one_speakers(words: list[str], before: list[str]) -> None:
    """What is remembered by a front must hold for every head that ends in it: clocks and launchers in front of it."""
    front = front_of(" ".join(words))
    if (said := speaker(front)) is not None:
        other = " ".join([*before, front])
        assert front_of(other) != front or speaker(other) == said


@given(st.text(alphabet=" a:1[]()", max_size=20))
def test_a_front_is_the_end_of_its_head_and_its_own_front(head: str) -> None:
    assert head.endswith(front_of(head)) and front_of(front_of(head)) == front_of(head)
