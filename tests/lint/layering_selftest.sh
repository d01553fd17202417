#!/usr/bin/env bash
# Checks that tests/layering_test.sh can fail: for every rule, an include that breaks it is planted
# in a tree of its own, and must be reported with its file, line and rule.
set -euo pipefail
layering_test=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")/../layering_test.sh")
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT

fail() {
  echo "layering_selftest: $*" >&2
  exit 1
}

# A tree that keeps the rules, close to them where that is possible.
plant() {  # FILE INCLUDE
  mkdir -p -- "$scratch/tree/$(dirname -- "$1")"
  printf '// A comment.\n#include %s\n' "$2" >"$scratch/tree/$1"
}
fresh_tree() {
  rm -rf -- "$scratch/tree"
  plant engine/ops/linear.cc '"oneapi/dnnl/dnnl.hpp"'
  plant engine/text/normalizer.cc '<unicode/normalizer2.h>'
  plant engine/base/json.h '<nlohmann/json.hpp>'
  plant engine/engine.h '"engine/interpret/attend.h"'
  plant engine/quality/quality_gate.h '"engine/engine.h"'
  plant server/main.cc '"engine/engine.h"'
  plant client/cli/json.cc '<nlohmann/json.hpp>'
}

fresh_tree
"$layering_test" "$scratch/tree" || fail "a tree that keeps every rule is reported"

while IFS='|' read -r file include rule; do
  fresh_tree
  plant "$file" "$include"
  if report=$("$layering_test" "$scratch/tree"); then
    fail "$file may include $include, against the rule '$rule'"
  fi
  grep -qF "$file:2:#include $include    breaks: $rule" <<<"$report" ||
    fail "$file including $include is not reported as breaking '$rule', but as: $report"
  echo "$rule" >>"$scratch/shown"
done <<'CASES'
engine/base/clock.h|"engine/tensor/matrix.h"|base -> nothing
engine/tensor/matrix.h|"engine/ops/linear.h"|tensor -> base
engine/ops/kernels/gelu-inl.h|"engine/model/config.h"|ops -> tensor -> base
engine/text/wordpiece.cc|"engine/tensor/matrix.h"|text -> base, and nothing else
engine/model/encoder.cc|"engine/interpret/attend.h"|model -> ops -> tensor -> base
engine/model/encoder.cc|"engine/text/tokenizer.h"|model -> ops -> tensor -> base
engine/interpret/attend.cc|"engine/engine.h"|interpret -> model -> ops
engine/quality/quality_gate.h|"engine/model/encoder.h"|quality -> engine.h, ops -> tensor -> base
engine/engine.cc|"engine/quality/quality_gate.h"|engine.h does not see quality
engine/engine.cc|"server/batcher.h"|the engine knows neither server nor client
server/server.cc|"client/client.h"|server -> engine
client/client.cc|"engine/base/log.h"|client -> proto
server/batcher.cc|"tests/support/fake_clock.h"|the product knows no test
engine/engine.cc|"attune/v1/attune.pb.h"|no transport in the engine
server/batcher.cc|<grpcpp/grpcpp.h>|the pipeline knows no transport
server/grpc/service.cc|"server/http/http_server.h"|grpc does not see http
server/http/http_server.cc|"server/grpc/service.h"|http does not see grpc
engine/model/encoder.cc|<dnnl.hpp>|oneDNN, Highway and OpenMP only in engine/ops
server/worker_pool.cc|<omp.h>|oneDNN, Highway and OpenMP only in engine/ops
server/batcher.cc|<httplib.h>|httplib only in server/http
server/server.cc|<prometheus/registry.h>|prometheus-cpp only in server/metrics
server/server.cc|<opentelemetry/version.h>|OpenTelemetry only in server/tracing
engine/model/config.cc|<unicode/uchar.h>|ICU only in engine/text
engine/model/config.cc|<nlohmann/json.hpp>|nlohmann through engine/base/json.h
server/batcher.h|"absl/synchronization/mutex.h"|logs and locks through engine/base
CASES

rules=$(grep -c '^forbid ' "$layering_test")
shown=$(sort -u "$scratch/shown" | wc -l)
((rules == shown)) || fail "$rules rules, but only $shown are shown to work; plant a case for each"
echo "each of $rules rules is reported when broken"
