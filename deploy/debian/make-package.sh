#!/usr/bin/env bash
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

usage() {
  cat <<'USAGE'
Usage: deploy/debian/make-package.sh [BUILD_FOLDER]
Makes attune_VERSION_ARCHITECTURE.deb of the programs in BUILD_FOLDER (default: build/release, which
is configured and built first), with the service, its default settings and the manual pages, and
prints where it is. It is for the Debian release it is made on, whose libraries it asks for.
  --help  print this text
USAGE
}

if [[ ${1:-} == --help ]]; then
  usage
  exit 0
fi
build=${1:-build/release}
if (($# == 0)); then
  cmake --preset release -DATTUNE_BUILD_TESTS=OFF >&2
fi
cmake --build "$build" --target attune-server attune man_pages >&2
(cd -- "$build" && cpack -G DEB >&2)
find "$(realpath -- "$build")" -maxdepth 1 -name 'attune_*.deb' -newer "$build/man/attune.1.gz"
