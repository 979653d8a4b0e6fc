"""Rules of how a variable reached NCCL: quotes that an env file's reader keeps, and quotes that a shell takes away."""

from __future__ import annotations

import pytest

from tests.excerpts import log, told, warn

pytestmark = pytest.mark.unit

Files = dict[str, str]
DOCKER = "docker run --gpus all --env-file run.env server\n"
IB = "Using network IB"

KEPT = {
    "a number became 0": {
        "a.log": log("alpha", "NCCL_IB_TC set by environment to 0.", IB),
        "run.env": 'NCCL_IB_TC="106"\n',
    },
    "NCCL shows them": {
        "a.log": log(
            "alpha",
            'NCCL_SOCKET_IFNAME set by environment to "eno1"',
            warn("bootstrap.cc:45", "Bootstrap : no socket interface found"),
        )
    },
    "no log": {"run.env": "NCCL_SOCKET_IFNAME='eno1'\n", "cmd.txt": DOCKER},
}


@pytest.mark.parametrize("files", [pytest.param(files, id=name) for name, files in KEPT.items()])
def test_kept_quotes_are_told(files: Files) -> None:
    assert told(files).verdict == "env-file-quotes-kept"


def test_the_line_to_write_is_in_the_fix() -> None:
    assert any("NCCL_IB_TC=106" in line for line in told(KEPT["a number became 0"]).findings[0].fix)


def test_a_value_that_arrived_without_quotes_is_nothing_wrong() -> None:
    files = {"a.log": log("alpha", "NCCL_IB_TC set by environment to 106.", IB), "run.env": 'NCCL_IB_TC="106"\n'}
    document = told(files)
    assert document.verdict == "none"
    assert [one.id for one in document.considered] == ["env-file-quotes-kept"]


def test_quotes_of_a_shell_script_are_taken_away() -> None:
    assert told({"run.sh": '#!/bin/bash\nexport NCCL_IB_TC="106"\n'}).verdict == "none"


def test_an_env_file_without_quotes_is_nothing_wrong() -> None:
    assert told({"run.env": "NCCL_IB_TC=106\n", "cmd.txt": DOCKER}).verdict == "none"


def test_a_plugin_that_quotes_what_it_sets_is_no_env_file() -> None:
    line = 'NET/OFI Setting NCCL_PROTO to "simple"'
    files = {"a.log": log("alpha", line, "NET/OFI Selected Provider is efa (found 1 nics)")}
    assert told(files).verdict == "none"
