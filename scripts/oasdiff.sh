#!/bin/sh
# Prints the path of oasdiff, which compares descriptions of an API; installs it once by Go, into the
# cache of the user, where it is not there. With --installed it installs nothing, and fails instead.
set -eu
version=v1.37.0
if command -v oasdiff; then exit; fi
folder=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/lakewarden/clients/oasdiff-$version
if [ ! -x "$folder/oasdiff" ]; then
    [ "${1-}" != --installed ] || exit 1
    mkdir -p "$folder"
    exec 9> "$folder.lock"
    flock 9
    [ -x "$folder/oasdiff" ] || GOBIN=$folder go install "github.com/oasdiff/oasdiff@$version" >&2
fi
echo "$folder/oasdiff"
