#!/usr/bin/env bash
# Configures and builds a preset of CMakePresets.json: tools/build/build.sh PRESET [TARGET...]
# Prints the progress, and what to do if it fails.
set -euo pipefail
cd "$(dirname "$0")/../.."

preset=$1
shift
fail() {
  echo "Building '$preset' failed; the first 'error:' above says why. If a package is missing, run" >&2
  echo "tools/install_packages.sh; after a change of compiler or packages, remove build/$preset." >&2
  exit 1
}
cmake --preset "$preset" >/dev/null || fail
cmake --build --preset "$preset" ${1:+--target "$@"} || fail
