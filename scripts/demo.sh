#!/usr/bin/env bash
# The main job on real files: builds the host and the example components, then runs the sample's batch of tool calls.
#
#   scripts/demo.sh [ARGUMENT...]    further arguments go to `toolgate run`, for example --output json
#
# It works on a copy of example-tools/sample in target/demo, made anew each time.
set -euo pipefail
cd "$(dirname "$0")/.."
sample=example-tools/sample demo=target/demo

scripts/build-guests.sh fs calc misbehave permission-gate redact-secrets audit-log
# All of the workspace's default members, not just the command: one set of features, so that tests reuse what is built.
cargo build --locked

rm -rf "$demo"
mkdir -p "$demo"
cp -R "$sample/." "$demo/"
mkdir "$demo/components"
cp target/guests/components/{fs,calc,misbehave,permission-gate,redact-secrets,audit-log}.wasm "$demo/components/"

# Some calls are meant to end as errors, which is exit status 1.
status=0
target/debug/toolgate run --config "$demo/toolgate.toml" "$@" "$demo/message.json" || status=$?
[ "$status" -le 1 ] || exit "$status"
if [ $# = 0 ]; then
  echo
  echo "What the edit changed:"
  diff -u "$sample/workspace/src/greet.py" "$demo/workspace/src/greet.py" || true
fi
