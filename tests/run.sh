#!/usr/bin/env bash
# From a bare Debian machine to tested: packages, model, release build, every test.
# Arguments are passed to ctest: `tests/run.sh -L unit` runs the unit tests.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

deploy/install-packages.sh build fetch test browser

# Reference libraries of the tests, in an environment of their own.
venv=build/test-venv
if ! cmp -s tests/requirements.txt "$venv/requirements.txt"; then
  rm -rf -- "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --disable-pip-version-check --requirement tests/requirements.txt
  cp -- tests/requirements.txt "$venv/requirements.txt"  # last: marks it complete
fi

ATTUNE_TEST_MODEL=${ATTUNE_TEST_MODEL:-$(deploy/fetch-model.py)}
export ATTUNE_TEST_MODEL

cmake --preset release -DATTUNE_BUILD_TESTS=ON -DATTUNE_WERROR="${ATTUNE_WERROR:-OFF}" \
  -DATTUNE_PRECOMPILED_HEADERS=ON
cmake --build --preset release
ctest --preset release --no-tests=error --parallel "$(nproc)" "$@"
