#!/usr/bin/env bash
# Checks that the C++ files are as clang-format leaves them; --fix makes them so.
# The reference is Debian 12's clang-format 14.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

mode=(--dry-run --Werror)
if [[ ${1:-} == --fix ]]; then
  mode=(-i)
fi
find engine server client tests -type f \( -name '*.h' -o -name '*.cc' \) -print0 |
  xargs -0 clang-format --style=file "${mode[@]}"
