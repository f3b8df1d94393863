#!/bin/sh
# Installs a Spark with Delta Lake, for the test in which Spark reads our tables of Delta. It is an older Spark, the one
# of `install-spark-iceberg.sh`, as Delta 4.4 has no archive for 4.3. 470 MB are downloaded unless that one was, and kept in
# the user's cache. It runs with Java 17. Prints its Python and the folder of the archives.
set -eu
spark=4.1.4 scala=4.1_2.13 delta=4.4.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lakewarden
jars=$cache/spark-delta-$scala-$delta

python=$("$(dirname "$0")/client-environment.sh" pyspark "$spark" pyspark)
if [ ! -d "$jars" ]; then
    if ! command -v mvn >/dev/null; then
        echo "mvn is needed to download Delta (on Debian or Ubuntu: apt-get install maven)" >&2
        exit 1
    fi
    work=$(mktemp -d "$cache/spark-delta.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    {
        echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        echo '<groupId>lakewarden</groupId><artifactId>spark-delta</artifactId><version>1</version><dependencies>'
        # What it needs beside these is in Spark.
        all='<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>'
        for artifact in "delta-spark_$scala" delta-storage; do
            echo "<dependency><groupId>io.delta</groupId><artifactId>$artifact</artifactId><version>$delta</version>"
            echo "$all</dependency>"
        done
        echo '</dependencies></project>'
    } >"$work/pom.xml"
    echo "downloading Delta $delta" >&2
    mvn -q -B -f "$work/pom.xml" -Dmaven.repo.local="$work/m2" -DoutputDirectory="$work/jars" \
        org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies >&2
    mv "$work/jars" "$jars"
fi
echo "$python $jars"
