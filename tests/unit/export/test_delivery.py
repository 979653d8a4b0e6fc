"""A preset against everything that was seen: the answer, the status, the findings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricdoc.errors import ExitStatus
from fabricdoc.export import delivery_status, judge_delivery, wanted_lines
from fabricdoc.model.delivery import Arrival, Delivery
from fabricdoc.model.documents import Unknown
from fabricdoc.model.host import ConfFile
from fabricdoc.model.preset import Preset
from tests.unit.export.presets_made import HEAD, WORKER, node, pair, preset

pytestmark = pytest.mark.unit


def process(node: str, environ: dict[str, str] | Unknown, pid: int = 7, **more: object) -> Arrival:
    fields = {"node": node, "pid": pid, "name": "vllm", "library": "/x/libnccl.so.2", "environ": environ, "files": ()}
    return Arrival.model_validate({**fields, **more})


def judged(*seen: Arrival, **unseen: str) -> Delivery:
    return judge_delivery(pair(), seen, unseen)


def ids(delivery: Delivery) -> list[tuple[str, str, str]]:
    return [(one.id, one.severity, one.subject) for one in delivery.findings]


def test_each_node_by_its_own_values() -> None:
    found = judged(process("spark1", HEAD), process("spark2", WORKER))
    assert (found.answer, delivery_status(found)) == ("delivered", ExitStatus.FIT)
    assert found.reason == "every variable reached 2 processes on spark1, spark2"
    assert found.findings == ()


def test_the_heads_hca_list_on_the_worker_is_no_delivery() -> None:
    """What a recipe does that pushes one list to all nodes."""
    found = judged(process("spark1", HEAD), process("spark2", HEAD))
    assert delivery_status(found) is ExitStatus.NOT_FIT
    assert found.reason == "on spark2: NCCL_IB_HCA differs, NCCL_SOCKET_IFNAME differs"
    (finding,) = found.findings
    assert (finding.id, finding.subject) == ("env-differs-from-preset", "spark2")
    assert "NCCL_IB_HCA: wanted '=rocep1s0f0,roceP2p1s0f0', is '=rocep1s0f1,roceP2p1s0f1'" in finding.evidence[0].text
    assert finding.fix[-1] == "fabricdoc export-env --node spark2"


def test_arguments_a_recipe_drops_are_missing() -> None:
    found = judged(process("spark1", HEAD), process("spark2", {"NCCL_NET": "IB"}))
    assert ids(found) == [("env-not-delivered", "error", "spark2")]
    assert "pid 7" in found.findings[0].cause


def test_one_worker_of_many_is_enough_to_fail() -> None:
    found = judged(process("spark1", HEAD), process("spark1", {}, pid=8), process("spark2", WORKER))
    assert found.answer == "not-delivered"
    assert found.findings[0].cause.endswith("in pid 8")


def loose(values: dict[str, str]) -> dict[str, str]:
    """A node's values as --no-strict writes them."""
    return {name: value for name, value in values.items() if name != "NCCL_NET"}


def test_what_no_strict_left_out_is_no_fault() -> None:
    both = pair()
    written = wanted_lines(both, "json", strict=False)
    environs = [{line.name: line.value for line in one.lines} for one in written.nodes]
    assert environs == [loose(HEAD), loose(WORKER)]
    found = judged(process("spark1", environs[0]), process("spark2", environs[1]))
    assert (found.answer, delivery_status(found), found.findings) == ("delivered", ExitStatus.FIT, ())
    assert next((v.name, v.seen, v.outcome) for v in found.workers[0].variables) == ("NCCL_NET", None, "left-out")
    assert found.reason == (
        "every other variable reached 2 processes on spark1, spark2;"
        " NCCL_NET may be absent (--no-strict) and no other value of it was seen"
    )


@pytest.mark.parametrize("value", ["Socket", "", "ib"])
def test_another_network_is_a_fault_whether_strict_or_not(value: str) -> None:
    found = judged(process("spark1", {**HEAD, "NCCL_NET": value}), process("spark2", loose(WORKER)))
    assert found.reason == "on spark1: NCCL_NET differs"
    conf = (ConfFile(path="/etc/nccl.conf", values={"NCCL_NET": value}),)
    found = judged(process("spark1", loose(HEAD), files=conf), process("spark2", WORKER))
    assert (found.answer, ids(found)) == ("not-delivered", [("env-differs-from-preset", "error", "spark1")])


def test_only_a_line_that_may_be_left_out_may_be_absent() -> None:
    found = judged(process("spark1", {"NCCL_IB_HCA": HEAD["NCCL_IB_HCA"]}), process("spark2", WORKER))
    assert found.reason == "on spark1: NCCL_SOCKET_IFNAME missing"
    assert "NCCL_NET" not in found.findings[0].cause
    socket = preset(node("a", {"NCCL_NET": "Socket"}))
    assert judge_delivery(socket, [process("a", {})], {}).answer == "not-delivered"


def test_a_log_which_tells_the_rest_need_not_tell_of_what_may_be_absent() -> None:
    """NCCL echoes no NCCL_NET."""
    seen = [
        Arrival.model_validate({"node": name, "environ": Unknown(unknown="a log"), "echoed": loose(values)})
        for name, values in (("spark1", HEAD), ("spark2", WORKER))
    ]
    assert judged(*seen).answer == "delivered"
    silent = seen[0].model_copy(update={"echoed": {"NCCL_IB_HCA": HEAD["NCCL_IB_HCA"]}})
    assert judged(silent, seen[1]).reason == "nothing tells of NCCL_SOCKET_IFNAME"
    assert judged(seen[0].model_copy(update={"echoed": {}}), seen[1]).answer == "could-not-tell"
    hidden = process("spark1", loose(HEAD), files=Unknown(unknown="Permission denied"))
    assert judged(hidden, process("spark2", WORKER)).reason == "nothing tells of NCCL_NET", "a file may hold another"


