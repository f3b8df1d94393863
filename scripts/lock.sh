#!/bin/sh
# Rewrites requirements/dev.txt from pyproject.toml: every version pinned, every file hashed,
# every platform in one file, and no index named. Pins that still fit are kept; pass
# `--upgrade` (or `--upgrade-package NAME`) to move them.
#
# Extras stay in the pins: for a requirement of `coverage[toml]` pip would look at newer releases
# than a pin of `coverage` alone, and stop at the first, which has no hash here.
set -eu
cd "$(dirname "$0")/.."

uv=$(command -v uv || true)
if [ -z "$uv" ]; then
    "${PYTHON:-python3}" -m venv build/lock
    build/lock/bin/python -m pip install --quiet uv
    uv=build/lock/bin/uv
fi

"$uv" pip compile pyproject.toml --extra dev --extra bench \
    --universal --python-version 3.11 --generate-hashes --no-strip-extras \
    --custom-compile-command "make lock" --quiet --output-file requirements/dev.txt "$@"

# A requirements file that names an index would bind everybody to the one used here.
if grep -nE '://|^--(index|extra-index|find-links)|@ file' requirements/dev.txt; then
    echo "requirements/dev.txt names an address; see the lines above" >&2
    exit 1
fi
