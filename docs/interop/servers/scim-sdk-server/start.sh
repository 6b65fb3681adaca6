#!/bin/sh
# Installs de.captaingoldfish:scim-sdk-server in the directory $1 (default: a temporary directory) and starts it on 127.0.0.1 with its data
# in memory. Requires Java 17 or later and Maven. Prints the base URL and the token. Ends with the server.
# PORT is the port (default: any free port).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-$(mktemp -d)}
mkdir -p "$dir"
mvn --quiet --batch-mode --file "$here/pom.xml" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
  -DoutputDirectory="$dir/lib" >&2
exec java -cp "$dir/lib/*" "$here/Server.java" interop-token
