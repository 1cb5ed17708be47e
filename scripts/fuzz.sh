#!/usr/bin/env bash
# Fuzzes with cargo-fuzz (libFuzzer) on the toolchain of rust-toolchain.toml, without a sanitizer: what is looked for are
# panics, broken assertions, hangs and memory without bound, in code that is safe Rust.
#
#   scripts/fuzz.sh [TARGET [SECONDS [LIBFUZZER-OPTION...]]]
#
# TARGET: read (any text as a document), validate (arguments against a schema), config (toolgate.toml), load (components), batch (a batch of scripted
# tools and hooks). Without one, each of them. SECONDS: 60 by default. What each target does is in tests/src/fuzz.
# Everything is built once more, with instrumentation, in target/fuzz: load and batch include the WebAssembly engine, about
# 20 CPU minutes. Corpora are kept in target/fuzz/corpus; an input that fails is left in tests/fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:-} seconds=${2:-60}
if ! cargo fuzz --version >/dev/null 2>&1; then
  echo "cargo-fuzz is missing: cargo install cargo-fuzz --locked" >&2
  exit 1
fi

fuzz() { # TARGET SECONDS LIBFUZZER-OPTION...
  local target=$1 seconds=$2 corpus=target/fuzz/corpus/$1
  shift 2
  local features=() options=(-max_len=4096)
  case $target in
    read | validate | config) features=(--no-default-features) ;;
    load) options=(-max_len=262144 -len_control=1000) ;;
    batch) options=(-max_len=600) ;;
    *) echo "no target $target: read, validate, config, load or batch" >&2; exit 2 ;;
  esac
  [ ! -e "tests/fuzz/$target.dict" ] || options+=("-dict=tests/fuzz/$target.dict")
  if [ "$target" = batch ]; then scripts/build-guests.sh scripted-tool scripted-hook; fi
  mkdir -p "$corpus"
  TOOLGATE_GUESTS_BUILT=1 TOOLGATE_FUZZ_SEEDS=$PWD/$corpus cargo fuzz run --fuzz-dir tests/fuzz --target-dir target/fuzz \
    --dev --sanitizer none "${features[@]}" "$target" "$corpus" -- \
    -max_total_time="$seconds" -timeout=30 -rss_limit_mb=4096 -print_final_stats=1 "${options[@]}" "$@"
}

if [ -n "$target" ]; then
  fuzz "$target" "$seconds" "${@:3}"
else
  for target in read validate config load batch; do fuzz "$target" "$seconds"; done
fi
