#!/bin/sh
# Installs fake-gcs-server, an emulator of Google Cloud Storage, for the tests. Go downloads and builds it (some minutes), and it
# is kept in the user's cache. Prints the program.
set -eu
version=v1.56.1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lakewarden
home=$cache/fake-gcs-server-$version

if [ ! -d "$home" ]; then
    if ! command -v go >/dev/null; then
        echo "go is needed to build fake-gcs-server (on Debian or Ubuntu: apt-get install golang)" >&2
        exit 1
    fi
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/fake-gcs-server.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    echo "building fake-gcs-server" >&2
    GOBIN=$work go install "github.com/fsouza/fake-gcs-server@$version" >&2
    mv "$work" "$home"
    chmod 755 "$home"
fi
echo "$home/fake-gcs-server"
