#!/bin/sh
# Prolog= of slurm.conf: this node's own part of the gate, before any job. slurmd drains a node whose Prolog fails, so
# `gate --local` exits non-zero only for the ids of hardware (--hardware names others); what is in the way of one job
# (a port that is taken, memory in use) drains nothing. One line goes to slurmd's log.
preset=/etc/fabricdoc/preset.toml

# No preset here, or no fabricdoc: nothing to judge by, and no reason to drain.
[ -r "$preset" ] || exit 0
command -v fabricdoc >/dev/null 2>&1 || exit 0

fabricdoc gate --local --node "${SLURMD_NODENAME:-$(uname -n)}" --preset "$preset" --line
status=$?

# 1 is a no-go of hardware. What could not be told, wrong usage or a failure of ours must not drain a cluster.
[ "$status" -eq 1 ] && exit 1
exit 0
