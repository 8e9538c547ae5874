#!/usr/bin/env bash
# Formats every source file; with --check only says which are not formatted.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t sources < <(git ls-files --cached --others --exclude-standard '*.hpp' '*.cpp')
if [ "${1:-}" = "--check" ]; then
  clang-format-14 --dry-run --Werror "${sources[@]}" || {
    echo "Run tools/format.sh and commit the result." >&2
    exit 1
  }
else
  clang-format-14 -i "${sources[@]}"
fi
