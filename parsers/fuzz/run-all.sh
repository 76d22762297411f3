#!/bin/sh
# Runs every fuzz target for SECONDS, two at a time, at the lowest priority; then prints one line for each:
#
#   parsers/fuzz/run-all.sh SECONDS [TARGET...]
#
# Needs cargo-fuzz in PATH. FUZZ_TOOLCHAIN names a toolchain (default: nightly if there is one, else the default one
# with RUSTC_BOOTSTRAP=1), FUZZ_SANITIZER a sanitizer (address, none), FUZZ_FOLDER the place for the build, the corpus
# and the findings. FUZZ_TIMEOUT is the wall-clock time in seconds after which an input is a hang: the default of 20 is
# too short on a busy machine. The small captures of tests/data, or of the set in FLOWSWEEP_PCAPS, are seeds of
# `capture` for this run.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:?usage: run-all.sh SECONDS [TARGET...]}
shift
targets=${*:-capture frames pcapng compressed tcp}
folder=${FUZZ_FOLDER:-$PWD/fuzz/target}
sanitizer=${FUZZ_SANITIZER:-address}
pcaps=${FLOWSWEEP_PCAPS:-../tests/data}
toolchain=${FUZZ_TOOLCHAIN:-}
if [ -z "$toolchain" ] && rustup run nightly rustc -V >/dev/null 2>&1; then toolchain=nightly; fi
case $toolchain in nightly*) ;; *) export RUSTC_BOOTSTRAP=1 ;; esac
toolchain=${toolchain:++$toolchain}

# shellcheck disable=SC2086
nice -n 19 cargo $toolchain fuzz build --sanitizer "$sanitizer" --target-dir "$folder" >&2
host=$(rustc -vV | sed -n 's/^host: //p')

prepare() { # TARGET: the folders it works in
    mkdir -p "$folder/corpus/$1" "$folder/found/$1"
    if [ "$1" = capture ] && [ -d "$pcaps" ]; then
        find "$pcaps" -type f -size -4k ! -name '*.csv' ! -name '*.md' ! -name '*.py' ! -name '*.txt' ! -name '*.log.gz' \
            -exec sh -c 'for file; do cp "$file" "$0/$(printf %s "$file" | cksum | cut -c1-9)"; done' \
            "$folder/corpus/capture" {} +
    fi
}

# The parser stays below 300 MB; the sanitizer needs several times the program's memory. libFuzzer ends at a finding,
# so it is started again until the time is over.
run() { # TARGET
    end=$(($(date +%s) + seconds))
    : >"$folder/found/$1.log"
    while left=$((end - $(date +%s))) && [ "$left" -gt 0 ]; do
        ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=8:malloc_context_size=2:max_malloc_fill_size=0 \
            nice -n 19 "$folder/$host/release/$1" -max_total_time="$left" -print_final_stats=1 \
            -timeout="${FUZZ_TIMEOUT:-20}" -rss_limit_mb=1024 -malloc_limit_mb=300 -max_len=8192 -reload=0 \
            -artifact_prefix="$folder/found/$1/" "$folder/corpus/$1" "fuzz/seeds/$1" \
            >>"$folder/found/$1.log" 2>&1 || sleep 1
    done
}

touch "$folder/started"
waiting=""
for target in $targets; do
    prepare "$target"
    run "$target" &
    waiting="$waiting $!"
    set -- $waiting
    if [ $# -eq 2 ]; then
        wait "$1"
        shift
        waiting="$*"
    fi
done
wait

printf '%-12s %12s %8s %8s %8s %8s %8s\n' target executions inputs crashes hangs ooms peak_MB
status=0
for target in $targets; do
    log=$folder/found/$target.log
    stat() { # NAME COMMAND: combines the numbers after stat::NAME, one from each start
        sed -n "s/^stat::$1: *\([0-9]*\)$/\1/p" "$log" | awk "{ $2 } END { print value + 0 }"
    }
    count() { find "$folder/found/$target" -name "$1-*" -newer "$folder/started" | wc -l; }
    inputs=$(find "$folder/corpus/$target" -type f | wc -l)
    printf '%-12s %12s %8s %8s %8s %8s %8s\n' "$target" \
        "$(stat number_of_executed_units 'value += $1')" "$inputs" \
        "$(count crash)" "$(count timeout)" "$(count oom)" \
        "$(stat peak_rss_mb 'if ($1 > value) value = $1')"
    grep -aq 'SUMMARY: ' "$log" && status=1
done
[ "$status" = 0 ] || echo "what failed: $folder/found/TARGET/; one of them again: cargo fuzz run TARGET FILE"
exit "$status"
