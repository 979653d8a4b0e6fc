"""Rules of ranks against each other: versions, plugins, settings, hosts that look like one, GPUs that are shared."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from fabricdoc.explain.case import Case
from fabricdoc.explain.hits import Answer, Confidence, Hit, Near, Rule, spots, words
from fabricdoc.explain.rules.bootstrap import interfaces_used
from fabricdoc.explain.rules.lists import ib_hca_matches_nothing
from fabricdoc.explain.rules.stack import (
    container_rdma_device_missing,
    external_networks,
    ib_disabled_by_env,
    libibverbs_missing,
)
from fabricdoc.explain.runs import Run, runs_of_one_rank
from fabricdoc.explain.seen import Seen, Set, Sign
from fabricdoc.explain.views import networks, uses_sockets
from fabricdoc.nccl import catalogue, must_agree

NO_PROVIDER = re.compile(
    r"(?i)could not find any optimal provider|no eligible providers|couldn't get (?:any )?provider|fi_getinfo.*fail"
    r"|no (?:usable |suitable )?(?:provider|device)s? (?:were )?found|found no (?:usable )?nics?"
    r"|not find.*(?:efa|provider)|unable to find.*provider|failed to init\w* (?:rdma|sendrecv)? ?protocol"
    r"|unable to find a protocol that worked|aws-ofi-nccl initialization failed"
    r"|no (?:EFA|matching) (?:devices?|providers?)"
)
"""How the libfabric plugin says that it has nothing to work with (aws-ofi-nccl, several releases)."""
GROUP = re.compile(r"PG (?:ID|GUID) \S{1,40}")
SPEAKER = re.compile(r"\(\w{1,60} pid=\d{1,10}(?:, ip=[0-9a-fA-F.:]{2,45})?\)")
"""How Ray puts a process before what it says."""
SLOW_PROVIDER = re.compile(r"Selected [Pp]rovider is (?:tcp|sockets|udp|net)\b")
"""It took what is left where the fabric's provider shows no device (aws-ofi-nccl 803)."""


def versions(case: Case) -> dict[str, list[Seen]]:
    """Release -> the lines in which a process names it as its own."""
    found: dict[str, list[Seen]] = defaultdict(list)
    for seen in case.of("version", "version.engine"):
        found[seen.groups["ver"]].append(seen)
    return dict(found)


def nccl_version_mismatch(case: Case) -> Answer:
    """NCCL says so, or processes name two releases."""
    said = case.of("err.version")
    found = versions(case)
    if said:
        groups = said[0].groups
        filled = words(
            first=_dotted(groups.get("va", "")), second=_dotted(groups.get("vb", "")), node=said[0].spot.node
        )
        return Hit(spots(said[:1], [lines[0] for lines in found.values()]), filled, "certain")
    if len(found) < 2:
        return None
    firsts = [lines[0] for lines in found.values()]
    if engines := _engines_apart(case):
        filled = words(first=engines[0].groups["ver"], second=engines[1].groups["ver"], node=engines[0].spot.node)
        return Hit(spots(case.of("boot.trunc", "sock.family", "err.sockmix")[:1], engines), filled, "certain")
    if again := runs_of_one_rank(case, [line for lines in found.values() for line in lines]):
        shown = spots([run.version for run in again])
        return Near(shown, "the same rank of the same host names both, in two runs", ("two ranks of one run",))
    if len({(line.spot.file, line.spot.node) for line in firsts}) < 2 and not _several_hosts(case, firsts[0].spot.file):
        return Near(spots(firsts[:2]), "one process names both", ("two ranks with other versions",))
    symptom = case.of("sock.family", "boot.trunc", "err.sockmix", "sock.magic", "err.internal")[:1]
    filled = words(first=next(iter(found)), second=list(found)[1], node=firsts[0].spot.node, other=firsts[1].spot.node)
    return Hit(spots(symptom, firsts[:4]), filled, "certain")


