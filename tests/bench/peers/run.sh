#!/usr/bin/env bash
# Compares attune with its peers: installs them into an environment of their own below build/, makes
# the texts and the peers' model files, measures, prints tables. `run.sh --help` lists the options;
# `run.sh --base` measures a model of BERT-base's shape, with random weights, instead of the default.
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
models=$build/models
results=$build/results.json
if [[ ${1-} == --base ]]; then
  shift
  "$venv/bin/python" "$here/random_model.py" "$model" "$build/base"
  model=$build/base
  models=$build/base-models
  results=$build/base-results.json
fi
if [[ ! -e $models/complete ]]; then
  "$venv/bin/python" "$here/convert.py" "$model" "$build/workload.json" "$models"
  touch -- "$models/complete"
fi
exec "$venv/bin/python" "$here/run.py" --model "$model" --models "$models" --output "$results" "$@"
