#!/usr/bin/env bash
# Build this repository's guests (plugins) as WebAssembly components.
#
#   scripts/build-guests.sh [--out DIR] [PACKAGE...]
#
# PACKAGE is a crate under example-tools/ or tests/guests/; without one, all of them. The components are left in
# DIR (default: target/guests/components) as PACKAGE.wasm. Safe to run several times at once.
#
# The toolchain is chosen by itself: the active one where it has the target; else, unless RUSTUP_AUTO_INSTALL=0,
# `rustup target add`; else a private one, made once under $GUEST_TOOLCHAIN from Debian packages (where apt exists):
# rustc, its standard library and the library's sources (rustc-web, rust-web-src) and wasi-libc, unpacked side by side
# with dpkg, nothing installed, rustup left alone. cargo and the linkers are the active toolchain's.
#
#   --target T          wasm32-wasip2 (default), wasm32-wasip1 or wasm32-unknown-unknown; each gives a component
#   --toolchain-only    only make sure that there is a toolchain for the target; prints its rustc
set -euo pipefail

usage() { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0"; exit "${1:-0}"; }
TARGET=wasm32-wasip2 OUT='' ONLY='' PACKAGES=()
while [ $# -gt 0 ]; do case $1 in
  --out) OUT=${2:?--out needs a directory}; shift 2;;
  --target) TARGET=${2:?--target needs a target}; shift 2;;
  --toolchain-only) ONLY=1; shift;;
  -h|--help) usage;;
  -*) echo "unknown option $1" >&2; usage 2 >&2;;
  *) PACKAGES+=("$1"); shift;;
esac; done
case $TARGET in wasm32-wasip1|wasm32-wasip2|wasm32-unknown-unknown) ;; *) echo "unknown target $TARGET" >&2; exit 2;; esac

ROOT=$(cd "$(dirname "$0")/.." && pwd)
TC=${GUEST_TOOLCHAIN:-${XDG_CACHE_HOME:-$HOME/.cache}/wasm-guest-toolchain}
JOBS=${JOBS:-$(nproc)}
step() { printf '[%4ds] %s\n' "$SECONDS" "$*" >&2; }
[ -z "$OUT" ] || { mkdir -p "$OUT"; OUT=$(cd "$OUT" && pwd); }
cd "$ROOT" # the active toolchain may depend on the folder
HOSTROOT=$(rustc --print sysroot); HOST=$(rustc -vV | sed -n 's/^host: //p')
HOSTBIN=$HOSTROOT/lib/rustlib/$HOST/bin

has_std() { compgen -G "$1/lib/rustlib/$TARGET/lib/libstd-*.rlib" >/dev/null; }

rustup_adds_target() {
  [ "${RUSTUP_AUTO_INSTALL:-1}" != 0 ] && command -v rustup >/dev/null || return 1
  step "rustup target add $TARGET"
  rustup target add "$TARGET" >&2
}

# --- the private toolchain ---

fetch_debs() ( # into $1
  cd "$1"
  # Lists first: the plain release has an older rustc, its updates the one wanted (a list too old gives a 404).
  if [ "$(id -u)" = 0 ]; then step "apt-get update"; apt-get -qq update >&2 || true; fi
  std=$(apt-cache depends --no-recommends libstd-rust-web-dev | sed -n 's/^ *Depends: \(libstd-rust-web-[0-9.]*\)$/\1/p' | head -1)
  [ -n "$std" ] || { echo "Debian's package libstd-rust-web-dev is not in apt's lists" >&2; exit 1; }
  llvm=$(apt-cache depends --no-recommends "$std" | sed -n 's/^ *Depends: \(libllvm[0-9]*\)$/\1/p' | head -1)
  step "apt-get download rustc-web libstd-rust-web-dev $std $llvm rust-web-src wasi-libc"
  apt-get -qq download rustc-web libstd-rust-web-dev "$std" "$llvm" rust-web-src wasi-libc >&2
)

