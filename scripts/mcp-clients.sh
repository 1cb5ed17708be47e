#!/usr/bin/env bash
# Installs the MCP clients and the conformance suite that tests run against `toolgate serve mcp`, as their lock files
# name them, into target/mcp-clients. Without them those tests are skipped, and say so.
set -euo pipefail
cd "$(dirname "$0")/.."
out=target/mcp-clients
mkdir -p "$out/typescript"
cp tests/mcp-clients/typescript/package.json tests/mcp-clients/typescript/package-lock.json "$out/typescript/"
# The suite needs Node.js 22, which comes with it where it is prebuilt; the clients run on 20.
# In the folder: with --prefix npm misreads a lock file that lies behind a symbolic link.
(cd "$out/typescript" && npm ci --ignore-scripts --no-audit --no-fund --silent)
python3 -m venv "$out/python"
"$out/python/bin/pip" install --quiet -r tests/mcp-clients/python/requirements.txt
