#!/usr/bin/env bash
# Ends what start.sh started on both nodes, by the name it gave: ./stop.sh [nodes.conf]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=nodes.conf
source "${1:-$here/nodes.conf}"

docker rm --force fabricdoc-vllm
ssh "$WORKER_SSH" docker rm --force fabricdoc-vllm