unpack() { # debs in $1, toolchain root $2
  local debs=$1 root=$2 usr=$2/deb/usr package deb
  mkdir -p "$root/deb" "$root/bin"
  for package in rustc-web libstd-rust-web-dev libstd-rust-web-1 libllvm wasi-libc; do
    for deb in "$debs/$package"*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root/deb"; done
  done
  # Of the sources only library/ (25 MB of 340).
  dpkg-deb --fsys-tarfile "$debs"/rust-web-src_*.deb |
    tar -x -C "$root/deb" --wildcards './usr/src/rustc-*/library' './usr/lib/rustlib/src'
  # Finds its files from where it lies, so that the folder may be made elsewhere and moved.
  cat > "$root/bin/rustc" <<S
#!/bin/sh
usr=\$(dirname "\$0")/../deb/usr
LD_LIBRARY_PATH=\$usr/lib/$(uname -m)-linux-gnu\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH} exec "\$usr/bin/rustc" "\$@"
S
  chmod +x "$root/bin/rustc"
  if ! "$root/bin/rustc" -vV >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then # libLLVM's own libraries, on a barer machine
    step "apt-get install libLLVM's dependencies"
    apt-get -qq install -y --no-install-recommends libedit2 libffi8 libxml2 libz3-4 libzstd1 zlib1g >&2
  fi
  "$root/bin/rustc" -V >/dev/null || { echo "Debian's rustc does not run here (it needs libedit2 libffi8 libxml2 libz3-4 libzstd1 zlib1g)" >&2; return 1; }
}

