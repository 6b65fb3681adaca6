#!/bin/sh
# Installs scim2-server in the directory $1 (default: a temporary directory) and starts it on 127.0.0.1.
# The data is in memory. Prints the base URL and the token. Ends with the server.
# PORT is the port (default: any free port).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:-$(mktemp -d)}
mkdir -p "$dir"
[ -x "$dir/venv/bin/python" ] || python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --requirement "$here/requirements.txt" >&2
port=${PORT:-$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')}
echo "http://127.0.0.1:$port/v2 interop-token"
exec "$dir/venv/bin/scim2-server" --bearer-token interop-token --port "$port"