def _engines_apart(case: Case) -> list[Seen]:
    """Lines of an engine's processes that name two releases: `(RayWorkerWrapper pid=402, ip=10.0.0.2)` in front."""
    first: dict[str, Seen] = {}
    for seen in case.of("version.engine"):
        match = SPEAKER.search(seen.spot.text)
        first.setdefault(f"{seen.spot.file} {match[0] if match else ''}", seen)
    releases = {seen.groups["ver"]: seen for seen in reversed(list(first.values()))}
    return list(releases.values())[:2] if len(releases) > 1 and len(first) > 1 else []


def _several_hosts(case: Case, file: str) -> bool:
    """Whether several hosts speak in a file: then its bare version lines are of several ranks."""
    return any(one.name == file and len(one.hosts) > 1 for one in case.files)


def _dotted(code: str) -> str:
    return f"{int(code) // 10000}.{int(code) // 100 % 100}.{int(code) % 100}" if code.isdecimal() else code


def net_plugin_mismatch(case: Case) -> Answer:
    """One node's ranks use a plugin's network, another's NCCL's own or another plugin's."""
    by_node: dict[str, tuple[str, Seen]] = {}
    for net, lines in networks(case).items():
        for seen in lines:
            by_node.setdefault(seen.spot.node or seen.spot.file, (net, seen))
    names = {net for net, _seen in by_node.values()}
    if len(by_node) < 2 or len(names) < 2:
        return _loaded_on_some(case, set(by_node))
    external = {net for net in names if net in external_networks(case)}
    shown = [next(seen for net, seen in by_node.values() if net == name) for name in names]
    loaded = case.of("plugin.loaded")[:1]
    absent = [seen for seen in case.of("plugin.none") if "NET/Plugin" in seen.spot.text][:1]
    (one, (net, _)), (other, (net2, _)) = next(
        (a, b) for a in by_node.items() for b in by_node.items() if a[1][0] != b[1][0]
    )
    filled = words(node=one, plugin=net, other=other, second=net2)
    if not external and (why := _fell_back(case)):
        return Near(spots(shown[:3]), f"both networks are NCCL's own, and {why} is why one node fell back to sockets")
    if not external and "Socket" in names and not case.errors:
        return Hit(spots(shown[:3]), filled, "likely")
    return Hit(spots(shown[:3], loaded, absent), filled, "certain" if external else "likely")


def _fell_back(case: Case) -> str:
    """The cause, "" for none, that made a node's ranks take sockets while another's took HCAs."""
    for name, rule in FALLBACKS.items():
        answer = rule(case)
        if isinstance(answer, Hit) and answer.severity == "error":
            return name
    return ""


FALLBACKS: dict[str, Rule] = {
    "libibverbs-missing": libibverbs_missing,
    "container-rdma-device-missing": container_rdma_device_missing,
    "ib-disabled-by-env": ib_disabled_by_env,
    "ib-hca-matches-nothing": ib_hca_matches_nothing,
}
"""Rules of a node that has no HCA to use: they tell an error where another node's ranks use theirs."""


def _loaded_on_some(case: Case, told: set[str]) -> Answer:
    """No network is named on some node: there the lines on loading a plugin must tell."""
    loaded = {
        seen.spot.node: seen
        for seen in case.of("plugin.loaded")
        if "NET/Plugin" in seen.spot.text or " NET " in seen.spot.text
    }
    absent = {
        seen.spot.node: seen
        for seen in case.of("plugin.none")
        if "NET/Plugin" in seen.spot.text and seen.spot.node not in loaded
    }
    silent = (loaded.keys() | absent.keys()) - told
    if not loaded or not absent or not silent:
        return None
    one, other = next(iter(loaded)), next(iter(absent))
    filled = words(node=one, plugin=loaded[one].groups.get("name", "a plugin"), other=other, second="NCCL's own")
    return Hit(spots(loaded[one], absent[other]), filled, "likely", ("the `Using network` line of every node",))


