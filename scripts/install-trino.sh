#!/bin/sh
# Installs Trino for the tests that start one, with the plug-ins opa, ranger, memory and tpch: 821 MB are
# downloaded once through Maven, 286 MB kept in the cache of the user. Prints the folder. Needs mvn (Debian:
# maven). An installation without one of the plug-ins is replaced.
set -eu
version=476
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lakewarden
home=$cache/trino-server-$version
if [ ! -d "$home/lib" ] || [ ! -d "$home/plugin/ranger" ]; then
    command -v mvn >/dev/null || {
        echo "mvn is needed to download Trino (on Debian or Ubuntu: apt-get install maven)" >&2
        exit 1
    }
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/trino.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    echo "downloading Trino $version (821 MB)" >&2
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
        -Dmaven.repo.local="$work/m2" -Dartifact="io.trino:trino-server:$version:tar.gz" \
        -DoutputDirectory="$work" -Dmdep.useBaseVersion=true >&2
    tar -xzf "$work/trino-server-$version.tar.gz" -C "$work"
    for plugin in "$work/trino-server-$version"/plugin/*; do
        case ${plugin##*/} in
        opa | ranger | memory | tpch) ;;
        *) rm -rf "$plugin" ;;
        esac
    done
    rm -rf "$home"
    mv "$work/trino-server-$version" "$home"
fi
echo "$home"
