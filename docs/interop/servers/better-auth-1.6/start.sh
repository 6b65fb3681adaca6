#!/bin/sh
# Installs @better-auth/scim 1.6 in the directory $1 (default: a temporary directory) and starts it on 127.0.0.1.
# The data is in memory. Prints the base URL and the token. Ends with the server.
# PORT is the port (default: any free port).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-$(mktemp -d)}
mkdir -p "$dir"
cp "$here/package.json" "$here/server.mjs" "$dir"
cd "$dir"
npm install --no-audit --no-fund --loglevel=error >&2
exec node server.mjs
