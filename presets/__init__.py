"""Data, and only data: candidates, profiles, platforms, NCCL's catalogue, findings. Every number has its source."""
