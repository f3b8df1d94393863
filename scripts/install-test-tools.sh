#!/bin/sh
# Makes sure that the tests find what they start and what the environment does not bring: curl, a
# MariaDB server, Chromium, oasdiff (where there is Go), promtool, MySQL (where there is Maven), the clients of the originals, and the built pages. Installs bare programs only (no service is set
# up or started), and does nothing where they are there already. Where they cannot be installed it
# says so and succeeds: the tests that need them are skipped, or say so.
#
# The clients are looked for in the cache of the user, so a second clone installs nothing.
set -eu
PATH=$PATH:/usr/local/sbin:/usr/sbin
here=$(dirname "$0")

has() {
    for program in "$@"; do
        command -v "$program" >/dev/null || return 1
    done
}

install_packages() {
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get -qq -o DPkg::Lock::Timeout=300 update &&
            DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 \
                install --no-install-recommends "$@" >/dev/null && return
    fi
    echo "these could not be installed; tests that need them are skipped: $*" >&2
    echo "(on Debian or Ubuntu: apt-get install $*)" >&2
}

pages() {
    "${PYTHON:-python3}" "$here/build_pages.py" || echo "tests of the pages are skipped" >&2
}

client() {
    "$here/$1-client.sh" >/dev/null || echo "the $1 client could not be installed; its tests are skipped" >&2
}

checker() {
    "$here/oasdiff.sh" >/dev/null || echo "oasdiff could not be installed; its tests are skipped" >&2
}

# Side by side: most of each is waiting for downloads. What takes packages of the system comes in turn.
pages &
client datahub &
client gravitino &
if has go; then checker & fi

packages=
has curl || packages="curl ca-certificates"
has mariadbd mariadb-install-db my_print_defaults ||
    packages="$packages mariadb-server-core mariadb-client-core"
# The browser without windows does the same pages for two thirds of the processor time.
has chromium-headless-shell || has chromium || has chromium-browser || has google-chrome ||
    packages="$packages chromium-headless-shell"
# Pictures of the pages are drawn and compared, by night, with the one that can show windows.
[ "${TRINO_TIER:-}" != night ] || has chromium || packages="$packages chromium"
if [ -n "$packages" ]; then
    # shellcheck disable=SC2086 # a word for each package
    install_packages $packages
fi

"$here/promtool.sh" >/dev/null || echo "promtool could not be had; its tests are skipped" >&2

# TRINO_TIER=1: the tests need a Trino. By night they have one wherever there is a Java for it.
case ${TRINO_TIER:-} in
1) "$here/install-trino.sh" >/dev/null ;;
night)
    if has mvn && "${PYTHON:-python3}" -c 'from lakewarden.testing import trino; trino.java()' 2>/dev/null; then
        "$here/install-trino.sh" >/dev/null || echo "Trino could not be installed; its tests are skipped" >&2
    else
        echo "a Trino needs mvn and Java 24 or newer; its tests are skipped" >&2
    fi
    ;;
esac

if has mvn; then
    "$here/install-mysql.sh" >/dev/null || echo "MySQL could not be installed; its tests are skipped" >&2
fi

wait
