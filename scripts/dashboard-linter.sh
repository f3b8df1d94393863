#!/bin/sh
# Prints the path of Grafana's dashboard-linter; builds it once by Go, into the cache of the user, where
# it is not there. `go install` refuses it, since its module replaces another one: a module of our own
# that replaces the same one builds it.
set -eu
version=v0.2.0
memberlist=github.com/grafana/memberlist@v0.3.1-0.20251126142931-6f9f62ab6f86
if command -v dashboard-linter; then exit; fi
folder=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/lakewarden/clients/dashboard-linter-$version
mkdir -p "$folder"
exec 9> "$folder.lock"
flock 9
if [ ! -x "$folder/dashboard-linter" ]; then
    made=$(mktemp -d)
    trap 'rm -rf "$made"' EXIT
    (
        cd "$made"
        go mod init linted
        go mod edit -require="github.com/grafana/dashboard-linter@$version" \
            -replace="github.com/hashicorp/memberlist=$memberlist"
        go build -mod=mod -o "$folder/dashboard-linter" github.com/grafana/dashboard-linter
    ) >&2
fi
echo "$folder/dashboard-linter"
