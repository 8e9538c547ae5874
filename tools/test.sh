#!/usr/bin/env bash
# Installs what is missing, checks the format, builds with warnings as errors and runs the tests.
#   tools/test.sh              the dev preset, then the tests that gain from it under sanitizers
#   tools/test.sh PRESET...    only these presets: dev, asan, release
set -euo pipefail
cd "$(dirname "$0")/.."

# The HTML report is tested in a browser.
tools/install_packages.sh chromium chromium-driver python3-selenium
tools/format.sh --check

presets=("$@")
[ ${#presets[@]} -gt 0 ] || presets=(asan dev)
for preset in "${presets[@]}"; do
  echo "== $preset"
  cmake --preset "$preset" >/dev/null
  cmake --build --preset "$preset"
  ctest --preset "$preset"
done
