#!/usr/bin/env bash
# Builds a Go plugin as a component, without the `toolgate` command (which does the same by itself: `toolgate build`).
#
#   guest-sdk/go/build.sh DIR OUT.wasm    DIR holds the main package
#
# Needs in PATH, or in the variables: go 1.26 ($GO), wasm-tools ($WASM_TOOLS), and the adapter from WASI preview 1
# ($WASI_ADAPTER: wasi_snapshot_preview1.reactor.wasm, by default that of the crate wasi-preview1-component-adapter-provider,
# which cargo unpacks when the host is built).
set -euo pipefail
[ $# = 2 ] || { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }
sdk=$(cd "$(dirname "$0")" && pwd)
dir=$1 out=$2
adapter=${WASI_ADAPTER:-$(ls -d "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/wasi-preview1-component-adapter-provider-48.*/artefacts/wasi_snapshot_preview1.reactor.wasm 2>/dev/null | tail -1 || true)}
[ -f "$adapter" ] || { echo "no adapter from WASI preview 1: set WASI_ADAPTER" >&2; exit 1; }
wasm_tools=${WASM_TOOLS:-wasm-tools}

work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
# -checklinkname=0: wit-bindgen's runtime allocates with runtime.sbrk before Go itself runs.
( cd "$dir" && GOTOOLCHAIN=local GOFLAGS=-mod=mod GOOS=wasip1 GOARCH=wasm "${GO:-go}" build -trimpath -buildmode=c-shared \
    -ldflags='-s -w -checklinkname=0' -o "$work/core.wasm" . )

# What the plugin exports follows from the packages it imports, and the world from that.
exports() { LC_ALL=C grep -qaF "cabi_post_toolgate:plugin/$1@0.1.0#" "$work/core.wasm"; }
if exports tools && exports hooks; then world=plugin
elif exports tools; then world=tool-plugin
elif exports hooks; then world=hook-plugin
else echo "$dir exports neither tools nor hooks: call tools.Export or hooks.Export in an init function" >&2; exit 1; fi

"$wasm_tools" component embed -w $world "$sdk/wit" "$work/core.wasm" -o "$work/embedded.wasm"
"$wasm_tools" component new --adapt "wasi_snapshot_preview1=$adapter" "$work/embedded.wasm" -o "$work/component.wasm"
mkdir -p "$(dirname "$out")"
mv "$work/component.wasm" "$out"
