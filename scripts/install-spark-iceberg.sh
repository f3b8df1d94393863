#!/bin/sh
# Installs a Spark with the runtime of Apache Iceberg, for the tests of the gateway that change rows: Spark's own
# catalog has no DELETE, UPDATE and MERGE. It is an older Spark, as Iceberg 1.12 has no runtime for 4.3. 520 MB are
# downloaded, of which 540 MB are kept in the user's cache. It runs with Java 17. Prints its Python and the runtime.
set -eu
spark=4.1.4 scala=4.1_2.13 iceberg=1.12.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lakewarden
runtime=iceberg-spark-runtime-$scala-$iceberg.jar

python=$("$(dirname "$0")/client-environment.sh" pyspark "$spark" pyspark)
if [ ! -e "$cache/$runtime" ]; then
    if ! command -v mvn >/dev/null; then
        echo "mvn is needed to download Iceberg (on Debian or Ubuntu: apt-get install maven)" >&2
        exit 1
    fi
    work=$(mktemp -d "$cache/iceberg-spark.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    echo "downloading the runtime of Iceberg $iceberg (46 MB)" >&2
    mvn -q -B -Dmaven.repo.local="$work/m2" -DoutputDirectory="$work" \
        -Dartifact="org.apache.iceberg:iceberg-spark-runtime-$scala:$iceberg" \
        org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy >&2
    mv "$work/$runtime" "$cache/$runtime"
fi
echo "$python $cache/$runtime"
