#!/bin/sh
# Prints the path of promtool, which checks rules of Prometheus and tries alerts. Where it is not there
# it is taken out of Debian's package `prometheus` into the cache of the user: the package itself would
# set up a server. With --installed it gets nothing, and fails instead.
set -eu
if command -v promtool; then exit; fi
folder=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/lakewarden/clients/promtool
if [ ! -x "$folder/promtool" ]; then
    [ "${1-}" != --installed ] || exit 1
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null
    mkdir -p "$folder"
    exec 9> "$folder.lock"
    flock 9
    if [ ! -x "$folder/promtool" ]; then
        taken=$(mktemp -d)
        trap 'rm -rf "$taken"' EXIT
        [ "$(id -u)" != 0 ] || apt-get -qq -o DPkg::Lock::Timeout=300 update
        (cd "$taken" && apt-get -qq -o APT::Sandbox::User=root download prometheus >&2)
        dpkg-deb --fsys-tarfile "$taken"/prometheus_*.deb | tar -x -C "$taken" ./usr/bin/promtool
        mv "$taken/usr/bin/promtool" "$folder/promtool"
    fi
fi
echo "$folder/promtool"
