#!/bin/sh
# Puts rustup and a toolchain into RUSTUP_HOME and CARGO_HOME: one version of rustup-init and one release of Rust, both
# checked by SHA-256. rustup checks its downloads by the checksums in the release's list of files.
set -eu
version=1.29.0
rust=1.95.0
rust_sha256=82075ab2c8584e8adfd6802ae2997b29be8b369592ca568bf5eab54ecf5f313a
host=$(uname -m)-unknown-linux-gnu
case $host in
    x86_64-*) sha256=4acc9acc76d5079515b46346a485974457b5a79893cfb01112423c89aeb5aa10 ;;
    aarch64-*) sha256=9732d6c5e2a098d3521fca8145d826ae0aaa067ef2385ead08e6feac88fa5792 ;;
    *)
        echo "prepare: no checksum of rustup-init for $host is known" >&2
        echo "prepare: remedy: install Rust, and run again" >&2
        exit 2
        ;;
esac
server=https://static.rust-lang.org
installer=$CARGO_HOME/rustup-init
list=$CARGO_HOME/rust-$rust.toml
mkdir -p "$CARGO_HOME"
trap 'rm -f "$installer" "$list"' EXIT

fetch() { # FILE PLACE SHA256
    curl --proto '=https' --tlsv1.2 -sSf -o "$1" "$server/$2"
    echo "$3  $1" | sha256sum --check --status && return
    echo "prepare: $2 is not the file whose checksum is known: nothing is installed" >&2
    echo "prepare: found $(sha256sum "$1" | cut -d ' ' -f 1), expected $3" >&2
    echo "prepare: remedy: install Rust in another way, and run again" >&2
    exit 2
}
fetch "$list" "dist/channel-rust-$rust.toml" "$rust_sha256"
fetch "$installer" "rustup/archive/$version/$host/rustup-init" "$sha256"
chmod 755 "$installer"
"$installer" -y -q --no-modify-path --default-toolchain "$rust" --profile minimal --component clippy \
    --component rustfmt
