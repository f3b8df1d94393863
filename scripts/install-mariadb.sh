#!/bin/sh
# Makes sure that the tests find a MariaDB server to start. Installs the bare programs only
# (no service is set up or started), and does nothing where they are there already. Where
# they cannot be installed it says so and succeeds: the tests that need them are skipped.
set -eu
PATH=$PATH:/usr/local/sbin:/usr/sbin

has_everything() {
    for program in mariadbd mariadb-install-db my_print_defaults; do
        command -v "$program" >/dev/null || return 1
    done
}

if has_everything; then
    exit 0
fi

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    if apt-get -qq -o DPkg::Lock::Timeout=300 update &&
        DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 \
            install --no-install-recommends mariadb-server-core mariadb-client-core >/dev/null; then
        exit 0
    fi
fi

echo "no MariaDB server, and it could not be installed: the tests that need one are skipped" >&2
echo "(on Debian or Ubuntu: apt-get install mariadb-server-core mariadb-client-core)" >&2
