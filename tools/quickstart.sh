#!/usr/bin/env bash
# Installs what is missing, builds the release binary and replays a recorded training run.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/install_packages.sh
cmake --preset release >/dev/null
cmake --build --preset release --target highwater

recording=traces/recorded/fake/long-llama-1b-default.hwt.xz
echo
echo "Thirty training steps of a 1B-parameter Llama, sequences of varying length, as recorded:"
build/release/highwater replay "$recording"
echo
echo "The same requests with expandable segments:"
build/release/highwater replay "$recording" --alloc-conf expandable_segments:True
