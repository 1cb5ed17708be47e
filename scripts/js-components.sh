#!/usr/bin/env bash
# Builds this repository's plugins in JavaScript as components, beside those in Rust of build-guests.sh.
#
#   scripts/js-components.sh [--test] [NAME...]
#
# NAME is a folder under example-tools/ or tests/guests/ with a package.json; without one, all of them. The components are left
# in target/guests/components/NAME.wasm, keyed by content: what did not change costs nothing. --test also checks the types and
# runs the unit tests, of the SDK too. Where node or npm is missing, or npm can't fetch what the lock files name, everything is
# skipped, visibly and counted; where $TOOLGATE_LANGUAGES (as js,go,python) names js, that is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/target/guests/components

tests='' names=()
while [ $# -gt 0 ]; do case $1 in
  --test) tests=1;;
  -h|--help) sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0"; exit;;
  -*) echo "unknown option $1" >&2; exit 2;;
  *) names+=("$1");;
esac; shift; done
say() { printf '[%4ds] %s\n' "$SECONDS" "$*" >&2; }

is_there() { # node 20.19 or newer, and npm
  command -v npm >/dev/null && node -e '
    const [major, minor] = process.versions.node.split(".").map(Number);
    process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1);' 2>/dev/null
}

install() { # the packages of folder $1, once per lock file and state of the SDK
  local mark=$1/node_modules/.installed key=$2
  [ "$(cat "$mark" 2>/dev/null)" = "$key" ] && return
  ( cd "$1" && npm ci --silent --no-audit --no-fund >&2 ) || return 1
  echo "$key" > "$mark"
}

key_of() { # of the files of folder $1 that make a difference to a component
  # Not by git's own exclusions: beside a single folder they exclude everything.
  git ls-files -co --exclude-standard -- "$1" | grep -vE '\.md$|/cases\.json$|^guest-sdk/js/test/' | sort |
    tr '\n' '\0' | xargs -0 sha256sum | sha256sum | cut -d' ' -f1
}

skipped=0 known=()
skip() { # $1 for reason $2
  if [[ ",${TOOLGATE_LANGUAGES:-}," == *,js,* ]]; then
    echo "TOOLGATE_LANGUAGES names js, but $2" >&2
    exit 1
  fi
  say "skipped: $1 ($2)"
  skipped=$((skipped + 1))
}

mkdir -p "$out"
exec 9>target/guests/.js-components.lock; flock 9
missing=''
is_there || missing="node 20.19 or newer, with npm, is missing"
sdk=$(key_of guest-sdk/js)
for project in example-tools/*/package.json tests/guests/*/package.json; do
  folder=$(dirname "$project") name=$(basename "$(dirname "$project")")
  known+=("$name")
  [ ${#names[@]} = 0 ] || [[ " ${names[*]} " == *" $name "* ]] || continue
  key="$(key_of "$folder") $sdk"
  fresh=''
  if [ -f "$out/$name.wasm" ] && [ "$(cat "$out/.$name.key" 2>/dev/null)" = "$key" ]; then fresh=1; fi
  [ -z "$fresh" ] || [ -n "$tests" ] || continue
  reason=$missing
  [ -n "$reason" ] || install "$folder" "$(sha256sum < "$folder/package-lock.json") $sdk" || reason="npm ci failed in $folder"
  if [ -n "$reason" ]; then
    # What was built from other sources would be tested in their place.
    [ -n "$fresh" ] || rm -f "$out/$name.wasm" "$out/.$name.key"
    skip "$name" "$reason"
    continue
  fi
  if [ -z "$fresh" ]; then
    rm -f "$out/.$name.key"
    ( cd "$folder" && npm run --silent build -- -o "$out/$name.wasm" >&2 )
    echo "$key" > "$out/.$name.key"
  fi
  [ -z "$tests" ] || ( cd "$folder" && npm run --silent check && npm run --silent --if-present test )
done
if [ -n "$tests" ] && [ ${#names[@]} = 0 ]; then
  reason=$missing
  [ -n "$reason" ] || install guest-sdk/js "$(sha256sum < guest-sdk/js/package-lock.json)" || reason="npm ci failed in guest-sdk/js"
  if [ -n "$reason" ]; then skip "the tests of guest-sdk/js" "$reason"; else
    ( cd guest-sdk/js && npm run --silent check && npm run --silent test )
  fi
fi
for name in "${names[@]}"; do
  [[ " ${known[*]} " == *" $name "* ]] || { echo "no plugin named $name; there are: ${known[*]}" >&2; exit 2; }
done
[ "$skipped" = 0 ] || say "$skipped skipped for want of JavaScript's tools"
