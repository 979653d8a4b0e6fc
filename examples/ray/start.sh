#!/bin/sh
# Ray on each node for a server that uses it (vllm serve --distributed-executor-backend ray), the head first:
#
#     ./start.sh spark1 192.168.100.10 head      # on the head, then vllm serve there, by `fabricdoc run` again
#     ./start.sh spark2 192.168.100.11           # on the worker; HEAD_ADDR=192.168.100.10
#
# A worker process inherits the environment of its node's `ray start`, not the driver's: that is why each node's values
# are set here. Older executors copy the driver's NCCL_ variables over them, which destroys a per-node HCA list: exclude
# these names in $VLLM_CONFIG_ROOT/ray_non_carry_over_env_vars.json (docs/launchers.md).
set -eu

node=${1:?the name of this node in the preset}
address=${2:?the address of this node on the first rail}
preset=${PRESET:-preset.toml}
port=${RAY_PORT:-6379}

if [ "${3:-}" = head ]; then
  exec fabricdoc run --preset "$preset" --node "$node" -- \
    ray start --head --node-ip-address "$address" --port "$port" --block
fi
exec fabricdoc run --preset "$preset" --node "$node" --local -- \
  ray start --address "${HEAD_ADDR:?the address of the head}:$port" --node-ip-address "$address" --block