def ofi_no_usable_provider(case: Case) -> Answer:
    """The libfabric plugin says that it finds no provider or device that it can use."""
    found = [
        seen
        for seen in case.of("plugin.ofi", "prefix.warn")
        if "OFI" in seen.spot.text and NO_PROVIDER.search(seen.spot.text)
    ]
    slow = [seen for seen in case.of("plugin.ofi") if SLOW_PROVIDER.search(seen.spot.text)]
    if slow and not found:
        told = [seen for seen in case.warnings if "NET/OFI" in seen.spot.text][:1]
        sought = ("a line `Selected Provider is efa`",)
        return Hit(spots(slow[:1], told), words(node=slow[0].spot.node), "likely", sought, None if told else "warning")
    if not found:
        return None
    warned = [seen for seen in found if seen.level == "WARN"] or found
    if any("Selected" in seen.spot.text and "rovider is" in seen.spot.text for seen in case.of("plugin.ofi")):
        return Near(spots(warned[:1]), "a provider was selected all the same", ("no `Selected Provider` line",))
    return Hit(spots(warned[:2], uses_sockets(case)[:1]), words(node=warned[0].spot.node), "certain")


def env_differs_between_ranks(case: Case) -> Answer:
    """Variables that must be equal on every rank are not, or messages have other sizes than the peer expects."""
    symptom = case.of("err.sockmix", "boot.trunc")
    symptom += [seen for seen in case.of("ib.misuse") if "ollective mismatch" in seen.spot.text]
    for name in dict.fromkeys(each.name for each in case.sets):
        if not must_agree(name):
            continue
        for by in ("log", "file"):
            if shown := _apart(case, name, by):
                sure: Confidence = "certain" if symptom or case.errors else "likely"
                return Hit(spots(symptom[:1], shown[:4]), _two(name, shown), sure)
            missing = _missing_on(case, name, by)
            if missing and (symptom or stuck_lines(case)):
                each, other = missing
                filled = words(name=name, node=each.spot.node, value=each.value, other=other, second="unset")
                return Hit(spots(symptom[:1], stuck_lines(case)[:1], each), filled, "likely", (f"{name} on {other}",))
    calls: list[Seen | Sign] = [*case.sign("collective-mismatch"), *_other_calls(case)]
    if symptom or calls:
        versions_differ = len(versions(case)) > 1
        if not versions_differ:
            return Hit(
                spots(symptom[:2], calls[:2]),
                words(node=(symptom or calls)[0].spot.node),
                "likely",
                ("the settings of every rank",),
            )
    return _perhaps_apart(case)


def _perhaps_apart(case: Case) -> Answer:
    """A hang, and a variable of which nobody knows whether ranks may differ in it: they do."""
    for name in dict.fromkeys(each.name for each in case.sets) if stuck_lines(case) else ():
        known = catalogue().get(name)
        shown = _apart(case, name, "log") if known is not None and known.per_rank_may_differ is None else []
        if shown:
            sought = ("whether the run ends with one value on every rank",)
            return Hit(spots(stuck_lines(case)[:1], shown[:4]), _two(name, shown), "possible", sought)
    return None


def _apart(case: Case, name: str, by: str) -> list[Set]:
    """Who sets a variable, one of each process or node, where they set it differently; else nothing."""
    values = list(_by_node(case.values(name, by=by)).values())
    return values if len({each.value.strip("\"'").lower() for each in values}) > 1 else []


def _two(name: str, shown: Sequence[Set]) -> dict[str, str]:
    first, last = shown[0], shown[-1]
    return words(name=name, node=first.spot.node, value=first.value, other=last.spot.node, second=last.value)


def _other_calls(case: Case) -> list[Seen]:
    """Two ranks that wait in the same place of one group's sequence, each in another collective."""
    first: dict[tuple[str, str], Seen] = {}
    for seen in case.of("torch.watchdog"):
        group = GROUP.search(seen.spot.text)
        one = first.setdefault((group[0] if group else "", seen.groups.get("seq", "")), seen)
        if one.groups.get("rank") != seen.groups.get("rank") and one.groups.get("op") != seen.groups.get("op"):
            return [one, seen]
    return []


def stuck_lines(case: Case) -> list[Seen]:
    """The watchdog's lines."""
    return case.of("torch.watchdog", "torch.watchdog.end")


