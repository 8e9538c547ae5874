#!/usr/bin/env bash
# Installs what is missing, checks the format, builds with warnings as errors and runs the tests: in
# the dev preset, then, after clang-tidy over the changed lines, once more under the address and
# undefined-behaviour sanitizers.
#   tools/test.sh              all of it
#   tools/test.sh PRESET...    only the tests of these presets: dev, asan, release
set -euo pipefail
cd "$(dirname "$0")/.."

run_tests() {
  echo "== $1"
  tools/build/build.sh "$1"
  ctest --preset "$1" --no-tests=error
}

# The HTML report is tested in a browser.
tools/install_packages.sh chromium chromium-driver python3-selenium clang-tidy-14 \
  clang-16 libclang-rt-16-dev pybind11-dev python3-jsonschema libboost-mpi1.81-dev openmpi-bin strace
tools/format.sh --check

if [ $# -gt 0 ]; then
  for preset in "$@"; do
    run_tests "$preset"
  done
  exit
fi

run_tests dev
tools/tidy.sh  # at most two minutes
run_tests asan
