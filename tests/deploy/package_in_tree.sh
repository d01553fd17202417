#!/usr/bin/env bash
# Installs the Debian package in a bare tree, uses it there as a user would, and removes it again.
# Run by hand: it needs root, debootstrap and a Debian mirror, and takes minutes.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: tests/deploy/package_in_tree.sh PACKAGE.deb MODEL_FOLDER [SUITE]
Makes a minimal tree of SUITE (default: this system's release) in a temporary folder, installs the
package with what it depends on, serves MODEL_FOLDER as an unprivileged user with the settings file
in place, calls the server with the client of the package, drains it, and purges the package.
USAGE
}
if (($# < 2)) || [[ $1 == --help ]]; then
  usage
  exit $((${#} == 1 ? 0 : 2))
fi
package=$(realpath -e -- "$1")
model=$(realpath -e -- "$2")
suite=${3:-$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)}

tree=$(mktemp --directory --tmpdir=/var/tmp attune-tree.XXXXXX)
chmod 755 "$tree"
server=
clean_up() {
  [[ -z $server ]] || kill -KILL "$server" 2>/dev/null || true
  ! mountpoint --quiet "$tree/proc" || umount "$tree/proc"
  rm -rf --one-file-system -- "$tree"
}
trap clean_up EXIT
step() { printf '==> %s\n' "$*"; }
fail() {
  printf 'package_in_tree: %s\n' "$*" >&2
  exit 1
}
bare=(/usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive)
inside() {
  chroot "$tree" "${bare[@]}" "$@"
}

step "a minimal $suite"
debootstrap --variant=minbase "$suite" "$tree" >"$tree.log" || fail "see $tree.log"
rm -- "$tree.log"
mount -t proc proc "$tree/proc"
cp -- "$package" "$tree/attune.deb"
mkdir -p -- "$tree/srv/model"
cp -rL -- "$model/." "$tree/srv/model"

step "install it"
inside apt-get install --yes -qq --no-install-recommends /attune.deb >/dev/null 2>&1
inside attune-server --version

step "a wrong setting is refused"
! inside env ATTUNE_MODEL=/nowhere attune-server check 2>/dev/null || fail "it was not"

step "serve as nobody, with the settings of the service"
echo 'ATTUNE_MODEL=/srv/model' >>"$tree/etc/default/attune"
address=127.0.0.1:50057
log=$tree/var/log/attune.log
# Not through inside: $! must be the server, which each of these becomes.
chroot --userspec=65534:65534 "$tree" "${bare[@]}" sh -c ". /etc/default/attune
  export ATTUNE_MODEL
  exec attune-server --grpc-address $address --http-address off --ops-address off --drain-delay 0s" 2>"$log" &
server=$!
for _ in {1..300}; do
  ! inside attune health --server "$address" >/dev/null 2>&1 || break
  kill -0 "$server" 2>/dev/null || fail "it ended: $(cat "$log")"
  sleep 0.1
done
inside attune encode --server "$address" --similarity "a cat sleeps" "a kitten naps" "a tax form"
kill -TERM "$server"
wait "$server" || fail "the drain ended with $?"
server=

step "purge it"
inside dpkg --purge attune >/dev/null
! inside sh -c 'command -v attune-server || ls /etc/default/attune' >/dev/null 2>&1 || fail "something is left"
step "passed"
