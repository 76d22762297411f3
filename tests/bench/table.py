"""A readable table of one capture, at most 80 columns wide."""

from __future__ import annotations

import textwrap

WIDTH = 80
#: Programs whose speed is compared in a sentence.
PEERS = (
    "cat >/dev/null",
    "softflowd",
    "softflowd -m 1000000",
    "tcptrace -l -r -n",
    "mergecap -w /dev/null",
    "zstd -dc >/dev/null",
)
HEAD = f"{'':34} {'M pkt/s':>8} {'GB/s':>6} {'CPU s':>7} {'wall s':>7} {'x CPU':>7} {'MB':>5}"


def show(found: dict) -> None:
    """Prints the rows, then the conclusions."""
    packets, size = found["packets"], found["bytes"]
    print(f"\n{found['title']}: {packets / 1e6:g} M packets, {size / 1e6:,.0f} MB")
    print(f"({found['source']}; {found['rows'][0]['rounds']} rounds, medians)")
    print(HEAD)
    base = next(row for row in found["rows"] if row["program"] == "flowsweep parse, 1 thread")
    per_packet = base["cpu_s"] / base["packets"]
    for row in found["rows"]:
        print(line(row, per_packet))
    for name in found["not_installed"]:
        print(f"{name:34} not installed")
    for name, reason in found["failed"].items():
        print(f"{name:34} failed: {reason}"[:WIDTH])
    for text in conclusions(found):
        print(textwrap.fill(text, WIDTH, initial_indent="* ", subsequent_indent="  "))


def legend(captures: list[dict]) -> None:
    """Prints once what every program does."""
    seen: dict[str, str] = {}
    for row in (row for found in captures for row in found.get("rows", [])):
        name = row["program"].split(",")[0]
        seen.setdefault(f"{name} {row['version']}", row["about"])
    print("\nWhat each does; whole processes, page cache warm, CPU is user plus system:")
    for name, about in seen.items():
        text = f"{name}: {about}"
        print(textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="    "))


def line(row: dict, per_packet: float) -> str:
    """Formats one program; `x CPU` is its time per packet relative to ours with one thread."""
    cpu = max(row["cpu_s"], 1e-3)
    numbers = f"{row['cpu_s']:7.2f} {row['wall_s']:7.2f}"
    if row["packets"] == 1:
        return f"{row['program']:34} {'':8} {'':6} {numbers} {'':7} {row['peak_mb']:5.0f}"
    rates = f"{row['packets'] / cpu / 1e6:8.2f} {row['bytes'] / cpu / 1e9:6.2f}"
    times = cpu / row["packets"] / per_packet
    return f"{row['program']:34} {rates} {numbers} {times:7.2f} {row['peak_mb']:5.0f}"


def conclusions(found: dict) -> list[str]:
    """Returns the conclusions on speed as sentences."""
    packets, size = found["packets"], found["bytes"]
    begin, alone = found["start_up_cpu_s"], max(found["pass_cpu_s"], 1e-3)
    by_name = {row["program"]: row for row in found["rows"]}
    texts = []
    texts.append(
        f"The pass alone, start-up of {begin:.2f} s taken off:"
        f" {packets / alone / 1e6:.2f} M packets/s of user and system time,"
        f" {size / alone / 1e9:.2f} GB/s."
    )
    for name in PEERS:
        if row := by_name.get(name):
            ratio = row["cpu_s"] / row["packets"] / (alone / packets)
            texts.append(f"The pass alone runs at {ratio:.2f} times the speed of {name}.")
    texts.append(
        f"2 threads: {found['wall_ratio_2_threads']:.2f} times 1 thread by the clock; "
        f"{found['pass_wall_ratio_2_threads']:.2f} times without start-up."
    )
    if more := found.get("pass_with_packets_cpu_s"):
        texts.append(
            f"With --packets, start-up taken off: {packets / more / 1e6:.2f} M rows/s per core."
        )
    if each := found.get("bytes_per_connection"):
        texts.append(f"Memory of one open connection, output included: {each:.0f} bytes.")
    same = "the same bytes" if found["identical_at_threads"] else "DIFFERENT BYTES"
    counts = "right" if found["counts_right"] else "WRONG"
    texts.append(f"1, 2 and 4 threads write {same}; packets and connections: {counts}.")
    return texts
