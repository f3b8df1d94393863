#!/bin/sh
# Makes an environment of its own for DataHub's Python client, once, and prints its Python.
#
#   scripts/datahub-client.sh [FOLDER]        (build/datahub-client)
#
# The client pins other versions of what the project needs, so it lives apart.
set -eu

version=1.7.0.17
folder=${1:-build/datahub-client}
python=$folder/bin/python
done=$folder/acryl-datahub-$version

# Whoever comes second waits for the first.
mkdir -p "$(dirname "$folder")"
exec 9> "$folder.lock"
flock 9

if [ ! -e "$done" ]; then
    rm -rf "$folder"
    "${PYTHON:-python3}" -m venv "$folder" >&2
    "$python" -m pip install --quiet --disable-pip-version-check \
        "acryl-datahub[datahub-rest]==$version" >&2
    touch "$done"
fi
echo "$python"
