#!/usr/bin/env bash
# Runs a part of a test executable's cases in one process: run_part.sh EXECUTABLE PART PARTS
# Under the sanitizers a process of its own for each case takes longer than most cases. Those tagged
# [long] simulate a hundred plans for their figures; what they call is called by others, too.
set -euo pipefail

names=$(mktemp)
trap 'rm -f "$names"' EXIT
# Catch2 2.13 returns the number of names that it lists.
{ "$1" --list-test-names-only "~[long]" || true; } | sed -n "$2~$3p" >"$names"
"$1" --input-file "$names"
