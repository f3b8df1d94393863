#!/bin/sh
# Makes an environment of its own for Gravitino's Python client, once, and prints its Python.
#
#   scripts/gravitino-client.sh [FOLDER]        (build/gravitino-client)
#
# The client pins other versions of what the project needs, so it lives apart.
set -eu

version=1.3.1
folder=${1:-build/gravitino-client}
python=$folder/bin/python
done=$folder/apache-gravitino-$version

# Whoever comes second waits for the first.
mkdir -p "$(dirname "$folder")"
exec 9> "$folder.lock"
flock 9

if [ ! -e "$done" ]; then
    rm -rf "$folder"
    "${PYTHON:-python3}" -m venv "$folder" >&2
    "$python" -m pip install --quiet --disable-pip-version-check "apache-gravitino==$version" >&2
    touch "$done"
fi
echo "$python"
