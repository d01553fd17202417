#!/usr/bin/env bash
# Compares attune with its peers: installs them into an environment of their own below build/, makes
# the texts and the peers' model files, measures, prints tables. `run.sh --help` lists the options.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.." && pwd)
here=$root/tests/bench/peers
build=$root/build/peers
venv=$build/venv
export HF_HUB_OFFLINE=1 DO_NOT_TRACK=1

mkdir -p -- "$build"
if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
  rm -rf -- "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --disable-pip-version-check --requirement "$here/requirements.txt"
  cp -- "$here/requirements.txt" "$venv/requirements.txt"  # last: marks it complete
fi

model=${ATTUNE_TEST_MODEL:-$("$root/deploy/fetch-model.py")}
if [[ ! -e $build/workload.json ]]; then
  "$venv/bin/python" "$here/workload.py" "$model" "$build/workload.json"
fi
if [[ ! -e $build/models/complete ]]; then
  "$venv/bin/python" "$here/convert.py" "$model" "$build/workload.json" "$build/models"
  touch -- "$build/models/complete"
fi
exec "$venv/bin/python" "$here/run.py" --model "$model" "$@"
