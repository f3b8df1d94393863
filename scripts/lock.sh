#!/bin/sh
# Rewrites requirements/dev.txt from pyproject.toml: every version pinned, every file hashed,
# every platform in one file, and no index named. Pins that still fit are kept; pass
# `--upgrade` (or `--upgrade-package NAME`) to move them. Each extra for users gets a file of its
# own with the same pins, for installations that have to be the same everywhere.
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

pin() {
    file=$1
    shift
    "$uv" pip compile pyproject.toml \
        --universal --python-version 3.11 --generate-hashes --no-strip-extras \
        --custom-compile-command "make lock" --quiet --output-file "requirements/$file.txt" "$@"
}

pin dev --extra dev --extra bench "$@"

# Without hashes, as uv wants constraints.
mkdir -p build
grep -oE '^[A-Za-z0-9][^ ;]*==[^ ;\\]+( ;[^\\]+)?' requirements/dev.txt > build/pins.txt
for extra in all analyst aws connect delta enforce gateway hdfs hive iceberg lineage object-store parquet server server-slim spark sql telemetry; do
    rm -f "requirements/$extra.txt"
    pin "$extra" --extra "$extra" --constraint build/pins.txt --no-annotate
done

# A requirements file that names an index would bind everybody to the one used here.
if grep -nE '://|^--(index|extra-index|find-links)|@ file' requirements/*.txt; then
    echo "a file of requirements names an address; see the lines above" >&2
    exit 1
fi
