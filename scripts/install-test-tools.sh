#!/bin/sh
# Makes sure that the tests find curl and a MariaDB server to start. Installs bare programs only
# (no service is set up or started), and does nothing where they are there already. Where they
# cannot be installed it says so and succeeds: the tests that need them are skipped, or say so.
set -eu
PATH=$PATH:/usr/local/sbin:/usr/sbin

has() {
    for program in "$@"; do
        command -v "$program" >/dev/null || return 1
    done
}

packages=
has curl || packages="curl ca-certificates"
has mariadbd mariadb-install-db my_print_defaults ||
    packages="$packages mariadb-server-core mariadb-client-core"
if [ -z "$packages" ]; then
    exit 0
fi

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    # shellcheck disable=SC2086 # a word for each package
    if apt-get -qq -o DPkg::Lock::Timeout=300 update &&
        DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 \
            install --no-install-recommends $packages >/dev/null; then
        exit 0
    fi
fi

echo "these could not be installed; tests that need them are skipped: $packages" >&2
echo "(on Debian or Ubuntu: apt-get install $packages)" >&2