def _by_node(sets: list[Set]) -> dict[str, Set]:
    found: dict[str, Set] = {}
    for each in sets:
        key = f"{each.process}" if each.process else each.spot.node or each.spot.file
        found.setdefault(key, each)
    return found


def _missing_on(case: Case, name: str, by: str) -> tuple[Set, str] | None:
    """A variable that one node's files or logs name and another's of the same sort do not."""
    owners = {each.spot.node for each in case.values(name, by=by)}
    everybody = {each.spot.node for each in case.sets if each.by == by and each.spot.node}
    everybody |= {seen.spot.node for seen in case.of("comm.init") if by == "log" and seen.spot.node}
    others = sorted(everybody - owners)
    return (case.values(name, by=by)[0], others[0]) if owners and others and "" not in owners else None


def host_identity_collision(case: Case) -> Answer:
    """Ranks of two hosts are joined by a transport that works within one host only, or NCCL counts one node."""
    owner: dict[int, tuple[str, Seen]] = {}
    for seen in case.of("comm.init", "comm.shape"):
        if seen.groups.get("rank", "").isdecimal():
            owner.setdefault(int(seen.groups["rank"]), (_place(seen), seen))
    local = [seen for seen in case.of("chan.p2p", "chan.shm", "chan.local.old") if "src" in seen.groups]
    for seen in local:
        owner.setdefault(int(seen.groups["src"]), (_place(seen), seen))
    for seen in local:
        source, target = owner.get(int(seen.groups["src"])), owner.get(int(seen.groups["dst"]))
        if source and target and source[0] != target[0]:
            hosts = case.sign("hostname-line")
            filled = words(node=source[0], other=target[0], source=seen.groups["src"], target=seen.groups["dst"])
            return Hit(spots(seen, target[1], hosts[:2]), filled, "certain")
    one = [seen for seen in case.of("comm.shape") if seen.groups.get("nodes") == "1"]
    places = {_place(seen) for seen in one}
    if len(places) > 1:
        filled = words(node=sorted(places)[0], other=sorted(places)[1])
        return Hit(spots(one[:2], case.of("err.dupgpu")[:1]), filled, "certain")
    if apart := _one_name_two_machines(case):
        broken, lines = apart
        filled = words(node=lines[0].spot.node)
        return Hit(spots(broken, lines), filled, "likely", ("hostname and boot_id of both hosts",))
    doubled = case.of("err.dupgpu")
    if doubled and (_one_rank_each(case) or _hostids(case)):
        filled = words(node=doubled[0].spot.node)
        return Hit(spots(doubled[:2], _hostids(case), case.sign("machine-id-line")[:2]), filled, "likely")
    return None


def _one_name_two_machines(case: Case) -> tuple[list[Seen], list[Seen]] | None:
    """Processes of one host name use one interface with two addresses, and share no memory or are counted as one."""
    broken = case.warned(r"open CUDA IPC handle|cudaIpcOpenMemHandle") + case.of("err.dupgpu")
    broken = broken or [seen for seen in case.of("comm.shape") if seen.groups.get("nodes") == "1"]
    seats: dict[tuple[str, str], dict[str, Seen]] = defaultdict(dict)
    for seen, name, address in interfaces_used(case) if broken else ():
        if seen.host and address:
            seats[seen.host, name].setdefault(address, seen)
    double = next((list(lines.values())[:2] for lines in seats.values() if len(lines) > 1), [])
    return (broken[:1], double) if double else None


def _one_rank_each(case: Case) -> bool:
    """Whether there are several nodes, with one process on each: then no two ranks of a node can share its GPU."""
    processes: dict[str, set[object]] = defaultdict(set)
    for seen in case.seen:
        if seen.process:
            processes[seen.spot.node].add(seen.process[1:3])
    return len(processes) > 1 and all(len(one) == 1 for one in processes.values())


def _place(seen: Seen) -> str:
    """Where a rank runs: its node. Ranks of one file and host are of one node."""
    return seen.spot.node


