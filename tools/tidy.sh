#!/usr/bin/env bash
# clang-tidy with the checks of .clang-tidy; fails where it finds what may be a bug.
#   tools/tidy.sh              lines changed since the main branch (there: by the last commit)
#   tools/tidy.sh --all        every source, for hours
#   tools/tidy.sh FILE...      these sources
# A source takes 5 to 15 seconds, newest first. HIGHWATER_TIDY_MINUTES (default 2) ends a run over
# changed lines; sources left out are counted. HIGHWATER_TIDY_BASE names another commit to compare with.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/build/changes.sh

# The lines changed since $1 in the form of clang-tidy's --line-filter.
changed_lines() {
  git diff -U0 --diff-filter=d "$1" -- '*.cpp' '*.hpp' | awk '
    /^\+\+\+ / { file = substr($2, 3) }
    /^@@/ {
      split(substr($3, 2), hunk, ",")
      count = hunk[2] == "" ? 1 : hunk[2]
      if (count > 0) lines[file] = lines[file] (lines[file] ? "," : "") "[" hunk[1] "," hunk[1] + count - 1 "]"
    }
    END {
      for (file in lines) printf "%s{\"name\":\"%s\",\"lines\":[%s]}", n++ ? "," : "[", file, lines[file]
      print n ? "]" : "[]"
    }'
}

# One source; nothing once the time is over. Options that only GCC has are unknown to clang, and some
# C++20 that GCC 12 compiles is too: what clang cannot read is not its business.
tidy_one() {
  local found failed=0
  if [ "$(date +%s)" -ge "$TIDY_END" ]; then
    echo "left out: $1"
    return
  fi
  found=$(clang-tidy-14 --quiet -p build/tidy --line-filter="$(cat "$TIDY_LINES")" \
    --extra-arg=-w --extra-arg=-Wno-unknown-warning-option "$1" 2>/dev/null) || failed=1
  if grep -q 'clang-diagnostic-error' <<<"$found"; then
    echo "left out: $1"
  else
    [ -z "$found" ] || echo "$found"
    return $failed
  fi
}

TIDY_LINES=$(mktemp)
trap 'rm -f "$TIDY_LINES"' EXIT
TIDY_END=$(($(date +%s) + ${HIGHWATER_TIDY_MINUTES:-2} * 60))
case "${1:-}" in
  '')
    since=${HIGHWATER_TIDY_BASE:-$(base)}
    mapfile -t sources < <(changed_files "$since" '*.cpp')
    changed_lines "$since" >"$TIDY_LINES"
    ;;
  --all)
    mapfile -t sources < <(git ls-files '*.cpp')
    ;;
  *) sources=("$@") ;;
esac
[ $# -eq 0 ] || TIDY_END=$((1 << 40))

# Each source by itself, not a folder as one unit.
cmake --preset tidy >/dev/null
mapfile -t sources < <(
  for source in "${sources[@]}"; do
    if grep -qF "\"$PWD/$source\"" build/tidy/compile_commands.json; then echo "$source"; fi
  done
)

echo "clang-tidy: ${#sources[@]} sources"
[ ${#sources[@]} -gt 0 ] || exit 0
export -f tidy_one
export TIDY_LINES TIDY_END
failed=0
printf '%s\0' "${sources[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'tidy_one "$1"' _ >build/tidy/found.txt || failed=1
grep -v '^left out: ' build/tidy/found.txt || true
left_out=$(grep -c '^left out: ' build/tidy/found.txt || true)
[ "$left_out" -eq 0 ] || echo "Not checked (out of time, or not C++ that clang 14 knows): $left_out sources."
[ $failed -eq 0 ] || echo "Repair what is marked as an error; tools/tidy.sh FILE checks again." >&2
exit $failed
