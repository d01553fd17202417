#!/usr/bin/env bash
# From a bare Debian machine to a running server and first results. Safe to run again: what is
# already there is kept.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: deploy/up.sh [--model DIR] [--address HOST:PORT] [--http-address HOST:PORT|off] [--once]
                    [-- SERVER_FLAG...]
Installs the Debian packages (as root or through sudo), builds attune, downloads the default model
into ${XDG_CACHE_HOME:-~/.cache}/attune, starts the server, shows a first Encode and a first
AttentionMap, and serves until Ctrl-C.
  --model DIR          serve this Hugging Face model folder; nothing is downloaded
  --address HOST:PORT  where to listen (default: 127.0.0.1:50051)
  --http-address HOST:PORT
                       where to serve the dashboard and JSON, or off (default: 127.0.0.1:8080, and
                       off with --once)
  --once               stop the server after the samples and exit
  -- SERVER_FLAG...    passed to attune-server; see build/release/server/attune-server --help
  --help               print this text
USAGE
}

say() { printf '\n==> %s\n' "$*"; }
die() {
  printf 'up.sh: %s\n' "$*" >&2
  exit 1
}

default_address=127.0.0.1:50051
address=$default_address
http_address=
model=
once=false
while (($# > 0)); do
  case "$1" in
    --help)
      usage
      exit 0
      ;;
    --model | --address | --http-address)
      (($# > 1)) || die "$1 needs a value"
      case "$1" in
        --model) model=$(realpath -e -- "$2") || die "--model $2: no such folder" ;;
        --address) address=$2 ;;
        --http-address) http_address=$2 ;;
      esac
      shift
      ;;
    --once) once=true ;;
    --)
      shift
      break
      ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
  shift
done
server_flags=("$@")
if [[ -z $http_address ]]; then
  http_address=127.0.0.1:8080
  if "$once"; then http_address=off; fi
fi
# A server that only shows the samples needs no port for an operator, and may find it taken.
if "$once"; then export ATTUNE_OPS_ADDRESS="${ATTUNE_OPS_ADDRESS-off}"; fi

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
attune=build/release/client/attune
unset ATTUNE_SERVER  # which would send the client elsewhere
at_address=(--server "$address")
if [[ $address == "$default_address" ]]; then
  at_address=()  # the client's default too
fi

build() {
  # A first configuration leaves the tests out; one that has them (tests/run.sh) is kept as it is.
  if [[ ! -f build/release/build.ninja ]]; then
    cmake --preset release -DATTUNE_BUILD_TESTS=OFF
  fi
  cmake --build --preset release --target attune-server attune
}

wait_for_health() {
  local tries
  for ((tries = 0; tries < 300; tries++)); do
    kill -0 "$server" 2>/dev/null || die "the server stopped; its last lines are above"
    if "$attune" health "${at_address[@]}" >/dev/null 2>&1; then
      return
    fi
    sleep 0.2
  done
  die "the server is not healthy after a minute"
}

# Shows a call of the sample client as one would type it, then makes it.
show() {
  local word line=
  set -- "$attune" "$@" "${at_address[@]}"
  for word in "$@"; do
    [[ $word == *[[:space:]]* ]] && word="\"$word\""
    line+=" $word"
  done
  printf '\n$%s\n' "$line"
  "$@"
}

stop_server() {
  kill -TERM "$server" 2>/dev/null || true
}

say "Debian packages"
deploy/install-packages.sh build fetch

say "Build"
build

say "Model"
if [[ -z $model ]]; then
  model=$(deploy/fetch-model.py)
fi
echo "$model"

say "Server at $address"
if "$attune" health "${at_address[@]}" >/dev/null 2>&1; then
  die "$address is served already; stop that server, or choose another --address"
fi
# With job control the server gets a process group of its own. Ctrl-C then reaches this script
# alone, which passes it on once: a second signal would end the drain.
set -m
build/release/server/attune-server --grpc-address "$address" --http-address "$http_address" \
  --model "$model" --drain-delay 0s "${server_flags[@]}" &
server=$!
set +m
trap 'stop_server; wait "$server"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
wait_for_health

say "A first Encode: how similar are these sentences?"
show encode --similarity \
  "How do I reset my password?" \
  "I cannot log in to my account." \
  "Two eggs and a cup of flour." \
  "This recipe makes pancakes."

say "A first AttentionMap: in this head 'it' looks at 'cat'"
show attention "The cat sat on the mat because it was tired." --layer 3 --head 1

if "$once"; then
  say "Stopping the server"
  stop_server
else
  say "Serving at $address; Ctrl-C stops. More calls: $attune --help"
  if [[ $http_address != off ]]; then
    say "See what attention does, in a browser: http://$http_address/"
  fi
fi
trap - EXIT
# A signal interrupts `wait`, and is passed on; the next `wait` gets the server's own status.
signalled=true
trap 'signalled=true; stop_server' INT TERM HUP
status=0
while "$signalled"; do
  signalled=false
  wait "$server" && status=0 || status=$?
done
exit "$status"
