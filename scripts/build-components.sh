#!/usr/bin/env bash
# Builds this repository's plugins in Go and Python as components, beside those in Rust of build-guests.sh.
#
#   scripts/build-components.sh [--no-install] [go|python...] [NAME...]    without a NAME, all of those languages
#
# NAME is a folder under example-tools/ or tests/guests/ with a go.mod or a pyproject.toml. The components are left in
# target/guests/components/NAME.wasm, keyed by content: what did not change costs nothing. A language that can't be built
# here is skipped, visibly and counted; where $TOOLGATE_LANGUAGES (as go,python) names it, that is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/target/guests/components

languages=() names=() options=()
while [ $# -gt 0 ]; do case $1 in
  go|python) languages+=("$1");;
  --no-install) options+=("$1");;
  -h|--help) sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0"; exit;;
  -*) echo "unknown option $1" >&2; exit 2;;
  *) names+=("$1");;
esac; shift; done
[ ${#languages[@]} -gt 0 ] || languages=(go python)
say() { printf '[%4ds] %s\n' "$SECONDS" "$*" >&2; }

declare -A manifest=([go]=go.mod [python]=pyproject.toml)
declare -A toolchain # NAME=PATH lines of a language, asked for once and only when something is to be built
skipped=0 known=()

tool() { sed -n "s/^$2=//p" <<<"${toolchain[$1]}"; }

bring_up() {
  [ -n "${toolchain[$1]:-}" ] || toolchain[$1]=$(scripts/languages.sh "${options[@]}" "$1") || toolchain[$1]=missing
  [ "${toolchain[$1]}" != missing ]
}

build_go() { # folder $1 into file $2
  local adapter=registry/src/*/wasi-preview1-component-adapter-provider-48.*/artefacts/wasi_snapshot_preview1.reactor.wasm
  # shellcheck disable=SC2086
  compgen -G "${CARGO_HOME:-$HOME/.cargo}/$adapter" >/dev/null || cargo fetch --quiet --locked
  GO=$(tool go go) WASM_TOOLS=$(tool go wasm-tools) guest-sdk/go/build.sh "$1" "$2"
}

build_python() {
  ( cd "$1" && PYTHONPATH=$sdks/python "$(tool python python)" -m toolgate_sdk.build -o "$2" >/dev/null )
}
sdks=$PWD/guest-sdk

key_of() { # all that goes into the component of folder $1 in language $2
  git ls-files -co --exclude-standard -z -- "$1" "guest-sdk/$2" scripts/languages.sh scripts/build-components.sh \
      ':!*_test.go' ':!guest-sdk/*/tests/*' ':!*/test_*.py' ':!*.md' ':!*/cases.json' |
    sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1
}

mkdir -p "$out"
exec 9>target/guests/.components.lock; flock 9
for language in "${languages[@]}"; do
  for project in example-tools/*/"${manifest[$language]}" tests/guests/*/"${manifest[$language]}"; do
    [ -f "$project" ] || continue
    folder=$(dirname "$project") name=$(basename "$(dirname "$project")")
    known+=("$name")
    [ ${#names[@]} = 0 ] || [[ " ${names[*]} " == *" $name "* ]] || continue
    key=$(key_of "$folder" "$language")
    if [ -f "$out/$name.wasm" ] && [ "$(cat "$out/.$name.key" 2>/dev/null)" = "$key" ]; then continue; fi
    if ! bring_up "$language"; then
      # What was built from other sources would be tested in their place.
      rm -f "$out/$name.wasm" "$out/.$name.key"
      say "skipped: $name ($language is not available here)"
      skipped=$((skipped + 1))
      continue
    fi
    rm -f "$out/.$name.key"
    "build_$language" "$folder" "$out/.$name.wasm.new"
    mv "$out/.$name.wasm.new" "$out/$name.wasm"
    echo "$key" > "$out/.$name.key"
    say "$name.wasm, $(($(stat -c %s "$out/$name.wasm") / 1024)) KiB"
  done
  if [ "${toolchain[$language]:-}" = missing ] && [[ ",${TOOLGATE_LANGUAGES:-}," == *",$language,"* ]]; then
    echo "TOOLGATE_LANGUAGES names $language, which can't be built here" >&2
    exit 1
  fi
done
for name in "${names[@]}"; do
  [[ " ${known[*]} " == *" $name "* ]] || { echo "no plugin named $name; there are: ${known[*]}" >&2; exit 2; }
done
[ "$skipped" = 0 ] || say "$skipped components skipped"
