#!/bin/sh
# Installs Apache Iceberg's own REST catalog, the one of its compatibility tests, for the tests that
# start one: 32 MB are downloaded with Maven. It runs with Java 17 and the Hadoop of PySpark.
set -eu
version=1.10.1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lakewarden
home=$cache/iceberg-rest-$version

if [ ! -d "$home" ]; then
    if ! command -v mvn >/dev/null; then
        echo "mvn is needed to download Iceberg (on Debian or Ubuntu: apt-get install maven)" >&2
        exit 1
    fi
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/iceberg-rest.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    cat >"$work/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>lakewarden</groupId><artifactId>iceberg-rest</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.iceberg</groupId><artifactId>iceberg-open-api</artifactId>
      <version>$version</version><classifier>test-fixtures</classifier></dependency>
    <dependency><groupId>org.apache.iceberg</groupId><artifactId>iceberg-core</artifactId>
      <version>$version</version></dependency>
    <dependency><groupId>org.apache.iceberg</groupId><artifactId>iceberg-core</artifactId>
      <version>$version</version><classifier>tests</classifier></dependency>
    <dependency><groupId>org.xerial</groupId><artifactId>sqlite-jdbc</artifactId>
      <version>3.50.3.0</version></dependency>
    <dependency><groupId>org.eclipse.jetty</groupId><artifactId>jetty-servlet</artifactId>
      <version>11.0.26</version></dependency>
  </dependencies>
</project>
POM
    echo "downloading Iceberg $version (32 MB)" >&2
    mvn -q -B -f "$work/pom.xml" -Dmaven.repo.local="$work/m2" \
        org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
        -DoutputDirectory="$work/lib" >&2
    mkdir "$work/home"
    mv "$work/lib" "$work/home/lib"
    mv "$work/home" "$home"
fi
echo "$home"
