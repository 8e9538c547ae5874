#!/usr/bin/env bash
# Installs what is missing, checks the format, builds with warnings as errors and runs the tests.
#   tools/test.sh              the dev preset, then all of it under sanitizers where time allows
#   tools/test.sh PRESET...    only these presets: dev, asan, release
# Building under sanitizers takes about twice as long as building dev. HIGHWATER_TEST_MINUTES
# (default 60) is what everything may take: without the time for it, dev alone is tested.
set -euo pipefail
cd "$(dirname "$0")/.."

build() {
  echo "== $1"
  cmake --preset "$1" >/dev/null
  cmake --build --preset "$1"
}

# The HTML report is tested in a browser.
tools/install_packages.sh chromium chromium-driver python3-selenium
tools/format.sh --check

if [ $# -gt 0 ]; then
  for preset in "$@"; do
    build "$preset"
    ctest --preset "$preset"
  done
  exit 0
fi

build dev
# The same again twice over, half of it for the tests, and ten minutes for those that a quick
# compiler does not make quicker.
if [ $((SECONDS * 7 / 2 + 600)) -gt $((${HIGHWATER_TEST_MINUTES:-60} * 60)) ]; then
  echo "Building took $((SECONDS / 60)) minutes: no time for the sanitizers (tools/test.sh asan)."
  ctest --preset dev
else
  ctest --preset dev
  build asan
  ctest --preset asan
fi
