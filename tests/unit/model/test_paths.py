"""HCAs and channels as a proof holds them: values, frozen, with nothing unknown made up."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from fabricdoc.model.documents import Unknown
from fabricdoc.model.paths import ChannelPath, HcaSeen

pytestmark = pytest.mark.unit


def test_a_port_whose_speed_the_log_does_not_tell_stays_unknown() -> None:
    hca = HcaSeen(
        rank=1, name="mlx5_0", port=1, gbps=Unknown(unknown="no line"), used=True, gpu_direct=Unknown(unknown="no line")
    )
    assert HcaSeen.model_validate_json(hca.model_dump_json()) == hca
    assert hca.model_dump()["gbps"] == {"unknown": "no line"}


def test_a_channel_lies_in_one_of_three_kinds_of_memory() -> None:
    fields = {"rank": 0, "channel": 0, "peer": 1, "direction": "send", "connection": "collective", "network": "IB"}
    path = ChannelPath.model_validate({**fields, "memory": "host-staged"})
    assert path.over == () and hash(path) == hash(path.model_copy())
    with pytest.raises(ValidationError):
        ChannelPath.model_validate({**fields, "memory": "somewhere"})
    with pytest.raises(ValidationError):
        path.rank = 2  # type: ignore[misc]