# wasi-libc for target $2 of toolchain $1: Debian's (2022) and the few functions that std asks of it and it lacks.
libc_for() {
  local root=$1 target=$2 dir=$1/deb/usr/lib/rustlib/$2/lib/self-contained
  mkdir -p "$dir"; cp "$root"/deb/usr/lib/wasm32-wasi/{crt1-command.o,crt1-reactor.o,libc.a} "$dir/"
  cat > "$root/stub.rs" <<'S'
#![no_std]
#![feature(thread_local)]
#![allow(non_upper_case_globals)]
// std's own calls to these compile and fail at run time with ENOTSUP (58): threads, chmod, canonicalize, sockets
extern "C" { #[thread_local] static mut errno: i32; }
macro_rules! no { ($($n:ident($($a:ident),*) -> $v:expr;)*) => { $(#[no_mangle] pub unsafe extern "C" fn $n($($a: u32),*) -> i32 { $(let _ = $a;)* errno = 58; $v })* } }
macro_rules! ok { ($($n:ident($($a:ident),*);)*) => { $(#[no_mangle] pub unsafe extern "C" fn $n($($a: u32),*) -> i32 { $(let _ = $a;)* 0 })* } }
no! {
    chmod(a, b) -> -1; fchmod(a, b) -> -1; realpath(a, b) -> 0;
    pthread_create(a, b, c, d) -> 58; pthread_join(a, b) -> 58; pthread_detach(a) -> 58;
}
ok! { pthread_attr_init(a); pthread_attr_setstacksize(a, b); pthread_attr_destroy(a); }
#[cfg(not(target_env = "p1"))]
mod net {
    use super::errno;
    no! {
        bind(a, b, c) -> -1; connect(a, b, c) -> -1; getaddrinfo(a, b, c, d) -> -4; getpeername(a, b, c) -> -1;
        getsockname(a, b, c) -> -1; listen(a, b) -> -1; recvfrom(a, b, c, d, e, f) -> -1;
        sendto(a, b, c, d, e, f) -> -1; setsockopt(a, b, c, d, e) -> -1; socket(a, b, c) -> -1;
    }
    #[no_mangle] pub extern "C" fn freeaddrinfo(_a: u32) {}
    #[no_mangle] pub extern "C" fn gai_strerror(_e: i32) -> *const u8 { b"not supported\0".as_ptr() }
}
S
  ( cd "$root"; RUSTC_BOOTSTRAP=1 bin/rustc --target "$target" --edition 2021 --crate-type lib --emit obj \
      -Cpanic=abort -Copt-level=s -Ccodegen-units=1 stub.rs -o "stub-$target.o" )
  ar q "$dir/libc.a" "$root/stub-$target.o" 2>/dev/null
}

link_linkers() { # rustc finds its linkers in rustlib/HOST/bin; linked anew each time, since rustup may have moved
  local dir=$1/deb/usr/lib/rustlib/$HOST/bin tool
  mkdir -p "$dir/gcc-ld"
  for tool in rust-lld wasm-component-ld gcc-ld/wasm-ld; do
    [ "$(readlink "$dir/$tool" 2>/dev/null)" = "$HOSTBIN/$tool" ] || ln -sfn "$HOSTBIN/$tool" "$dir/$tool"
  done
}

build_std() { # toolchain root $1, for $TARGET
  local root=$1 usr=$1/deb/usr
  step "building the standard library for $TARGET (once)"
  ( cd "$root"; env -u CARGO_ENCODED_RUSTFLAGS -u CARGO_BUILD_TARGET -u CARGO_TARGET_DIR \
    RUSTC="$root/bin/rustc" RUSTC_BOOTSTRAP=1 RUSTC_WRAPPER= \
    RUSTFLAGS="-Zforce-unstable-if-unmarked -Cembed-bitcode=yes" __CARGO_DEFAULT_LIB_METADATA=guest \
    CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_PROFILE_RELEASE_OPT_LEVEL=3 \
    cargo build --release -j "$JOBS" --locked --manifest-path "$usr/lib/rustlib/src/rust/library/sysroot/Cargo.toml" \
      --target-dir "$root/std" --target "$TARGET" --no-default-features --features panic-unwind >&2 )
  local built=$root/std/$TARGET/release/deps lib=$usr/lib/rustlib/$TARGET/lib rlib
  mkdir -p "$lib"
  for rlib in "$built"/*.rlib; do case ${rlib##*/} in libstd-*) ;; *) cp "$rlib" "$lib/";; esac; done
  case $TARGET in *-wasip?) libc_for "$root" "$TARGET";; esac
  # std itself last: its presence is what says that the target is complete.
  cp "$built"/libstd-*.rlib "$lib/"
  rm -rf "$root/std"
}

make_private_toolchain() {
  mkdir -p "$(dirname "$TC")"
  exec 8>"$TC.lock"; flock 8
  if ! [ -x "$TC/bin/rustc" ]; then
    local new=$TC.new
    rm -rf "$new" "$TC"; mkdir -p "$new/debs"
    fetch_debs "$new/debs"; unpack "$new/debs" "$new"; rm -rf "$new/debs"
    mv "$new" "$TC"
    step "unpacked $("$TC/bin/rustc" -V) in $TC"
  fi
  link_linkers "$TC"
  has_std "$TC/deb/usr" || build_std "$TC"
  exec 8>&-
}

RUN=(env) RUSTC_USED=$(command -v rustc)
if has_std "$HOSTROOT" || { rustup_adds_target && has_std "$HOSTROOT"; }; then
  :
elif has_std "$TC/deb/usr" || command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null; then
  make_private_toolchain
  RUSTC_USED=$TC/bin/rustc
  RUN+=("RUSTC=$TC/bin/rustc" RUSTDOC=false)
else
  echo "The Rust toolchain has no target $TARGET, which the guests are built for. Add it with: rustup target add $TARGET" >&2
  exit 1
fi
if [ -n "$ONLY" ]; then echo "$RUSTC_USED"; exit 0; fi

# --- the guests ---

package_of() { sed -n '/^\[package\]/,/^\[[^p]/s/^name *= *"\(.*\)".*/\1/p' "$1" | head -1; }
ALL=()
for manifest in example-tools/*/Cargo.toml tests/guests/*/Cargo.toml; do
  # A crate that makes no cdylib is a library of guests.
  if [ -f "$manifest" ] && grep -q cdylib "$manifest"; then ALL+=("$(package_of "$manifest")"); fi
done
for package in "${PACKAGES[@]}"; do
  case " ${ALL[*]} " in *" $package "*) ;; *) echo "no guest named $package; there are: ${ALL[*]}" >&2; exit 2;; esac
done
[ ${#PACKAGES[@]} -gt 0 ] || PACKAGES=("${ALL[@]}")

# wasm32-wasip2 links with wasm-component-ld by itself; the other two are told to.
if [ "$TARGET" != wasm32-wasip2 ]; then
  var=CARGO_TARGET_$(tr a-z- A-Z_ <<<"$TARGET")_
  RUN+=("${var}LINKER=$HOSTBIN/wasm-component-ld" "${var}RUSTFLAGS=-Clink-arg=--wasm-ld-path=$HOSTBIN/gcc-ld/wasm-ld")
fi

mkdir -p target/guests
exec 9>target/guests/.lock; flock 9
OUT=${OUT:-$ROOT/target/guests/components}; mkdir -p "$OUT"
# One call per guest: cargo unifies the features of all packages of a call, and a guest must not depend on its siblings.
for package in "${PACKAGES[@]}"; do
  "${RUN[@]}" cargo build --quiet --profile guest -j "$JOBS" --target "$TARGET" --target-dir target/guests -p "$package"
  built=target/guests/$TARGET/guest/${package//-/_}.wasm
  # Replaced in one step and only where it changed, so that a reader never sees half a file or a new date for nothing.
  if ! cmp -s "$built" "$OUT/$package.wasm"; then
    cp "$built" "$OUT/.$package.wasm.new"; mv "$OUT/.$package.wasm.new" "$OUT/$package.wasm"
    step "$package.wasm, $(($(stat -c %s "$OUT/$package.wasm") / 1024)) KiB"
  fi
done
