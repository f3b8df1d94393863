#!/bin/sh
# Makes an environment of its own for one client package, once, and prints its Python.
#
#   scripts/client-environment.sh NAME VERSION REQUIREMENT [MORE …]
#
# MORE are requirements beside it, as pip takes them.
#
# A client pins other versions of what the project needs, so it lives apart: in the user's cache,
# by version and Python, where every clone finds it.
set -eu
unset PYTHONPATH PYTHONHOME

name=$1 version=$2 requirement=$3
shift 3
base=${PYTHON:-python3}
tag=$("$base" -c 'import sys; print("%s-%d.%d" % (sys.platform, *sys.version_info[:2]))')
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/lakewarden/clients
folder=$cache/$name-$version-$tag
python=$folder/bin/python

# Whoever comes second waits for the first.
mkdir -p "$cache"
exec 9> "$folder.lock"
flock 9

# Whole, and its Python is there still.
if [ ! -e "$folder/installed" ] || ! "$python" -c '' 2>/dev/null; then
    rm -rf "$folder"
    "$base" -m venv "$folder" >&2
    "$python" -m pip install --quiet --disable-pip-version-check "$requirement==$version" "$@" >&2
    touch "$folder/installed"
fi
echo "$python"
