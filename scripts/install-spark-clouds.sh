#!/bin/sh
# Installs what Spark needs to read and write Google Cloud Storage and Azure: Google's connector for Hadoop 3, with all it uses in one
# jar, and Hadoop's client of Azure of the release in Spark's wheel. Maven downloads them (45 MB), and they are kept in the user's
# cache. Prints the folder of the jars, for `--spark-conf spark.jars=…`.
set -eu
google=4.0.0 hadoop=3.5.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lakewarden
jars=$cache/spark-clouds-$google-$hadoop

if [ ! -d "$jars" ]; then
    if ! command -v mvn >/dev/null; then
        echo "mvn is needed to download the clients (on Debian or Ubuntu: apt-get install maven)" >&2
        exit 1
    fi
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/spark-clouds.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    dependency() {
        printf '<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version>' "$1" "$2" "$3"
        # Spark has what they need beside these.
        printf '<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>'
        printf '%s</dependency>\n' "${4-}"
    }
    {
        echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        echo '<groupId>lakewarden</groupId><artifactId>spark-clouds</artifactId><version>1</version><dependencies>'
        dependency com.google.cloud.bigdataoss gcs-connector "$google" '<classifier>shaded</classifier>'
        dependency org.apache.hadoop hadoop-azure "$hadoop"
        dependency org.wildfly.openssl wildfly-openssl 2.2.5.Final
        echo '</dependencies></project>'
    } >"$work/pom.xml"
    echo "downloading the clients of Google Cloud Storage and Azure (45 MB)" >&2
    mvn -q -B -f "$work/pom.xml" -Dmaven.repo.local="$work/m2" -DoutputDirectory="$work/jars" \
        org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies >&2
    mv "$work/jars" "$jars"
fi
echo "$jars"
