#!/usr/bin/env bash
# Installs the packages that building and testing need, if any is missing: Debian 12 and 13 and what
# is made of them; other systems are told what to install.
#   tools/install_packages.sh [PACKAGE...]   further packages, e.g. for the fuzz targets
set -euo pipefail

# A|B: the first of them that the system has. ?A: only if the system has it (formatting).
packages=(
  g++ cmake ninja-build ccache python3
  "libboost1.81-dev|libboost-dev" "libboost-program-options1.81-dev|libboost-program-options-dev"
  "libboost-json1.81-dev|libboost-json-dev" "libboost-iostreams1.81-dev|libboost-iostreams-dev"
  libfmt-dev libyaml-cpp-dev libtomlplusplus-dev
  python3-dev libbz2-dev liblzma-dev libzstd-dev zlib1g-dev
  libarchive-dev nettle-dev libsqlite3-dev
  catch2 ?clang-format-14
  libjs-dygraphs libjs-d3
  "$@"
)

if ! command -v apt-get >/dev/null; then
  cat >&2 <<'END'
This script knows apt. On another system install GCC 12 or newer, CMake 3.25, ninja and Python 3 with headers, and:
  dnf     boost-devel fmt-devel yaml-cpp-devel tomlplusplus-devel libarchive-devel nettle-devel sqlite-devel
          bzip2-devel xz-devel libzstd-devel zlib-devel catch2-devel
  pacman  boost fmt yaml-cpp tomlplusplus libarchive nettle sqlite bzip2 xz zstd zlib
  apk     boost-dev fmt-dev yaml-cpp-dev tomlplusplus-dev libarchive-dev nettle-dev sqlite-dev bzip2-dev xz-dev
          zstd-dev zlib-dev
Boost 1.81 and fmt 9 or newer. The pages need D3 7 and dygraphs 2 as FOLDER/d3/d3.min.js and
FOLDER/dygraphs/dygraph.{min.js,css}, and their licences: cmake --preset release -DJAVASCRIPT=FOLDER -DDOCUMENTATION=FOLDER.
The recorder's libraries are for Linux. None of these systems was tried.
END
  exit 1
fi

installed() { dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep 'ok installed' >/dev/null; }
available() { LC_ALL=C apt-cache policy "$1" 2>/dev/null | grep 'Candidate: [^(]' >/dev/null; }

wanted=()  # entries of which no package is installed
for entry in "${packages[@]}"; do
  IFS='|' read -ra names <<<"${entry#\?}"
  for name in "${names[@]}"; do
    installed "$name" && continue 2
  done
  wanted+=("$entry")
done
[ ${#wanted[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "Missing packages: ${wanted[*]}; install them as root, or install sudo." >&2
    exit 1
  }
  as_root=(sudo)
fi
"${as_root[@]}" apt-get update -qq

missing=()
for entry in "${wanted[@]}"; do
  IFS='|' read -ra names <<<"${entry#\?}"
  for name in "${names[@]}"; do
    if available "$name"; then
      missing+=("$name")
      continue 2
    fi
  done
  if [ "${entry:0:1}" != '?' ]; then
    echo "None of these packages is in this system's archives: ${entry//|/, }." >&2
    exit 1
  fi
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "Installing: ${missing[*]}"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
