#!/bin/sh
# Installs Azurite, Microsoft's own emulator of Azure's blobs, for the tests. npm downloads it with what it needs (190 MB on the disk,
# kept in the user's cache). It runs with Node 20 or newer. Prints the program of its server of blobs, for `node`.
set -eu
azurite=3.37.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lakewarden
home=$cache/azurite-$azurite

if [ ! -d "$home" ]; then
    if ! command -v npm >/dev/null; then
        echo "npm is needed to download Azurite (on Debian or Ubuntu: apt-get install npm)" >&2
        exit 1
    fi
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/azurite.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    echo "downloading Azurite (190 MB on the disk)" >&2
    npm install --prefix "$work" --silent --no-audit --no-fund --ignore-scripts "azurite@$azurite" >&2
    mv "$work" "$home"
fi
echo "$home/node_modules/azurite/dist/src/blob/main.js"
