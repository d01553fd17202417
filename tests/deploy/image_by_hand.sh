#!/usr/bin/env bash
# Builds the image without a daemon, says how large it is, and runs it as a strict platform would.
# Run by hand: it needs root, buildah, debootstrap and a Debian mirror, and takes most of an hour.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

usage() {
  cat <<'USAGE'
Usage: tests/deploy/image_by_hand.sh MODEL_FOLDER [LIMIT_MIB [FLAG...]]
Builds the Dockerfile of this tree with buildah on a Debian 13 base made by debootstrap (kept in
build/image), then starts the image with MODEL_FOLDER mounted: as process 1 of its own, as a user
that has no name, without capabilities, on a root that is read-only, in a control group of LIMIT_MIB
(default: 512), with further FLAGs of the server. Calls it, loads it, stops it, and reports sizes,
times and memory.
USAGE
}
if (($# < 1)) || [[ $1 == --help ]]; then
  usage
  exit $((${#} == 1 ? 0 : 2))
fi
model=$(realpath -e -- "$1")
limit_mib=${2:-512}
flags=("${@:3}")

work=$PWD/build/image
base=localhost/attune-base
image=localhost/attune
cgroup=/sys/fs/cgroup/memory  # version 1
[[ -d $cgroup ]] || cgroup=/sys/fs/cgroup
group=$cgroup/attune-image-$$
container=
server=
unshare=
mkdir -p -- "$work"

step() { printf '==> %s\n' "$*"; }
fail() {
  printf 'image_by_hand: %s\n' "$*" >&2
  exit 1
}
clean_up() {
  # With it goes the server, --kill-child.
  [[ -z $unshare ]] || { kill -KILL "$unshare" && wait "$unshare"; } 2>/dev/null || true
  [[ -z $container ]] || buildah rm "$container" >/dev/null || true
  [[ ! -d $group ]] || rmdir -- "$group" || true
}
trap clean_up EXIT

# Debian 13 without what the slim images leave out.
make_base() {
  local tree=$work/base-tree
  rm -rf -- "$tree"
  debootstrap --variant=minbase trixie "$tree" >"$work/debootstrap.log"
  cat >"$tree/etc/dpkg/dpkg.cfg.d/docker" <<'EXCLUDE'
path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/locale/*
path-exclude /usr/share/man/*
EXCLUDE
  find "$tree/usr/share/doc" -type f ! -name copyright -delete
  rm -rf -- "$tree"/usr/share/{locale,man}/* "$tree"/var/cache/apt/*.bin "$tree"/var/cache/apt/archives/*.deb \
    "$tree"/var/lib/apt/lists/*
  local from
  from=$(buildah from scratch)
  buildah add --quiet "$from" "$tree" / >/dev/null
  buildah commit --quiet "$from" "$base" >/dev/null
  buildah rm "$from" >/dev/null
  rm -rf -- "$tree"
}

mib_of() { du --summarize --one-file-system --block-size=1M "$1" | cut -f 1; }

# packages_of ROOT FIELDS: a line for each, sorted.
packages_of() { chroot "$1" dpkg-query -W -f "$2\n" | LC_ALL=C sort; }

# What the image holds beyond the base, by Debian package.
report_sizes() {
  # shellcheck disable=SC2016  # the fields are dpkg-query's own
  local base_container base_root name='${Package}' name_and_size='${Package} ${Installed-Size}'
  base_container=$(buildah from "$base")
  base_root=$(buildah mount "$base_container")
  printf 'base %d MiB, image %d MiB\n' "$(mib_of "$base_root")" "$(mib_of "$root")"
  LC_ALL=C comm -13 <(packages_of "$base_root" "$name") <(packages_of "$root" "$name") >"$work/added"
  packages_of "$root" "$name_and_size" | LC_ALL=C join - "$work/added" |
    sort --numeric-sort --reverse --key 2 | awk '{ printf "%7.1f MiB  %s\n", $2 / 1024, $1 }'
  (cd "$root/usr/local/bin" && du --block-size=1K -- *) | awk '{ printf "%7.1f MiB  %s\n", $1 / 1024, $2 }'
  buildah rm "$base_container" >/dev/null
}

# From the image's own configuration, so that what runs is what an engine would run.
config() { buildah inspect --type image --format "{{range .OCIv1.Config.$1}}{{println .}}{{end}}" "$image"; }

# Becomes the server. In its own namespaces of mounts and processes.
enter_and_serve() {
  mount --bind "$root" "$root"
  mount --bind "$model" "$root$model_path"
  mount -o remount,bind,ro "$root$model_path"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount -o remount,bind,ro "$root"
  exec env --ignore-environment "${environment[@]}" \
    chroot "$root" setpriv --reuid=48217 --regid=48217 --clear-groups --no-new-privs \
    --inh-caps=-all --bounding-set=-all "${entrypoint[@]}" "${flags[@]}"
}

client() { chroot "$root" attune "$@"; }
milliseconds() { date +%s%3N; }

buildah images --quiet "$base" >/dev/null 2>&1 || {
  step "a base"
  make_base
}
step "build"
buildah build --layers --isolation chroot --build-arg "BASE=$base" --tag "$image" \
  --build-arg "VERSION=$(sed -n 's/^project(attune VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)" \
  --build-arg "REVISION=$(git rev-parse HEAD)" . >"$work/build.log" 2>&1 || fail "see $work/build.log"
container=$(buildah from "$image")
root=$(buildah mount "$container")

step "sizes"
report_sizes

step "run in $limit_mib MiB ${flags[*]}"
mapfile -t environment < <(config Env | sed '/^$/d')
mapfile -t entrypoint < <(config Entrypoint | sed '/^$/d')
model_path=$(printf '%s\n' "${environment[@]}" | sed -n 's/^ATTUNE_MODEL=//p')
mkdir -p -- "$root$model_path"
mkdir -- "$group"
if [[ -e $group/memory.limit_in_bytes ]]; then
  echo $((limit_mib << 20)) >"$group/memory.limit_in_bytes"
else
  echo $((limit_mib << 20)) >"$group/memory.max"
fi
log=$work/server.log
start=$(milliseconds)
export -f enter_and_serve
(
  echo "$BASHPID" >"$group/cgroup.procs"
  export root model model_path
  exec unshare --mount --propagation private --pid --fork --kill-child \
    bash -c "$(declare -p environment entrypoint flags); enter_and_serve"
) 2>"$log" &
unshare=$!
until client encode --timeout 1s "hello" >/dev/null 2>&1; do
  kill -0 "$unshare" 2>/dev/null || fail "it ended: $(tail -n 3 -- "$log")"
  (($(milliseconds) - start < 60000)) || fail "it does not answer: $(tail -n 3 -- "$log")"
  sleep 0.02
done
printf 'from start to first answer: %d ms\n' $(($(milliseconds) - start))
server=$(pgrep --parent "$unshare")
client health
grep --extended-regexp '^(Uid|CapBnd|CapEff|NoNewPrivs|NSpid)' "/proc/$server/status"

client bench --clients 16 --words mixed --duration 60s --attempts 5
client attention "the cat sat on the mat" >/dev/null
awk '/^VmHWM/ { printf "most memory: %d MiB\n", $2 / 1024 }' "/proc/$server/status"

step "stop"
start=$(milliseconds)
kill -TERM "$server"
wait "$unshare" || fail "the drain ended with $?"
unshare=
printf 'from SIGTERM to the end: %d ms\n' $(($(milliseconds) - start))
step "passed"
