#!/bin/sh
# Installs Apache Hive's driver with what it needs to run inside a process, for the tests that evaluate
# expressions in it: 290 MB are downloaded with Maven and kept in the user's cache. It runs with Java 17
# and its compiler. Its own dependencies name archives that are not published, which it does without.
set -eu
version=4.1.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lakewarden
home=$cache/hive-$version

dependency() {
    echo "<dependency><groupId>$1</groupId><artifactId>$2</artifactId><version>$3</version>${4:-}</dependency>"
}

exclusion() {
    echo "<exclusion><groupId>org.apache.hive</groupId><artifactId>$1</artifactId></exclusion>"
}

if [ ! -d "$home" ]; then
    if ! command -v mvn >/dev/null; then
        echo "mvn is needed to download Hive (on Debian or Ubuntu: apt-get install maven)" >&2
        exit 1
    fi
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/hive.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    without="<exclusions>$(exclusion hive-vector-code-gen)$(exclusion hive-llap-tez)</exclusions>"
    cat >"$work/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>lakewarden</groupId><artifactId>hive</artifactId><version>1</version>
  <dependencies>
    $(dependency org.apache.hive hive-exec "$version" "$without")
    $(dependency org.datanucleus datanucleus-api-jdo 6.0.3)
    $(dependency org.datanucleus datanucleus-rdbms 6.0.10)
    $(dependency org.datanucleus javax.jdo 3.2.0-release)
    $(dependency com.zaxxer HikariCP 4.0.3)
    $(dependency com.github.ben-manes.caffeine caffeine 3.1.8)
    $(dependency org.apache.derby derby 10.14.2.0)
    $(dependency org.apache.hadoop hadoop-client 3.4.2)
    $(dependency org.apache.hadoop hadoop-hdfs 3.4.2)
    $(dependency org.apache.tez tez-api 0.10.5)
    $(dependency org.apache.tez tez-dag 0.10.5)
    $(dependency org.apache.tez tez-mapreduce 0.10.5)
    $(dependency org.apache.tez tez-runtime-library 0.10.5)
  </dependencies>
</project>
POM
    echo "downloading Hive $version (290 MB)" >&2
    mvn -q -B -f "$work/pom.xml" -Dmaven.repo.local="$work/m2" \
        org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
        -DoutputDirectory="$work/lib" >&2
    mkdir "$work/home"
    mv "$work/lib" "$work/home/lib"
    mv "$work/home" "$home"
fi
echo "$home"