def test_an_overridden_value_names_the_place_that_wins() -> None:
    conf = (ConfFile(path="/etc/nccl.conf", values={"NCCL_NET": "IB"}),)
    found = judged(process("spark1", {**HEAD, "NCCL_NET": "Socket"}, files=conf), process("spark2", WORKER))
    assert ids(found) == [("env-overridden", "error", "spark1")]
    assert "the environment, which beats /etc/nccl.conf" in found.findings[0].evidence[0].text


def test_an_unseen_node_leaves_it_open() -> None:
    found = judged(process("spark1", HEAD), spark2="no answer within 20 s")
    assert delivery_status(found) is ExitStatus.INCONCLUSIVE
    assert found.reason == "spark2: no answer within 20 s"
    assert [one.node for one in found.unseen] == ["spark2"]


def test_a_failure_beats_an_unseen_node() -> None:
    assert judged(process("spark1", {}), spark2="gone").answer == "not-delivered"


def test_an_environment_that_may_not_be_read_leaves_it_open() -> None:
    found = judged(process("spark1", Unknown(unknown="Permission denied")), process("spark2", WORKER))
    assert (found.answer, delivery_status(found)) == ("could-not-tell", ExitStatus.INCONCLUSIVE)
    assert "NCCL_IB_HCA" in found.reason


def test_nothing_seen_at_all() -> None:
    assert judged().answer == "could-not-tell"


def test_what_the_preset_does_not_hold_is_told_and_fails_nothing() -> None:
    extra = {**HEAD, "NCCL_ALGO": "Ring", "NCCL_DEBUG": "INFO", "NCCL_VERSION": "2.30", "OTHER": "x"}
    found = judged(process("spark1", extra), process("spark2", WORKER))
    assert found.answer == "delivered"
    assert ids(found) == [("env-not-of-the-preset", "warning", "spark1")]
    assert found.workers[0].extra == {"NCCL_ALGO": "Ring"}


def test_extra_variables_of_files_and_of_the_log_count_too() -> None:
    conf = (ConfFile(path="/etc/nccl.conf", values={"NCCL_PROTO": "LL"}),)
    found = judged(process("spark1", HEAD, files=conf, echoed={"NCCL_CUMEM_ENABLE": "0"}), process("spark2", WORKER))
    assert found.workers[0].extra == {"NCCL_CUMEM_ENABLE": "0", "NCCL_PROTO": "LL"}


def test_a_host_nobody_knows_is_judged_by_what_all_share() -> None:
    found = judged(process("", {"NCCL_NET": "Socket"}))
    assert [one.name for one in found.workers[0].variables] == ["NCCL_NET"]
    assert found.answer == "not-delivered"
    assert "an unknown node" in found.reason


@given(
    st.dictionaries(st.sampled_from(sorted(HEAD)), st.sampled_from(["IB", *HEAD.values(), "x", ""])),
    st.dictionaries(st.sampled_from(sorted(HEAD)), st.sampled_from(["IB", *HEAD.values(), "x"])),
)
def test_delivered_means_that_what_wins_is_the_presets(environ: dict[str, str], conf: dict[str, str]) -> None:
    files = (ConfFile(path="/etc/nccl.conf", values=conf),)
    found = judged(process("spark1", environ, files=files), process("spark2", WORKER))
    wins = {**conf, **environ}
    right = [wins.get(name) == value for name, value in HEAD.items() if name != "NCCL_NET"]
    assert (found.answer == "delivered") == (all(right) and wins.get("NCCL_NET", "IB") == "IB")
    assert Delivery.model_validate_json(found.model_dump_json()) == found


def measured_with(**values: str) -> Preset:
    preset = pair()
    nodes = tuple(one.model_copy(update={"inherited": values}) for one in preset.nodes)
    return preset.model_copy(update={"nodes": nodes})


def test_what_the_measurement_ran_with_is_no_surplus() -> None:
    with_it = {**HEAD, "NCCL_NVLS_ENABLE": "0"}
    seen = (process("spark1", with_it), process("spark2", {**WORKER, "NCCL_NVLS_ENABLE": "0"}))
    found = judge_delivery(measured_with(NCCL_NVLS_ENABLE="0"), seen, {})
    assert (found.answer, found.findings) == ("delivered", ())


def test_what_the_measurement_ran_with_and_a_process_lacks_is_told() -> None:
    seen = (process("spark1", HEAD), process("spark2", {**WORKER, "NCCL_NVLS_ENABLE": "1"}))
    found = judge_delivery(measured_with(NCCL_NVLS_ENABLE="0", NCCL_VERSION="2.28.3-1"), seen, {})
    assert found.answer == "delivered"
    assert ids(found) == [("env-unlike-measured", "warning", name) for name in ("spark1", "spark2")]
    assert found.findings[0].evidence[0].text == "measured with NCCL_NVLS_ENABLE=0"
    assert "NCCL_NVLS_ENABLE=0" in found.findings[0].fix[0]
    assert [one.extra for one in found.workers] == [{}, {}]


def test_of_a_file_or_a_log_only_another_value_is_told() -> None:
    """What it does not name, the process may have all the same."""
    preset = measured_with(NCCL_NVLS_ENABLE="0")
    for values, unlike in ((HEAD, {}), ({**HEAD, "NCCL_NVLS_ENABLE": "1"}, {"NCCL_NVLS_ENABLE": "0"})):
        arrival = process("spark1", values).model_copy(update={"pid": None})
        found = judge_delivery(preset, (arrival, process("spark2", {**WORKER, "NCCL_NVLS_ENABLE": "0"})), {})
        assert found.workers[0].unlike == unlike
