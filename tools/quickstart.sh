#!/usr/bin/env bash
# Installs what is missing, builds the release binary, simulates training of a model and replays a
# recorded run.
#   tools/quickstart.sh --mpi   also what mpirun needs (tools/docs/fleet.md)
set -euo pipefail
export HIGHWATER_CONFIG=  # no defaults of whoever runs this
cd "$(dirname "$0")/.."

packages=()
if [ "${1:-}" = --mpi ]; then
  packages=(libboost-mpi1.81-dev openmpi-bin)
fi
tools/install_packages.sh "${packages[@]}"
echo "Building (five to ten minutes on two cores):"
tools/build/build.sh release highwater

highwater=build/release/highwater
echo
echo "Llama 3 8B in bf16 with full checkpointing on an H100, and the largest batch that fits:"
"$highwater" simulate --model llama-3-8b --seq 4096 --precision bf16 --checkpoint full \
  --gpu h100-80 --find-batch
recording=traces/recorded/fake/long-llama-1b-default.hwt.xz
echo
echo "Thirty training steps of a 1B-parameter Llama, sequences of varying length, as recorded:"
"$highwater" replay "$recording"
echo
echo "The same requests with expandable segments:"
"$highwater" replay "$recording" --alloc-conf expandable_segments:True
