#!/usr/bin/env bash
# Checks that every source includes the header of its own name first, so that the header is known to
# compile alone. The headers without a source are compiled by themselves (CMakeLists.txt).
# Argument: the tree to check; by default the one this script is in.
set -euo pipefail
cd -- "${1:-$(dirname -- "${BASH_SOURCE[0]}")/..}"

wrong=0
while IFS= read -r source; do
  header=${source%.cc}.h
  [[ -e $header ]] || continue
  first=$(grep -m1 '^#include' "$source" || true)
  if [[ $first != "#include \"$header\"" ]]; then
    echo "$source: its first include is not \"$header\""
    wrong=1
  fi
done < <(find engine server client -name '*.cc' | sort)
exit "$wrong"
