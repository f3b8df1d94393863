#!/usr/bin/env bash
# build-image.sh [EXTRA [NAME]]: builds the image of deploy/Dockerfile without a container engine.
#
# By Buildah, which Debian has and which needs no daemon, as root. If no registry can be reached, the
# base image is made from Debian's archive by debootstrap, without what Debian's slim images leave out,
# and kept. The image is in a store of Buildah, STORE; its last line of output is the image's size.
set -euo pipefail

cd "$(dirname "$0")/.."
extra=${1:-server-slim}
name=${2:-lakewarden}
store=${STORE:-${XDG_CACHE_HOME:-$HOME/.cache}/lakewarden/images}
base=$(sed -n 's/^FROM \([^ ]*\)$/\1/p' deploy/Dockerfile | tail -n 1)
release=${base#*:}
release=${release%-slim}
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs

missing=()
for tool in buildah debootstrap; do
  command -v "$tool" >/dev/null || missing+=("$tool")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "build-image: installing ${missing[*]}"
  apt-get update --quiet --quiet
  apt-get install --yes --quiet --quiet --no-install-recommends "${missing[@]}"
fi

buildah=(buildah --root "$store/root" --runroot "$store/run")
mkdir -p "$store"

# The base, with the certificate authorities that this machine was told to trust.
make_base() {
  local folder container
  folder=$(mktemp -d "$store/base.XXXXXX")
  echo "build-image: no registry: making $base from Debian's archive"
  debootstrap --variant=minbase "$release" "$folder" >"$store/debootstrap.log"
  rm -rf "$folder"/var/cache/apt/archives/*.deb "$folder"/var/lib/apt/lists/* \
    "$folder"/usr/share/{doc,man,info,locale,groff,lintian}/*
  mkdir -p "$folder/usr/local/share/ca-certificates"
  find /usr/local/share/ca-certificates -name '*.crt' \
    -exec cp {} "$folder/usr/local/share/ca-certificates/" \;
  container=$("${buildah[@]}" from scratch)
  "${buildah[@]}" add --quiet "$container" "$folder" / >/dev/null
  "${buildah[@]}" config --env NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt "$container"
  "${buildah[@]}" commit --quiet --rm "$container" "docker.io/library/$base" >/dev/null
  rm -rf "$folder"
}

if ! "${buildah[@]}" inspect --type image "docker.io/library/$base" >/dev/null 2>&1; then
  "${buildah[@]}" pull --quiet "docker.io/library/$base" 2>/dev/null || make_base
fi
"${buildah[@]}" build --format docker --pull-never --file deploy/Dockerfile \
  --build-arg "EXTRA=$extra" --tag "$name" .
echo "build-image: $name: $("${buildah[@]}" images --format '{{.Size}}' "localhost/$name")"
