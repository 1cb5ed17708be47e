#!/usr/bin/env bash
# The clients for Node.js and their dependencies, into target/node: the JSON-lines client, the pi adapter once for each
# release of pi that it is tested with, and what drives a browser to the dashboard. Needs node (20 or newer) and npm; ends with 75 where npm can't install.
set -euo pipefail
cd "$(dirname "$0")/.."
node=$PWD/target/node
mkdir -p "$node"
# One at a time: several tests may want it.
exec 9>"$node/lock"
if command -v flock >/dev/null; then flock 9; fi

# install FOLDER FILE...: a copy of the files with what they depend on; what is there and the same is left alone.
install() {
  local to=$node/$1
  shift
  mkdir -p "$to"
  if ! cmp -s "$1/package-lock.json" "$to/package-lock.json" || [ ! -e "$to/node_modules" ]; then
    cp "$1/package.json" "$1/package-lock.json" "$to/"
    (cd "$to" && npm ci --ignore-scripts --no-audit --no-fund --silent) || exit 75
  fi
  cp "${@:2}" "$to/"
}

# compile FOLDER: with TypeScript, where a source has changed.
compile() {
  local sum
  sum=$(cat "$node/jsonl/toolgate.ts" "$1"/{*.ts,tsconfig.json,package-lock.json} | cksum)
  if [ "$sum" != "$(cat "$1/compiled" 2>/dev/null)" ]; then
    (cd "$1" && "$node/jsonl/node_modules/.bin/tsc")
    echo "$sum" >"$1/compiled"
  fi
}

client=host/jsonl/clients/typescript
install jsonl "$client" "$client"/{package.json,tsconfig.json,toolgate.ts,check.mjs}
compile "$node/jsonl"

for pi in 0.84 current; do
  install "pi-$pi" "host/jsonl/pi/test/$pi" host/jsonl/pi/{index.ts,tsconfig.json,test/turn.mjs}
  to=$node/pi-$pi
  mkdir -p "$to/node_modules/@toolgate" "$to/node_modules/@types"
  ln -sfn "$node/jsonl" "$to/node_modules/@toolgate/jsonl"
  ln -sfn "$node/jsonl/node_modules/@types/node" "$to/node_modules/@types/node"
  compile "$to"
done

install dashboard host/dashboard/test host/dashboard/test/page.mjs
