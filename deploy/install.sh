#!/usr/bin/env bash
# install.sh TARGET WHEEL [EXTRA]: lakewarden in an environment of its own, as the images have it.
#
# Both Dockerfiles call it, and a test runs it in an empty folder, so that an image holds what was
# tried. Installs nothing outside TARGET, for the Python that is called PYTHON, by the pip PIP. REQUIREMENTS=FILE takes the pinned versions of a file of
# requirements with hashes; without it the newest that the wheel allows.
set -euo pipefail

target=${1:?usage: install.sh TARGET WHEEL [EXTRA]}
wheel=${2:?usage: install.sh TARGET WHEEL [EXTRA]}
extra=${3:-server}
python=${PYTHON:-python3}

"$python" -m venv --without-pip "$target"
read -r -a pip <<<"${PIP:-$python -m pip}"
pip+=(--python "$target/bin/python" --quiet --disable-pip-version-check)
# Bytecode would double the size; PYTHONPYCACHEPREFIX says where a start may keep it.
options=(--no-cache-dir --no-compile)
if [ -n "${REQUIREMENTS:-}" ]; then
  "${pip[@]}" install "${options[@]}" --require-hashes --requirement "$REQUIREMENTS"
  options+=(--no-deps)
fi
"${pip[@]}" install "${options[@]}" "$wheel[$extra]"

# What nothing reads at run time: tests of libraries, sources and types for compilers, symbols. Libraries in
# `*.libs` were relocated by their wheels, which `strip` would break.
packages=$("$target/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
find "$packages" -type d \( -name tests -o -name test \) -not -path '*/lakewarden/*' -prune -exec rm -rf {} +
find "$packages" -type f \( -name '*.a' -o -name '*.[ch]' -o -name '*.pxd' -o -name '*.pyx' -o -name '*.pyi' \) -delete
find "$packages" \( -name '_*_tests.*.so' -o -path '*/numpy/_core/_simd.*.so' \) -delete
rm -rf "$packages"/{pyarrow,numpy/_core}/include "$packages"/numpy/{distutils,f2py} "$packages/sqlalchemy/testing"
if command -v strip >/dev/null; then
  find "$packages" -name '*.so' -not -path '*.libs/*' -exec strip --strip-unneeded {} +
fi
PYTHONDONTWRITEBYTECODE=1 "$target/bin/lakewarden" --version
