#!/usr/bin/env bash
# Makes internal/bindings anew: what wit-bindgen makes of the contract in wit/, and the support package it needs. Only
# for a new version of the contract or of wit-bindgen; authors need neither this script nor its tools.
#
# Needs go and, in PATH or in $WIT_BINDGEN, wit-bindgen 0.63.0:
#   cargo install wit-bindgen-cli --version 0.63.0 --no-default-features --features go,c
# The support package go.bytecodealliance.org/pkg lies in the crate wit-bindgen-go, which cargo unpacked on the way.
set -euo pipefail
cd "$(dirname "$0")"
bindgen=${WIT_BINDGEN:-wit-bindgen} version=0.63.0
[ "$("$bindgen" --version)" = "wit-bindgen-cli $version" ] || { echo "regenerate.sh needs wit-bindgen $version" >&2; exit 1; }
crate=$(ls -d "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"wit-bindgen-go-$version" | head -1)

cp ../../wit/released/0.1.0/plugin/*.wit wit/
new=$(mktemp -d); trap 'rm -rf "$new"' EXIT
module=toolgate.local/sdk/internal
for part in tool hook; do
  "$bindgen" go wit -w $part-plugin --pkg-name $module/bindings --out-dir "$new/$part" --quiet
done
rm -rf internal/bindings
mkdir -p internal/bindings/exports
cp -R "$new/tool/imports" "$new/hook/imports" internal/bindings/
for part in tool hook; do
  mkdir "internal/bindings/exports/${part}s"
  # The functions behind the exports are this module's own.
  sed "s|\"$module/bindings/exports/export_toolgate_plugin_${part}s\"|export_toolgate_plugin_${part}s \"$module/exports/${part}s\"|" \
    "$new/$part/exports/wit_exports/wit_exports.go" > "internal/bindings/exports/${part}s/wit_exports.go"
done
# A module's replace directives don't reach those who use it: the support package is made part of this module.
mkdir -p internal/bindings/wit
cp "$crate/src/pkg/LICENSE" internal/bindings/wit/LICENSE
cp -R "$crate/src/pkg/wit/runtime" "$crate/src/pkg/wit/types" internal/bindings/wit/
rm internal/bindings/wit/types/{future,stream}.go internal/bindings/wit/runtime/empty.s
cat > internal/bindings/README.md <<S
Made by \`regenerate.sh\` with wit-bindgen $version; not to be edited. \`wit\` is \`go.bytecodealliance.org/pkg/wit\` without its parts
for asynchronous functions, by the Bytecode Alliance, under the licence beside it.
S
find internal/bindings -name '*.go' -exec sed -i \
  -e "s|go.bytecodealliance.org/pkg/wit/|$module/bindings/wit/|" -e '0,/^package /s|^package |//go:build wasip1\n\npackage |' {} +
find internal/bindings -name '*.s' -delete
gofmt -w internal/bindings
