#!/usr/bin/env bash
# Installs what is missing, checks the format, builds with warnings as errors and runs the tests: in
# the dev preset, then once more under address and undefined-behaviour sanitizers.
#   tools/test.sh              both
#   tools/test.sh PRESET...    only these presets: dev, asan, release
set -euo pipefail
cd "$(dirname "$0")/.."

# The HTML report is tested in a browser.
tools/install_packages.sh chromium chromium-driver python3-selenium clang-tidy-14
tools/format.sh --check

[ $# -gt 0 ] || set -- dev asan
for preset in "$@"; do
  echo "== $preset"
  tools/build/build.sh "$preset"
  ctest --preset "$preset"
done
# At most four minutes.
tools/tidy.sh
