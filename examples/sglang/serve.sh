#!/bin/sh
# SGLang over two nodes without containers, one call per node, the head first:
#
#     MASTER_ADDR=192.168.100.10 HOST_IP=192.168.100.10 ./serve.sh spark1 0      # on the head
#     MASTER_ADDR=192.168.100.10 HOST_IP=192.168.100.11 ./serve.sh spark2 1      # on the worker
#
# SGLANG_HOST_IP is needed on a Spark: left alone, its message queue takes the address of the Wi-Fi, and both ranks hang
# after NCCL has succeeded. SGLang sets NCCL_CUMEM_ENABLE and NCCL_NVLS_ENABLE to 0 where they are not set.
set -eu

node=${1:?the name of this node in the preset}
rank=${2:?0 on the head, 1 on the worker}
preset=${PRESET:-preset.toml}
model=${MODEL:-Qwen/Qwen3-32B}
nnodes=${NNODES:-2}
SGLANG_HOST_IP=${HOST_IP:?the address of this node on the first rail}
export SGLANG_HOST_IP

scope=''
[ "$rank" -eq 0 ] || scope=--local

# shellcheck disable=SC2086  # $scope is one word or none
exec fabricdoc run --preset "$preset" --node "$node" $scope -- \
  python3 -m sglang.launch_server --model-path "$model" --tp "$nnodes" --nnodes "$nnodes" --node-rank "$rank" \
  --dist-init-addr "${MASTER_ADDR:?the address of the head on the first rail}:${MASTER_PORT:-29501}"
