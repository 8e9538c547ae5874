#!/usr/bin/env bash
# Prints the figures of the README: time per operation of the model beside the plain implementation,
# and a million-entry snapshot read and replayed beside Python's pickle.load.
#   tools/bench.sh [OPERATIONS] [--torch FOLDER]
#   tools/bench.sh [OPERATIONS] --replays        replays alone, for large numbers
#   tools/bench.sh [ENTRIES] --commands          time and memory of commands on a large snapshot
# FOLDER is the package torch of an installed wheel (.../site-packages/torch): PyTorch's own
# allocator library is then timed as well, over the fake CUDA libraries. Neither Python nor the rest
# of PyTorch takes part.
set -euo pipefail
export HIGHWATER_CONFIG=  # no defaults of whoever runs this

fail() {
  echo "tools/bench.sh: $1" >&2
  exit 2
}

operations=2000000
torch=
replays=
commands=
while [ $# -gt 0 ]; do
  case $1 in
    --torch)
      [ -d "${2:-}" ] || fail "--torch needs the folder of an installed torch (.../site-packages/torch)"
      torch=$(realpath "$2")
      shift
      ;;
    --replays) replays=yes ;;
    --commands) commands=yes ;;
    -* | *[!0-9]* | '') fail "'$1': unknown; use [OPERATIONS] [--torch FOLDER | --replays | --commands]" ;;
    *) operations=$1 ;;
  esac
  shift
done
[ -z "$torch" ] || [ -z "$replays$commands" ] ||
  fail "--torch with --replays or --commands: PyTorch's library does not replay; use one of them"
[ -z "$replays" ] || [ -z "$commands" ] || fail "--replays and --commands: use one of them"

cd "$(dirname "$0")/.."
tools/install_packages.sh python3-minimal time
tools/build/build.sh release highwater highwater_bench ${torch:+fakecuda}

if [ -n "$replays" ]; then
  exec build/release/tests/bench/highwater_bench "$operations" replays
fi
measure() {
  local name=$1
  shift
  /usr/bin/time -f "  %e s  %M KiB peak" -o "$snapshot.time" "$@" >/dev/null
  printf '%-34s%s\n' "$name" "$(cat "$snapshot.time")"
  rm -f "$snapshot.time"
}

make_snapshot() {
  snapshot=$(mktemp --suffix=.pickle)
  trap 'rm -f "$snapshot"' EXIT
  python3 tests/bench/make_snapshot.py "$snapshot" "$1"
  echo "A snapshot of $1 entries ($(stat -c %s "$snapshot") bytes), whole processes:"
}

if [ -n "$commands" ]; then
  make_snapshot "$operations"
  for command in replay info advise explain 'report --output /dev/null'; do
    # shellcheck disable=SC2086  # a command and its options
    measure "highwater ${command%% *}" build/release/highwater $command "$snapshot"
  done
  exit
fi
if [ -z "$torch" ]; then
  echo "PyTorch's own allocator is left out; --torch FOLDER adds it."
fi
build/release/tests/bench/highwater_bench "$operations" ${torch:+"$torch" build/release/fakecuda}

echo
make_snapshot 1000000
for _ in 1 2 3; do
  measure "highwater replay" build/release/highwater replay "$snapshot"
  measure "python3 pickle.load" python3 -c \
    'import pickle, sys; pickle.load(open(sys.argv[1], "rb"))' "$snapshot"
  measure "python3 pickle.load, gc disabled" python3 -c \
    'import gc, pickle, sys; gc.disable(); pickle.load(open(sys.argv[1], "rb"))' "$snapshot"
done
