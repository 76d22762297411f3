#!/bin/sh
# Builds the Rust programs and the Python package into .venv; nothing if nothing changed.
set -eu
cd "$(dirname "$0")/.."
stamp=.venv/.built
if [ -e "$stamp" ] && [ -z "$(find Cargo.toml Cargo.lock pyproject.toml capture parsers \
    -newer "$stamp" -not -name '__pycache__' -not -name '*.pyc' -print -quit)" ]; then
    exit 0
fi
. .config/toolchain.sh
start=$(mktemp)
trap 'rm -f "$start"' EXIT
echo "build: programs (a first build takes a few minutes)" >&2
cargo build --release --locked --quiet \
    -p flowsweep-capture -p flowsweep-wan -p flowsweep-kernels
target=${CARGO_TARGET_DIR:-target}/release
install -m 755 "$target/flowsweep-capture" "$target/flowsweep-wan" .venv/bin/
mkdir -p .venv/lib/flowsweep
install -m 755 "$target/libflowsweep_kernels.so" .venv/lib/flowsweep/
echo "build: Python package" >&2
PATH="$PWD/.venv/bin:$PATH" .venv/bin/python -m pip install -qq --disable-pip-version-check \
    --no-deps --no-build-isolation --editable .
mv "$start" "$stamp"
