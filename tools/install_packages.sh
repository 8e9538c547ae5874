#!/usr/bin/env bash
# Installs the Debian 12 packages that building and testing need, if any is missing.
#   tools/install_packages.sh [PACKAGE...]   further packages, e.g. for the fuzz targets
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache python3
  libboost1.81-dev libboost-program-options1.81-dev libboost-json1.81-dev
  libboost-iostreams1.81-dev libfmt-dev libyaml-cpp-dev libtomlplusplus-dev
  python3-dev libbz2-dev liblzma-dev libzstd-dev zlib1g-dev
  libarchive-dev nettle-dev libsqlite3-dev
  catch2 clang-format-14
  libjs-dygraphs libjs-d3
  "$@"
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "Missing packages: ${missing[*]}; install them as root, or install sudo." >&2
    exit 1
  }
  as_root=(sudo)
fi
echo "Installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
