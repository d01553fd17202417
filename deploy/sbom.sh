#!/usr/bin/env bash
# Prints what is installed here as a bill of materials.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: sbom.sh VERSION
Prints an SPDX 2.3 document (JSON) of attune VERSION and of every Debian package that is installed,
for scanners and inventories. The image has its own in /usr/local/share/doc/attune.
With SOURCE_DATE_EPOCH set, the same packages give the same document.
USAGE
}

if [[ ${1:-} == --help ]]; then
  usage
  exit 0
fi
if (($# != 1)) || [[ ! $1 =~ ^[0-9A-Za-z.+~-]+$ ]]; then
  usage >&2
  exit 2
fi
version=$1

# A line for each package: name, version, architecture. None of these needs escaping in JSON.
packages=$(dpkg-query -W -f '${db:Status-Status} ${Package} ${Version} ${Architecture}\n' |
  sed -n 's/^installed //p' | LC_ALL=C sort)

awk -v version="$version" \
  -v release="$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" \
  -v digest="$(sha256sum <<<"$version $packages" | cut -c -32)" \
  -v created="$(date --utc --date="@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%Y-%m-%dT%H:%M:%SZ)" '
  # What a package URL does not take as it is.
  function url_encoded(text) {
    gsub(/\+/, "%2B", text)
    gsub(/:/, "%3A", text)
    return text
  }
  function package(id, name, version, url) {
    printf "    {\"SPDXID\": \"%s\", \"name\": \"%s\", \"versionInfo\": \"%s\",\n", id, name, version
    printf "     \"downloadLocation\": \"NOASSERTION\", \"filesAnalyzed\": false,\n"
    printf "     \"externalRefs\": [{\"referenceCategory\": \"PACKAGE-MANAGER\","
    printf " \"referenceType\": \"purl\",\n"
    printf "                       \"referenceLocator\": \"%s\"}]}", url
  }
  function relationship(from, kind, to) {
    printf "    {\"spdxElementId\": \"%s\", \"relationshipType\": \"%s\",\n", from, kind
    printf "     \"relatedSpdxElement\": \"%s\"}", to
  }
  BEGIN {
    printf "{\n  \"spdxVersion\": \"SPDX-2.3\",\n  \"dataLicense\": \"CC0-1.0\",\n"
    printf "  \"SPDXID\": \"SPDXRef-DOCUMENT\",\n  \"name\": \"attune-%s\",\n", version
    printf "  \"documentNamespace\": \"https://spdx.org/spdxdocs/attune-%s-%s\",\n", version, digest
    printf "  \"creationInfo\": {\"created\": \"%s\", \"creators\": [\"Tool: attune-sbom.sh\"]},\n",
           created
    printf "  \"packages\": [\n"
    package("SPDXRef-attune", "attune", version, "pkg:generic/attune@" url_encoded(version))
  }
  {
    id = $1 "-" $3
    gsub(/\+/, ".plus.", id)  # which an id must not have
    ids[NR] = "SPDXRef-" id
    printf ",\n"
    package(ids[NR], $1, $2, "pkg:deb/debian/" url_encoded($1) "@" url_encoded($2) "?arch=" $3 \
                             "&distro=" release)
  }
  END {
    printf "\n  ],\n  \"relationships\": [\n"
    relationship("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-attune")
    for (i = 1; i <= NR; ++i) {
      printf ",\n"
      relationship("SPDXRef-attune", "DEPENDS_ON", ids[i])
    }
    printf "\n  ]\n}\n"
  }' <<<"$packages"
