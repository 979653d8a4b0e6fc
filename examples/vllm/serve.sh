#!/bin/sh
# vLLM over two nodes without containers, one call per node, the head first:
#
#     MASTER_ADDR=192.168.100.10 ./serve.sh spark1 0      # on the head
#     MASTER_ADDR=192.168.100.10 ./serve.sh spark2 1      # on the worker
#
# `fabricdoc run` gates, sets the node's variables and becomes vllm: same process, vllm's own status from then on. The
# head's gate looks at all nodes; the worker's at its own part, or two gates would look at the same nodes at once.
set -eu

node=${1:?the name of this node in the preset}
rank=${2:?0 on the head, 1 on the worker}
preset=${PRESET:-preset.toml}
model=${MODEL:-Qwen/Qwen3-32B}
nnodes=${NNODES:-2}

if [ "$rank" -eq 0 ]; then
  scope='' role=''
else
  scope=--local role=--headless
fi

# shellcheck disable=SC2086  # $scope and $role are one word or none
exec fabricdoc run --preset "$preset" --node "$node" $scope -- \
  vllm serve "$model" --tensor-parallel-size "$nnodes" --nnodes "$nnodes" --node-rank "$rank" \
  --master-addr "${MASTER_ADDR:?the address of the head on the first rail}" --master-port "${MASTER_PORT:-29501}" $role
