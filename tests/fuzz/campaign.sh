#!/usr/bin/env bash
# Fuzzes each target for a given time of one processor, and tells what it found.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

usage() {
  cat <<'USAGE'
Usage: tests/fuzz/campaign.sh MINUTES [TARGET...]
Fuzzes each TARGET (default: all) of the `fuzz` preset, which must be built, one after the other:

  deploy/install-packages.sh build test fuzz
  cmake --preset fuzz && cmake --build --preset fuzz
  tests/fuzz/campaign.sh 20                 # before a change of a parser is taken
  tests/fuzz/campaign.sh 60                 # before a release
  tests/fuzz/campaign.sh 5 request_fuzz

MINUTES are of processor time, so a busy machine gets the same work done, later. The inputs that
reached new code are kept in build/fuzz/corpus, and the next campaign goes on from them. An input
that crashes, leaks, or takes over five minutes of the clock ends its target's turn, and stays in
build/fuzz/findings. The exit code is 1 if there was one.
USAGE
}

# Seconds of processor time that this shell's finished children took.
children_seconds() {
  awk -v ticks="$(getconf CLK_TCK)" '{ printf "%d", ($16 + $17) / ticks }' "/proc/$$/stat"
}

# fuzz TARGET: runs it in turns of at most a minute, since libFuzzer counts the time of the clock.
# Prints a row of the table.
fuzz() {
  local target=$1 executions=0 found=none log=build/fuzz/campaign/$1.log
  local kept=build/fuzz/corpus/$target start=$SECONDS began used=0
  mkdir -p -- "$kept" build/fuzz/findings
  : >"$log"
  began=$(children_seconds)
  while ((used < minutes * 60)); do
    local turn=$((minutes * 60 - used)) status=0
    "build/fuzz/tests/fuzz/$target" "$kept" "tests/fuzz/corpus/$target" -timeout=300 \
      -rss_limit_mb=2048 -max_total_time=$((turn < 60 ? turn : 60)) -print_final_stats=1 \
      -artifact_prefix="build/fuzz/findings/$target-" >>"$log" 2>&1 || status=$?
    used=$(($(children_seconds) - began))
    if ((status != 0)); then
      found="exit code $status, see $log"
      failed=1
      break
    fi
  done
  executions=$(awk '/^stat::number_of_executed_units/ { sum += $2 } END { print sum + 0 }' "$log")
  printf '%-24s %12d %8d %8d %7d  %s\n' "$target" "$executions" "$used" "$((SECONDS - start))" \
    "$(find "$kept" -type f | wc -l)" "$found"
}

if [[ ${1:-} == --help ]]; then
  usage
  exit 0
fi
minutes=${1:-}
if [[ ! $minutes =~ ^[1-9][0-9]*$ ]]; then
  usage >&2
  exit 2
fi
shift
targets=("$@")
if ((${#targets[@]} == 0)); then
  mapfile -t targets < <(basename --suffix=.cc -- tests/fuzz/*_fuzz.cc)
fi

mkdir -p -- build/fuzz/campaign
failed=0
printf '%-24s %12s %8s %8s %7s  %s\n' target executions "cpu s" "clock s" kept findings
for target in "${targets[@]}"; do
  fuzz "$target"
done
exit "$failed"