def _hostids(case: Case) -> list[Set]:
    """NCCL_HOSTID set to the same value on two nodes."""
    found = case.values("NCCL_HOSTID")
    return found[:2] if len({each.spot.node for each in found}) > 1 and len({each.value for each in found}) == 1 else []


def ranks_share_one_gpu(case: Case) -> Answer:
    """NCCL found two ranks on one GPU."""
    found = case.of("err.dupgpu")
    if not found:
        return None
    groups = found[0].groups
    bus = re.search(r"(?:CUDA device|device) (\w+)", found[0].spot.text)
    filled = words(
        first=groups.get("a", ""), second=groups.get("b", ""), gpu=bus[1] if bus else "", node=found[0].spot.node
    )
    shared = case.values("CUDA_VISIBLE_DEVICES")[:2]
    return Hit(spots(found[:2], shared), filled, "certain")


def nccl_build_specific_hang(case: Case) -> Answer:
    """A hang without an error of the fabric, and builds: one that hangs and one that does not, or one known to."""
    hang: list[Seen | Sign] = [*stuck_lines(case), *case.sign("engine-hang", "said-hang")]
    builds = case.sign("build-note", "build-known")
    found = versions(case)
    serious = [
        seen for seen in case.errors if seen.use == "cause" and not seen.event.startswith(("torch", "err.result"))
    ]
    named = [seen for lines in found.values() for seen in lines]
    runs = runs_of_one_rank(case, named) or ()
    hang += _without_result(case, runs)
    if serious or not (hang or builds):
        return None
    if hang and runs and not all(any(run.holds(one.spot) for one in hang) for run in runs):
        shown = spots(hang[:2], [run.version for run in runs], builds[:2])
        return Hit(shown, words(node=hang[0].spot.node), "likely")
    engines = case.of("version.engine")
    if builds and (hang or len(builds) > 1):
        return Hit(spots(hang[:2], builds[:3], named[:1]), words(node=(hang or builds)[0].spot.node), "likely")
    listed = [sign for sign in case.sign("build-id", "build-package") if sign.spot.file not in _logs(case)]
    if hang and len({sign.groups.get("id", "") for sign in listed}) > 1:
        return Hit(spots(hang[:2], listed[:4], named[:1]), words(node=hang[0].spot.node), "likely")
    known = [seen for seen in (*named, *engines) if seen.groups.get("ver") in KNOWN_HANGS]
    graph = [*case.sign("cuda-graph"), *case.sign("gpu-gb10")]
    if hang and known and graph:
        filled = words(version=known[0].groups["ver"], node=known[0].spot.node)
        sought = ("the same run with another build",)
        return Hit(
            spots(hang[:2], known[:1], graph[:1]), filled, "likely" if case.sign("cuda-graph") else "possible", sought
        )
    if hang and known:
        return Near(
            spots(known[:1], hang[:1]), "this build is known to hang with CUDA graphs, which nothing here names"
        )
    return None


def _without_result(case: Case, runs: Sequence[Run]) -> list[Sign]:
    """The table of nccl-tests that one of two runs began and never filled, while the other's is full."""
    filled = [run for run in runs if any(run.holds(row.spot) for row in case.rows)]
    empty = [run for run in runs if run not in filled]
    return [sign for sign in case.sign("tests-table") if filled and any(run.holds(sign.spot) for run in empty)]


def _logs(case: Case) -> set[str]:
    """The files that are NCCL's own logs."""
    return {one.name for one in case.files if "NCCL log" in one.kinds}


KNOWN_HANGS = frozenset({"2.28.9"})
"""Releases with hangs of their own that people reported (spark facts P22: vllm 52504, 40969)."""


RULES: dict[str, Rule] = {
    "nccl-version-mismatch": nccl_version_mismatch,
    "ofi-no-usable-provider": ofi_no_usable_provider,
    "host-identity-collision": host_identity_collision,
    "ranks-share-one-gpu": ranks_share_one_gpu,
    "net-plugin-mismatch-between-nodes": net_plugin_mismatch,
    "env-differs-between-ranks": env_differs_between_ranks,
    "nccl-build-specific-hang": nccl_build_specific_hang,
}
