#!/bin/sh
# Prepares a checkout: system packages, Rust toolchain, .venv with the locked packages.
# Quick when nothing is missing. Prints one line for whatever it installs.
#
#   .config/prepare.sh [build|test|bench|notebook|docs|slurm|live]   all but build also install what only they use
set -eu
cd "$(dirname "$0")/.."
purpose=${1:-build}
need_python="3.11"
need_rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

say() { printf 'prepare: %s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

# --- system packages -----------------------------------------------------------------
missing=""
want() { # want PACKAGE TEST...: PACKAGE is missing if TEST fails
    package=$1; shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}
has_header() { printf '#include <%s>\n' "$1" | cc -E - ; }
has_venv() { "$(python)" -c 'import ensurepip, venv'; }
new_enough() { "$1" -c "import sys; sys.exit(sys.version_info < tuple(map(int, '$need_python'.split('.'))))"; }
python() {
    for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
        if have "$candidate" && new_enough "$candidate" 2>/dev/null; then
            command -v "$candidate"; return
        fi
    done
    echo python3
}
want build-essential cc --version
want libpcap-dev has_header pcap/pcap.h
want iproute2 have ip
want util-linux have unshare
want mount have mount
if ! new_enough "$(python)" 2>/dev/null; then missing="$missing python3 python3-venv"
else want python3-venv has_venv; fi
if [ "$purpose" = test ]; then
    want iputils-ping have ping
    want ethtool have ethtool
    want openssh-server test -x /usr/sbin/sshd
fi
if [ -n "$missing" ]; then
    command="apt-get install --no-install-recommends$missing"
    if [ "$(id -u)" = 0 ] && have apt-get; then
        say "installing$missing"
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -qq >/dev/null
        # shellcheck disable=SC2086
        apt-get install -y -qq --no-install-recommends $missing >/dev/null
    else
        say "missing system packages:$missing"
        say "remedy: sudo $command"
        exit 2
    fi
fi
if ! new_enough "$(python)" 2>/dev/null; then
    say "Python $need_python or newer is needed; found $("$(python)" --version 2>&1)"
    say "remedy: install one and run again with PYTHON=/path/to/python3"
    exit 2
fi
# Only tests use the browser, and some distributions package it in a way that a container cannot install; tests that
# need it say so when they are skipped.
if [ "$purpose" = test ] && ! have chromium && [ "$(id -u)" = 0 ] && have apt-get; then
    say "installing chromium (for the tests of the report)"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium \
        >/dev/null 2>&1 || say "chromium cannot be installed: its tests will be skipped"
fi

# The same for Slurm. Only nodes need its services: none is started, now or at boot.
if [ "$purpose" = test ] && ! have slurmctld && [ "$(id -u)" = 0 ] && have apt-get; then
    say "installing slurm-wlm and munge (for the tests of the testbed slurm)"
    if .config/without_services.sh env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends slurm-wlm munge >/dev/null 2>&1
    then have systemctl && systemctl disable --quiet munge slurmctld slurmd >/dev/null 2>&1 || :
    else say "slurm-wlm cannot be installed: its tests will be skipped"; fi
fi

# A benchmark leaves out missing peers, and says so.
if [ "$purpose" = bench ] && [ "$(id -u)" = 0 ] && have apt-get; then
    for package in ethtool iperf3 tcpdump softflowd tcptrace tshark zstd; do
        have "$package" && continue
        say "installing $package (for the benchmark)"
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" \
            >/dev/null 2>&1 || say "$package cannot be installed: it will be left out"
    done
fi

# --- Rust toolchain ------------------------------------------------------------------
rust_is_new_enough() {
    have cargo && have rustc || return 1
    found=$(rustc --version 2>/dev/null | sed -n 's/^rustc \([0-9]*\.[0-9]*\).*/\1/p')
    [ -n "$found" ] && [ "$(printf '%s\n%s\n' "$need_rust" "$found" | sort -V | head -n 1)" = "$need_rust" ]
}
. .config/toolchain.sh
if ! rust_is_new_enough; then
    say "no Rust $need_rust or newer: rustup puts one into .rustup and .cargo-home of this folder"
    export RUSTUP_HOME="$PWD/.rustup" CARGO_HOME="$PWD/.cargo-home"
    if have rustup-init; then
        rustup-init -y -q --no-modify-path --profile minimal --component clippy --component rustfmt
    elif have curl; then .config/rustup.sh
    else say "remedy: install curl, or Rust $need_rust, and run again"; exit 2; fi
fi

# --- Python packages -----------------------------------------------------------------
locked() { # locked FILE STAMP: installs what FILE locks, unless STAMP says that it is there
    cmp -s "$1" "$2" && return
    if [ ! -x .venv/bin/python ]; then
        say "creating .venv with $("$(python)" --version)"
        "$(python)" -m venv .venv
    fi
    say "installing $(grep -c == "$1") locked Python packages"
    .venv/bin/python -m pip install -qq --disable-pip-version-check --require-hashes -r "$1"
    cp "$1" "$2"
}
locked requirements.lock .venv/.requirements
case $purpose in notebook | test) locked notebooks/requirements.lock .venv/.requirements-notebook ;; esac
case $purpose in docs | test) locked docs/requirements.lock .venv/.requirements-docs ;; esac
case $purpose in slurm | test) locked workflows/profiles/slurm/requirements.lock .venv/.requirements-slurm ;; esac
if [ "$purpose" = test ]; then locked tests/engines/requirements.lock .venv/.requirements-engines; fi

# --- DuckDB for a page, from npm -----------------------------------------------------
# `make build` does not need it: only reports with --live contain it.
live() {
    lock=.config/live/package-lock.json; target=.venv/share/flowsweep
    cmp -s "$lock" "$target/.live" && return
    if ! have npm; then
        say "no npm: DuckDB-WASM, for flowsweep report --live, cannot be installed"
        [ "$purpose" = test ] && say "its tests will be skipped" && return
        say "remedy: install npm and run again"; exit 2
    fi
    say "installing DuckDB-WASM (for flowsweep report --live)"
    mkdir -p "$target"
    cp .config/live/package.json "$lock" "$target/"
    if npm ci --prefix "$target" --ignore-scripts --no-audit --no-fund --silent; then cp "$lock" "$target/.live"
    elif [ "$purpose" = test ]; then say "npm could not install it: its tests will be skipped"
    else say "remedy: see what npm said above, and run again"; exit 2; fi
}
case $purpose in live | test) live ;; esac
