#!/usr/bin/env bash
# The unit tests of the SDKs and example tools in Go and Python, natively. A language that is not available here is skipped,
# visibly and counted; where $TOOLGATE_LANGUAGES (as go,python) names it, that is an error.
#
#   scripts/test-sdks.sh [--no-install] [go|python...]    without a language, both
set -euo pipefail
cd "$(dirname "$0")/.."
languages=() options=()
while [ $# -gt 0 ]; do case $1 in
  go|python) languages+=("$1");;
  --no-install) options+=("$1");;
  -h|--help) sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0"; exit;;
  *) echo "unknown argument $1" >&2; exit 2;;
esac; shift; done
[ ${#languages[@]} -gt 0 ] || languages=(go python)
root=$PWD

test_go() {
  local go module unformatted
  go=$(sed -n 's/^go=//p' <<<"$1")
  for module in guest-sdk/go example-tools/*/go.mod tests/guests/*/go.mod; do
    module=${module%/go.mod}
    [ -d "$module" ] || continue
    unformatted=$("${go%go}gofmt" -l "$module")
    [ -z "$unformatted" ] || { echo "not formatted: $unformatted" >&2; return 1; }
    ( cd "$module" && export GOTOOLCHAIN=local GOPROXY=off GOFLAGS=-mod=mod && "$go" vet ./... && "$go" test ./... )
  done
  diff -r wit/released/0.1.0/plugin guest-sdk/go/wit
}

test_python() {
  local python project
  python=$(sed -n 's/^python=//p' <<<"$1")
  ( cd guest-sdk/python && "$python" -B -m unittest discover -s tests -t . )
  for project in example-tools/*/pyproject.toml; do
    [ -f "$project" ] || continue
    ( cd "$(dirname "$project")" && PYTHONPATH=$root/guest-sdk/python "$python" -B -m unittest )
  done
}

skipped=()
for language in "${languages[@]}"; do
  if toolchain=$(scripts/languages.sh "${options[@]}" "$language"); then
    echo "SDK tests: $language"
    "test_$language" "$toolchain"
  elif [[ ",${TOOLGATE_LANGUAGES:-}," == *",$language,"* ]]; then
    echo "TOOLGATE_LANGUAGES names $language, which is not available here" >&2
    exit 1
  else
    skipped+=("$language")
  fi
done
[ ${#skipped[@]} = 0 ] || echo "SDK tests: ${#skipped[@]} languages skipped: ${skipped[*]}" >&2
