"""What may never be exported, whatever was measured: the last look at a preset before it is kept or written.

Candidates are checked before they are launched; this is for runs of an earlier edition, for a user's own sets, and for
preset files that somebody edited.
"""

from __future__ import annotations

from fabricdoc.errors import InputError
from fabricdoc.model.preset import NodePreset, Preset
from fabricdoc.nccl import check_variables, must_agree, parse_release, reject_unsafe


def refuse_unsafe(preset: Preset) -> None:
    """InputError for a set that can corrupt data or fails under the loaded NCCL, or that sets apart what must agree.

    The NCCL is the one that its fingerprint holds, by node.
    """
    if preset.backend != "nccl":
        return
    why = next((reason for node in preset.nodes if (reason := _unsafe(node, preset))), "") or _apart(preset)
    if why:
        of = f"{preset.choice} of run {preset.run}" if preset.run else f"preset {preset.name}"
        raise InputError(
            f"{of} can't be exported: {why}",
            fix="judge the run without it: fabricdoc bench --candidates ... (another set); or mend the preset's file",
            id="unsafe-preset",
        )


def _unsafe(node: NodePreset, preset: Preset) -> str:
    """What is against the values of one node, for the NCCL that it ran; "" where nothing is known."""
    values = {line.name: line.value for line in node.lines if line.kind != "diagnostic"}
    prints = preset.fingerprint.nodes
    text = next((one.nccl for one in prints if one.name == node.name and isinstance(one.nccl, str)), "")
    if reason := reject_unsafe(values):
        return reason
    wrong = [one for one in check_variables(values, parse_release(text)) if one.severity == "error"]
    return wrong[0].message if wrong else ""


def _apart(preset: Preset) -> str:
    """A variable that all ranks must set alike, and do not."""
    first, *others = [{line.name: line.value for line in node.lines} for node in preset.nodes] or [{}]
    names = dict.fromkeys(name for values in (first, *others) for name in values if must_agree(name))
    apart = [name for name in names if any(values.get(name) != first.get(name) for values in others)]
    return f"{apart[0]} must be equal on all ranks, and is not" if apart else ""
