# Sourced: uses the Rust toolchain that prepare.sh put into this checkout, if there is one.
if [ -x .cargo-home/bin/cargo ]; then
    export RUSTUP_HOME="$PWD/.rustup" CARGO_HOME="$PWD/.cargo-home" PATH="$PWD/.cargo-home/bin:$PATH"
fi
