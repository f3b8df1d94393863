#!/bin/sh
# Installs what Spark needs to read and write S3: Hadoop's client of the release in Spark's wheel, and those parts of
# Amazon's SDK that it uses (its bundle of all of them has 640 MB). 25 MB are downloaded and kept in the user's cache.
# Prints the folder of the jars, for `--spark-conf spark.jars=…`.
set -eu
hadoop=3.5.0 sdk=2.35.4
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lakewarden
jars=$cache/spark-s3-$hadoop

if [ ! -d "$jars" ]; then
    if ! command -v mvn >/dev/null; then
        echo "mvn is needed to download Hadoop's client (on Debian or Ubuntu: apt-get install maven)" >&2
        exit 1
    fi
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/spark-s3.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    dependency() {
        printf '<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version>' "$1" "$2" "$3"
        printf '%s</dependency>\n' "${4-}"
    }
    {
        echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        echo '<groupId>lakewarden</groupId><artifactId>spark-s3</artifactId><version>1</version><dependencies>'
        all='<groupId>software.amazon.awssdk</groupId><artifactId>bundle</artifactId>'
        dependency org.apache.hadoop hadoop-aws "$hadoop" "<exclusions><exclusion>$all</exclusion></exclusions>"
        for part in s3 s3-transfer-manager sts apache-client; do
            dependency software.amazon.awssdk "$part" "$sdk"
        done
        echo '</dependencies></project>'
    } >"$work/pom.xml"
    echo "downloading Hadoop's client of S3 (25 MB)" >&2
    mvn -q -B -f "$work/pom.xml" -Dmaven.repo.local="$work/m2" -DoutputDirectory="$work/jars" \
        -DincludeScope=runtime org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies >&2
    rm -f "$work"/jars/slf4j-*.jar # Spark brings its own
    mv "$work/jars" "$jars"
fi
echo "$jars"
