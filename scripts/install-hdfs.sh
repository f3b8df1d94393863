#!/bin/sh
# Installs a small HDFS for the tests: Hadoop's NameNode and DataNode for one process, of the release whose client is in
# PySpark's wheel and serves as the rest of it. 56 MB are downloaded with Maven and kept in the user's cache. It runs with
# a JDK 17.
set -eu
hadoop=3.5.0
digest=06772d24529e59939915979b3edba204d367750ef7dc5120411f35221dd4818c
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lakewarden
home=$cache/hdfs-$hadoop
jar=hadoop-client-minicluster-$hadoop.jar

if [ ! -d "$home" ]; then
    if ! command -v mvn >/dev/null; then
        echo "mvn is needed to download Hadoop (on Debian or Ubuntu: apt-get install maven)" >&2
        exit 1
    fi
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/hdfs.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    cat >"$work/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>lakewarden</groupId><artifactId>hdfs</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.hadoop</groupId><artifactId>hadoop-client-minicluster</artifactId>
      <version>$hadoop</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
  </dependencies>
</project>
POM
    echo "downloading a small HDFS (56 MB)" >&2
    mvn -q -B -f "$work/pom.xml" -Dmaven.repo.local="$work/m2" -DoutputDirectory="$work/home" \
        org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies >&2
    if ! echo "$digest  $work/home/$jar" | sha256sum --check --status; then
        echo "$jar is another file than expected" >&2
        exit 1
    fi
    mv "$work/home" "$home"
fi
echo "$home/$jar"
