#!/usr/bin/env bash
# man-pages.sh SERVER CLIENT FOLDER: writes both programs' manual pages into FOLDER, compressed as
# the distribution's are.
set -euo pipefail
here=$(dirname -- "${BASH_SOURCE[0]}")
server=$1 client=$2 folder=$3

# The defaults are shown for the reader's home, not for the builder's.
export HOME='~'
unset XDG_CACHE_HOME
"$here/man-page.py" "$server" 8 "serve text embeddings and attention maps" check quality token |
  gzip -9 --no-name >"$folder/attune-server.8.gz"
"$here/man-page.py" "$client" 1 "text to vectors, and what attention did" \
  encode attention heads export-html explain attend tokenize info health bench |
  gzip -9 --no-name >"$folder/attune.1.gz"
