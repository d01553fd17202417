#!/usr/bin/env bash
# Checks that includes follow the layers. Usage: tests/layering_test.sh [ROOT]
# Prints file:line, the include and the rule it breaks; exit status 1 if there is any.
set -euo pipefail
cd -- "${1:-$(dirname -- "${BASH_SOURCE[0]}")/..}"

includes=$(grep -rnP --include='*.h' --include='*.cc' '^\s*#\s*include\b' engine server client)
broken=0

# forbid PATH INCLUDE RULE: no file below PATH may include INCLUDE. Both are PCREs, matched from the
# first character of the path from the root and of the included name.
forbid() {
  local hit
  while read -r hit; do
    echo "$hit    breaks: $3"
    broken=1
  done < <(grep -P "^(?:$1)[^:]*:\d+:\s*#\s*include\s*[<\"](?:$2)" <<<"$includes")
}

forbid 'engine/base/' 'engine/(?!base/)' 'base -> nothing'
forbid 'engine/tensor/' 'engine/(?!(base|tensor)/)' 'tensor -> base'
forbid 'engine/ops/' 'engine/(?!(base|tensor|ops)/)' 'ops -> tensor -> base'
forbid 'engine/text/' 'engine/(?!(base|text)/)' 'text -> base, and nothing else'
forbid 'engine/model/' 'engine/(?!(base|tensor|ops|model)/)' 'model -> ops -> tensor -> base'
forbid 'engine/interpret/' 'engine/(?!(base|tensor|ops|model|interpret)/)' 'interpret -> model -> ops'
forbid 'engine/quality/' 'engine/(?!(base|tensor|ops|quality)/|engine\.h)' \
  'quality -> engine.h, ops -> tensor -> base'
forbid 'engine/engine\.' 'engine/quality/' 'engine.h does not see quality'
forbid 'engine/' '(server|client)/' 'the engine knows neither server nor client'
forbid 'server/' 'client/' 'server -> engine'
forbid 'client/' '(engine|server)/' 'client -> proto'
forbid '(engine|server|client)/' 'tests/|gtest/|gmock/' 'the product knows no test'

transport='(grpc|grpcpp|google/(protobuf|rpc)|attune|tei|inference)/|httplib'
forbid 'engine/' "$transport" 'no transport in the engine'
forbid 'server/(batcher|worker_pool|request_pipeline|metrics|tracing)' "$transport" \
  'the pipeline knows no transport'
forbid 'server/grpc/' 'server/http/' 'grpc does not see http'
forbid 'server/http/' 'server/grpc/' 'http does not see grpc'

forbid '(?!engine/ops/)' 'oneapi/|dnnl|hwy/|omp\.h' 'oneDNN, Highway and OpenMP only in engine/ops'
forbid '(?!server/http/)' 'httplib' 'httplib only in server/http'
forbid '(?!server/metrics/)' 'prometheus/' 'prometheus-cpp only in server/metrics'
forbid '(?!server/tracing/)' 'opentelemetry/' 'OpenTelemetry only in server/tracing'
forbid '(?!engine/text/)' 'unicode/' 'ICU only in engine/text'
forbid '(?!engine/base/json\.|client/)' 'nlohmann/' 'nlohmann through engine/base/json.h'
forbid '' 'absl/(log|synchronization)/' 'logs and locks through engine/base'
exit "$broken"
