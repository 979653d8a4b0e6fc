#!/usr/bin/env bash
# Starts one vLLM server over two DGX Sparks, in containers: the gate first, then the worker, then the head.
#
#     ./start.sh [nodes.conf]
#
# Run it on the head. A gate that does not say go ends this script with the gate's own status, and nothing was started.
# Each node gets its own variables, exactly as the preset has them: --env-file reads the worker's over ssh from stdin,
# so no file is left there. If the head can't be started, the worker that was started for it is removed again.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
conf=${1:-$here/nodes.conf}
# shellcheck source=nodes.conf
source "$conf"

env_dir=$(mktemp -d)
trap 'rm -rf "$env_dir"' EXIT

# 1. May this job start with this preset, here and now? Its answer is on the screen; its status is ours.
fabricdoc gate --preset "$PRESET" "${GATE_ARGS[@]}" -- \
  vllm serve "$MODEL" "${SERVE_ARGS[@]}" --nnodes 2 --master-addr "$MASTER_ADDR" --master-port "$MASTER_PORT"

# 2. Each node's variables in docker's own form.
fabricdoc export-env "$PRESET" --format docker-env --output "$env_dir"

# What RDMA needs in a container: the devices, memory that may be locked, the host's network and shared memory.
run=(docker run --detach --name fabricdoc-vllm --gpus all --network host --ipc host
  --device /dev/infiniband --ulimit memlock=-1 --cap-add IPC_LOCK)
serve=(vllm serve "$MODEL" "${SERVE_ARGS[@]}"
  --nnodes 2 --master-addr "$MASTER_ADDR" --master-port "$MASTER_PORT")

# 3. The worker. ssh hands one string to the login shell there, so every word is quoted.
printf -v worker '%q ' "${run[@]}" --env-file /dev/stdin "$IMAGE" "${serve[@]}" --node-rank 1 --headless
# shellcheck disable=SC2029  # expanded here on purpose: $worker is quoted word by word
ssh "$WORKER_SSH" "$worker" <"$env_dir/$WORKER.docker-env"

# 4. The head.
if ! "${run[@]}" --env-file "$env_dir/$HEAD.docker-env" "$IMAGE" "${serve[@]}" --node-rank 0; then
  # shellcheck disable=SC2029
  ssh "$WORKER_SSH" docker rm --force fabricdoc-vllm
  exit 1
fi

printf 'started on %s and %s\n' "$HEAD" "$WORKER"
printf 'did the variables arrive? fabricdoc verify-env --preset %q --container fabricdoc-vllm\n' "$PRESET"
