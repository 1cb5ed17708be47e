# Every task a person needs. `just` alone lists them.

_default:
    @just --list --unsorted

# the main job on the sample workspace
demo *ARGS:
    scripts/demo.sh {{ARGS}}

# every test
test *ARGS:
    scripts/test.sh {{ARGS}}

# the example and test components, into target/guests/components
guests *PACKAGES:
    scripts/build-guests.sh {{PACKAGES}}

# the components in Go, Python and JavaScript, likewise
components:
    scripts/build-components.sh
    scripts/js-components.sh

# the clients for Node.js and the pi adapter, into target/node
node:
    scripts/build-node.sh

# the MCP clients and the conformance suite that `cargo test --test mcp` runs
mcp-clients:
    scripts/mcp-clients.sh

# replay the golden scenarios of a folder; `--native` with native tools instead of components
golden *ARGS:
    cargo run --quiet --bin golden -- {{ARGS}}

# check the recorded validation rows, or those of a file
validation *FILE:
    cargo run --quiet --bin validation -- {{FILE}}

# fuzz a target (read, validate, config, load, batch; default all) for so many seconds (default 60)
fuzz *ARGS:
    scripts/fuzz.sh {{ARGS}}

# 100 000 calls of every fate, and nothing left of them; another number if given
soak *CALLS:
    cargo run --quiet --bin soak -- {{CALLS}}

# format, lint, licences
check:
    cargo fmt --check
    cargo clippy --all-targets -- -D warnings
    cargo deny check

# what calls cost beside the engine's own floor; `just bench --quick`, `just bench count` for instructions
bench *ARGS:
    scripts/build-guests.sh bench-guest
    cargo build --release
    target/release/toolgate-bench {{ARGS}}

# the echo in JavaScript, for `just bench`: QuickJS and StarlingMonkey
bench-languages:
    cd host/bench/languages && npm install --no-audit --no-fund
    mkdir -p target/bench/languages
    cd host/bench/languages && npx toolgate-sdk build echo.js -o ../../../target/bench/languages/quickjs.wasm
    cd host/bench/languages && npx toolgate-sdk build echo.js -o ../../../target/bench/languages/starlingmonkey.wasm --engine starlingmonkey

# the echo on Extism, for `just bench`: compiles another wasmtime
bench-extism:
    cargo build --release --manifest-path host/bench/extism/Cargo.toml
