#!/usr/bin/env bash
# Compiles each source by itself, without making code: what a build with HIGHWATER_UNITY=OFF would
# show. The other builds compile a room as one, so they do not notice a source that lacks an include
# or uses a private function of its neighbour.
#   tools/unity.sh             the folders with files changed since the main branch (there: by the last commit)
#   tools/unity.sh --all       every source: half an hour of CPU time; weekly, and before a release
#   tools/unity.sh FOLDER...   these folders
# A source takes a second or two. HIGHWATER_UNITY_MINUTES (default 3) ends a run over changed folders;
# sources left out are counted.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/build/changes.sh

minutes=1000
case "${1:-}" in
  '')
    minutes=${HIGHWATER_UNITY_MINUTES:-3}
    mapfile -t folders < <(changed_files "$(base)" '*.cpp' '*.hpp' | xargs -r dirname | sort -u)
    [ ${#folders[@]} -gt 0 ] || exit 0
    ;;
  --all) folders=() ;;
  *) folders=("$@") ;;
esac
cmake --preset tidy >/dev/null
python3 tools/python/checks/compile_alone.py build/tidy "$minutes" "${folders[@]}"
