#!/usr/bin/env bash
# Runs the fuzz targets, one after the other, and prints what each has tried; fails where one finds
# something, and keeps the input that shows it in build/fuzz/found.
#   tools/fuzz.sh [MINUTES [TARGET...]]     MINUTES for each target, default 20
set -euo pipefail
cd "$(dirname "$0")/.."

minutes=${1:-20}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] ||
  targets=(unpickler binary_trace text_trace compressed settings config plan_options)

tools/install_packages.sh clang-16 libclang-rt-16-dev
mkdir -p build
cmake --preset fuzz >build/fuzz-configure.log 2>&1 || { cat build/fuzz-configure.log; exit 1; }
cmake --build --preset fuzz --target "${targets[@]/%/_fuzz}"

python3 tests/fuzz/seeds.py . build/fuzz/seeds
mkdir -p build/fuzz/found
failed=0
for target in "${targets[@]}"; do
  mkdir -p "build/fuzz/corpus/$target" "build/fuzz/seeds/$target"
  log=build/fuzz/$target.log
  if "build/fuzz/tests/fuzz/${target}_fuzz" -max_total_time=$((60 * minutes)) -timeout=20 \
    -rss_limit_mb=1024 -print_final_stats=1 -artifact_prefix="build/fuzz/found/$target-" \
    "build/fuzz/corpus/$target" "build/fuzz/seeds/$target" >"$log" 2>&1; then
    echo "$target: $(sed -n 's/.*number_of_executed_units: *//p' "$log") inputs, nothing found"
  else
    echo "$target: FAILED; see $log and build/fuzz/found"
    failed=1
  fi
done
exit $failed
