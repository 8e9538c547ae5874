#!/usr/bin/env bash
# Runs the fuzz targets, one after the other, and prints what each has tried; fails where one finds
# something, and keeps the input that shows it in build/fuzz/found.
#   tools/fuzz.sh [MINUTES [TARGET...]]     MINUTES for each target, default 20; 0: builds them only
#
# Once what it shows is mended, such an input goes to tests/data/fuzz/TARGET, with a name that says
# what failed (compressed by xz where that helps): every build's tests run it from then on.
set -euo pipefail
cd "$(dirname "$0")/.."

minutes=${1:-20}
shift || true

tools/install_packages.sh clang-16 libclang-rt-16-dev
mkdir -p build
cmake --preset fuzz >build/fuzz-configure.log 2>&1 || { cat build/fuzz-configure.log; exit 1; }
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets <build/fuzz/tests/fuzz/targets.txt
cmake --build --preset fuzz --target "${targets[@]/%/_fuzz}"
[ "$minutes" != 0 ] || exit 0

python3 tests/fuzz/seeds.py . build/fuzz/seeds
mkdir -p build/fuzz/found
failed=0
for target in "${targets[@]}"; do
  mkdir -p "build/fuzz/corpus/$target" "build/fuzz/seeds/$target"
  for kept in tests/data/fuzz/"$target"/*; do
    case $kept in
      *.xz) xz -dc "$kept" >"build/fuzz/seeds/$target/kept-$(basename "$kept" .xz)" ;;
      */'*') ;;
      *) cp "$kept" "build/fuzz/seeds/$target/kept-$(basename "$kept")" ;;
    esac
  done
  log=build/fuzz/$target.log
  if "build/fuzz/tests/fuzz/${target}_fuzz" -max_total_time=$((60 * minutes)) -timeout=20 \
    -rss_limit_mb=1024 -print_final_stats=1 -artifact_prefix="$PWD/build/fuzz/found/$target-" \
    "build/fuzz/corpus/$target" "build/fuzz/seeds/$target" >"$log" 2>&1; then
    echo "$target: $(sed -n 's/.*number_of_executed_units: *//p' "$log") inputs, nothing found"
  else
    echo "$target: FAILED; see $log and build/fuzz/found"
    failed=1
  fi
done
exit $failed
