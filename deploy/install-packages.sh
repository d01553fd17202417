#!/usr/bin/env bash
# Installs the Debian packages attune needs. This is the only place that lists them.
# Quick and quiet when nothing is missing: apt is not even asked.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: deploy/install-packages.sh GROUP...
Installs the Debian 12 or 13 packages of each GROUP, as root or through sudo:
  build     compile the server and the client
  fetch     download the default model
  package   make the Debian package of a build
  test      build and run the tests, all but those of the dashboard
  browser   run the tests of the dashboard
  otlp      build with ATTUNE_OTLP=ON; Debian 13 only
  ci        what .ci/run needs on top: clang, its tools, shellcheck
  coverage  what tests/coverage.py needs on top
  fuzz      what the fuzz preset needs on top
  runtime   what a binary built elsewhere needs to run (used by the container image)
Options:
  --list    print the packages instead of installing them
  --help    print this text
USAGE
}

# Which release of Debian this is.
codename() { sed -n 's/^VERSION_CODENAME=//p' /etc/os-release; }

# Prints the packages of group $1, one a line.
packages() {
  case "$1" in
    build)
      printf '%s\n' g++ cmake ninja-build pkgconf \
        libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev protobuf-compiler libabsl-dev \
        libhwy-dev nlohmann-json3-dev libcli11-dev libssl-dev libcpp-httplib-dev \
        prometheus-cpp-dev \
        libdnnl-dev ocl-icd-opencl-dev  # oneDNN's CMake file asks for OpenCL; libdnnl-dev does not
      ;;
    fetch) printf '%s\n' python3 python3-venv ca-certificates ;;
    package) printf '%s\n' dpkg-dev file python3 ;;
    test)
      packages package
      printf '%s\n' libgtest-dev libgmock-dev libbenchmark-dev python3 python3-venv prometheus haproxy \
        curl systemd  # the chart downloads with one, the other checks the package's service
      ;;
    browser) printf '%s\n' python3 chromium chromium-driver fonts-dejavu-core ;;
    coverage) printf '%s\n' gcovr ;;
    fuzz) printf '%s\n' clang libclang-rt-dev ;;
    ci) printf '%s\n' clang clang-format clang-tidy clang-tools llvm shellcheck ;;
    otlp)
      [[ $(codename) != bookworm ]] || return 1  # has no such package
      printf '%s\n' opentelemetry-cpp-dev
      ;;
    runtime)
      # Library packages carry their ABI in the name, so they differ between releases.
      case "$(codename)" in
        bookworm)
          printf '%s\n' libgrpc++1.51 libprotobuf32 libdnnl2 libhwy1 libssl3 \
            libcpp-httplib0.11 libprometheus-cpp-core1.0
          ;;
        trixie)
          printf '%s\n' libgrpc++1.51t64 libprotobuf32t64 libdnnl3.6 libhwy1t64 libssl3t64 \
            libcpp-httplib0.18 libprometheus-cpp-core1.0
          ;;
        *) return 1 ;;
      esac
      ;;
    *) return 1 ;;
  esac
}

list_only=false
wanted=()
while (($# > 0)); do
  case "$1" in
    --help)
      usage
      exit 0
      ;;
    --list) list_only=true ;;
    *)
      group=$(packages "$1") || {
        echo "install-packages: no packages known for '$1' on this system (Debian 12 or 13?)" >&2
        usage >&2
        exit 2
      }
      mapfile -t -O "${#wanted[@]}" wanted <<<"$group"
      ;;
  esac
  shift
done
if ((${#wanted[@]} == 0)); then
  usage >&2
  exit 2
fi
if "$list_only"; then
  printf '%s\n' "${wanted[@]}" | sort -u
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  echo "install-packages: apt-get not found; attune is built on Debian 12 or 13" >&2
  exit 1
fi

installed=$(dpkg-query -W -f '${binary:Package} ${db:Status-Status}\n' 2>/dev/null |
  sed -n 's/^\([^ :]*\)[^ ]* installed$/\1/p')
mapfile -t missing < <(printf '%s\n' "${wanted[@]}" | sort -u | grep -vxF "$installed" || true)
if ((${#missing[@]} == 0)); then
  exit 0
fi

# The packages of Prometheus and HAProxy also start them as services of the machine, which the tests
# do not want: they start their own. Masked before it is installed, a service is never started; where
# there is no systemd, policy-rc.d keeps the package's script from starting it meanwhile. Where
# somebody has installed it already, nothing here touches it.
policy=/usr/sbin/policy-rc.d
keep_service_off() {
  if [[ -d /etc/systemd/system && ! -e /etc/systemd/system/$1.service ]]; then
    "${as_root[@]}" ln -s /dev/null "/etc/systemd/system/$1.service"
  fi
  if [[ ! -e $policy ]]; then
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
    trap '"${as_root[@]}" rm -f -- "$policy"' EXIT
    "${as_root[@]}" chmod 755 "$policy"
  fi
}

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "install-packages: not root, and sudo is not installed. Missing: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "Installing ${#missing[@]} Debian packages: ${missing[*]}"
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
"${apt[@]}" update
for service in prometheus haproxy; do
  if printf '%s\n' "${missing[@]}" | grep -qxF "$service"; then keep_service_off "$service"; fi
done
"${apt[@]}" install -y --no-install-recommends "${missing[@]}"
