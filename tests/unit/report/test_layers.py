"""The layer budget: a time or the reason for every layer."""

from __future__ import annotations

from typing import Any

import pytest

from fabricdoc.model.fabric import Endpoint, Link, LinkProof
from fabricdoc.report.layers import render_layers

pytestmark = pytest.mark.unit


def rows(shown: Any, run: Any) -> str:
    return " ".join(shown(render_layers(run)).split())


def with_ping(run: Any, detail: str) -> Any:
    proof = LinkProof(method="rdma-ping", at="t", detail=detail)
    ends = [Endpoint(node=node, netdev="p0", mac="02:00:00:00:00:01") for node in ("alpha", "beta")]
    return run.model_copy(update={"links": (Link(a=ends[0], b=ends[1], kind="cable", proof=proof),)})


def test_what_was_measured_and_why_the_rest_was_not(samples: Any, shown: Any) -> None:
    text = rows(shown, samples.run())
    assert "NCCL in a graph - 41.0 8 KiB not measured" in text
    assert "torch eager - - not measured in this run" in text
    assert "verbs - - no RDMA ping passed over these links" in text
    assert "wire - - no instrument here times the wire alone: it is within the next row" in text
    assert "NCCL eager - - ask for NCCL's own calls with --path both" in text


def test_a_ping_gives_verbs_a_time(samples: Any, shown: Any) -> None:
    text = rows(shown, with_ping(samples.run(), "send and write, round trip 12 us, GID 3"))
    assert (
        "verbs - - 6.00 µs: half of the RDMA ping's round trip with 8 bytes; this one timed no larger message" in text
    )
    assert "no RDMA ping passed" in rows(shown, with_ping(samples.run(), "no number here"))


def test_a_ping_with_larger_messages_gives_verbs_its_row(samples: Any, shown: Any) -> None:
    both = "path MTU 4096, round trip 12 us, of 8192 bytes 30 us, of 20480 bytes 41 us, GID 3"
    assert "verbs 15.0 20.5 half of the RDMA ping's round trips: at most that, Python drives them" in rows(
        shown, with_ping(samples.run(), both)
    )
    assert "verbs - 20.5 half of" in rows(shown, with_ping(samples.run(), "of 20480 bytes 41 us"))


def test_gloo_says_what_it_has_not(samples: Any, shown: Any) -> None:
    run = samples.run()
    gloo = run.model_copy(update={"plan": run.plan.model_copy(update={"backend": "gloo"})})
    eager = gloo.launches[0].cells[0].model_copy(update={"view": "eager", "op": "all_reduce", "size": 8192})
    timed = gloo.launches[0].model_copy(update={"round": "search", "cells": (eager,)})
    text = rows(shown, gloo.model_copy(update={"launches": (timed,)}))
    assert "gloo has no CUDA graphs" in text
    assert "gloo is not NCCL" in text


def test_nccls_own_calls_are_a_row_where_they_were_asked_for(samples: Any, shown: Any) -> None:
    run = samples.run()
    cell = run.launches[0].cells[0]
    cells = tuple(
        cell.model_copy(update={"view": "eager", "size": size, "median_us": us, "direct_us": us - 9})
        for size, us in ((8192, 33.0), (20480, 44.0))
    )
    one = run.model_copy(update={"launches": (run.launches[0].model_copy(update={"cells": cells}),)})
    text = rows(shown, one)
    assert "NCCL eager 24.0 35.0" in text
    assert "torch eager 33.0 44.0" in text
    alone = rows(shown, one.model_copy(update={"plan": one.plan.model_copy(update={"path": "direct"})}))
    assert "NCCL eager 33.0 44.0" in alone
    assert "torch eager - - this run called NCCL by its own functions alone (--path direct)" in alone


def test_eager_and_both_sizes(samples: Any, shown: Any) -> None:
    run = samples.run()
    cell = run.launches[0].cells[0]
    cells = tuple(
        cell.model_copy(update={"view": view, "size": size, "median_us": us})
        for view, size, us in (
            ("graph", 8192, 11.0),
            ("graph", 20480, 22.0),
            ("eager", 8192, 33.0),
            ("eager", 20480, 44.0),
        )
    )
    one = run.model_copy(update={"launches": (run.launches[0].model_copy(update={"cells": cells}),)})
    text = rows(shown, one)
    assert "NCCL in a graph 11.0 22.0" in text
    assert "torch eager 33.0 44.0 torch's share included" in text


def test_disturbed_and_foreign_launches_do_not_count(samples: Any, shown: Any) -> None:
    run = samples.run()
    more = samples.launch(9, "base", 9000.0, disturbed="x"), samples.launch(10, "tree", 9000.0)
    assert rows(shown, run.model_copy(update={"launches": (*run.launches, *more)})) == rows(shown, run)


def test_a_run_without_launches_has_no_budget(samples: Any) -> None:
    assert render_layers(samples.run().model_copy(update={"launches": ()})) == []


def test_a_run_in_which_no_layer_has_a_time_has_no_budget(samples: Any) -> None:
    run = samples.run()
    failed = tuple(one.model_copy(update={"cells": (), "status": "failed"}) for one in run.launches)
    assert render_layers(run.model_copy(update={"launches": failed})) == []
