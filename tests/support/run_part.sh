#!/usr/bin/env bash
# Runs a part of a test executable's cases in one process: run_part.sh EXECUTABLE PART PARTS
# Under the sanitizers a process of its own for each case takes longer than most cases. Those tagged
# [long] simulate a hundred plans for their figures; what they call is called by others, too.
set -euo pipefail

names=$(mktemp)
trap 'rm -f "$names"' EXIT
# Catch2 2.13 returns the number of names that it lists.
list() { "$1" --list-test-names-only "${@:2}" || true; }

# A comma in a file of names separates two of them unless it is escaped.
list "$1" "~[long]" | sed -n "$2~$3p" | sed 's/,/\\,/g' >"$names"
if [ "$(list "$1" --input-file "$names" | wc -l)" -ne "$(wc -l <"$names")" ]; then
  echo "$1: not every case of part $2 is found by its name; rename what Catch2 cannot read" >&2
  exit 1
fi
"$1" --input-file "$names"
