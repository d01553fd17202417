#!/usr/bin/env bash
# Usage: tests/lint/symbols_test.sh CLIENT_LIBRARY... -- OTHER_LIBRARY...
# The client and the engine share a namespace but may not include each other, so only the linker ever
# sees both; of two functions with one name it takes either. Prints each name that both sides define.
set -euo pipefail

# The strong definitions of our own in static libraries.
definitions() {
  nm --demangle --defined-only "$@" | sed -nE 's/^[0-9a-f]+ [TDB] (attune::.*)/\1/p' | sort -u
}

client=()
while [[ $1 != -- ]]; do
  client+=("$1")
  shift
done
shift
client_names=$(definitions "${client[@]}")
other_names=$(definitions "$@")
[[ -n $client_names && -n $other_names ]]  # a list that is empty proves nothing

twice=$(comm -12 <(cat <<<"$client_names") <(cat <<<"$other_names"))
[[ -z $twice ]] || {
  printf 'defined by the client and by the engine or server: %s\n' "$twice"
  exit 1
}
