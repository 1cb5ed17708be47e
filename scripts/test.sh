#!/usr/bin/env bash
# Every test: the guests are built, then the host's, the command's, the guests' own and the integration tests run. What is
# written in a language that is not available here is skipped, visibly.
#
#   scripts/test.sh [ARGUMENT...]    further arguments go to `cargo test`
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build-guests.sh
scripts/build-components.sh
export TOOLGATE_GUESTS_BUILT=1
# The default members in one call: the same features for all of them, so that nothing is built twice.
cargo test --locked "$@"
# The guests' own logic, natively.
guests=(-p toolgate-sdk -p toolgate-sdk-macros)
for manifest in example-tools/*/Cargo.toml; do
  guests+=(-p "$(basename "$(dirname "$manifest")")")
done
cargo test --locked "${guests[@]}" "$@"
scripts/test-sdks.sh
