#!/usr/bin/env bash
# Makes every file of a release from a tag: the source archive, a wheel for each Python, the list of the software
# inside them, and checksums. The same tag gives the same bytes, on the same system and with the same Pythons.
#   tools/release.sh TAG [--output FOLDER] [PYTHON...]   FOLDER: build/release-files/TAG; PYTHON: python3
# TAG is vX.Y.Z, and X.Y.Z the project's version in it. Anything else that git knows will do with --any, for a trial.
# A PYTHON needs its headers (python3-dev) and venv; pip fetches tools/python/release/requirements.txt.
set -euo pipefail

fail() {
  echo "tools/release.sh: $1" >&2
  exit 2
}

tag=
output=
any=
pythons=()
while [ $# -gt 0 ]; do
  case $1 in
    --output)
      output=$(realpath -m "${2:?tools/release.sh: --output needs a folder}")
      shift
      ;;
    --any) any=yes ;;
    -*) fail "'$1': unknown; use TAG [--output FOLDER] [--any] [PYTHON...]" ;;
    *) if [ -z "$tag" ]; then tag=$1; else pythons+=("$1"); fi ;;
  esac
  shift
done
[ -n "$tag" ] || fail "which tag? tools/release.sh TAG [--output FOLDER] [--any] [PYTHON...]"
[ ${#pythons[@]} -gt 0 ] || pythons=(python3)

cd "$(dirname "$0")/.."
if [ -z "$any" ]; then
  git rev-parse -q --verify "refs/tags/$tag" >/dev/null || fail "'$tag' is no tag; git tag lists them, --any takes any commit"
fi
commit=$(git rev-parse -q --verify "$tag^{commit}") || fail "'$tag': git knows no such commit"
version=$(git show "$commit:CMakeLists.txt" | sed -n 's/^project(highwater VERSION \([0-9.]*\).*/\1/p')
[ -n "$any" ] || [ "$tag" = "v$version" ] || fail "$tag: the version in its CMakeLists.txt is $version, so its tag is v$version"
output=${output:-$PWD/build/release-files/$tag}
tools/install_packages.sh python3-venv

# The name of a wheel, which check_wheel.py holds it to.
platform=manylinux_2_28_$(uname -m)
SOURCE_DATE_EPOCH=$(git show -s --format=%ct "$commit")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# No path of this machine gets into a file, and a cache of the compiler works wherever the source lies.
export SOURCE_DATE_EPOCH CCACHE_BASEDIR=$work/source CXXFLAGS="-ffile-prefix-map=$work/source=." LC_ALL=C TZ=UTC
umask 022

# The build's own interface, called where the sources are: build_hook PYTHON sdist|wheel FOLDER
build_hook() {
  (cd "$work/source" && "$1" -c 'import sys; from scikit_build_core import build
getattr(build, "build_" + sys.argv[1])(sys.argv[2])' "$2" "$3")
}

make_environment() {
  "$1" -m venv "$2"
  "$2/bin/python" -m pip install -q --disable-pip-version-check -r tools/python/release/requirements.txt
}

make_source_archive() {
  mkdir "$work/files" "$work/source"
  git archive "$commit" | tar -x -C "$work/source"
  build_hook "$1" sdist "$work/files"
}

# A wheel is built of the source archive, so that one who has nothing else can do the same.
make_wheel() {
  rm -rf "$work/source"
  mkdir "$work/source"
  tar -x --strip-components 1 -C "$work/source" -f "$work"/files/highwater_gpu-*.tar.gz
  _PYTHON_HOST_PLATFORM=$platform build_hook "$1" wheel "$work/files"
  "$1" tools/python/release/make_sbom.py "$work/source/build/wheel" "$version" "$work/files/highwater-gpu-$version.cdx.json"
}

for number in "${!pythons[@]}"; do
  make_environment "${pythons[$number]}" "$work/python$number"
  python=$work/python$number/bin/python
  if [ "$number" = 0 ]; then
    make_source_archive "$python"
  fi
  make_wheel "$python"
done
python3 tools/python/checks/check_wheel.py "$work"/files/*.whl
(cd "$work/files" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
rm -rf "$output"
mkdir -p "$(dirname "$output")"
cp -r "$work/files" "$output"
echo "$output:"
cat "$output/SHA256SUMS"
