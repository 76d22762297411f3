"""Counts the packets of a capture whose checksum tshark finds wrong.

`tshark.py` writes the counts for the captures of `tests/data` into `oracle/checksums.csv` there.
"""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

CHECKS = ("ip", "tcp", "udp")
#: Errors quote part of the packet that caused them, and tshark verifies the quote, too.
NO_QUOTE = "not icmp.type in {3, 4, 5, 11, 12} and not icmpv6.type in {1, 2, 3, 4}"


def wrong_checksums(path: Path) -> int | None:
    """Returns how many packets tshark finds wrong; None if it stops before the end."""
    asked = [word for name in CHECKS for word in ("-o", f"{name}.check_checksum:TRUE")]
    wrong = " or ".join(f"{name}.checksum.status == 0" for name in (*CHECKS, "icmp", "icmpv6"))
    done = subprocess.run(
        ["tshark", "-n", "-r", path, *asked, "-Y", f"({wrong}) and {NO_QUOTE}"],
        capture_output=True,
        check=False,
    )
    return len(done.stdout.splitlines()) if done.returncode == 0 else None


def main() -> None:
    data = Path(__file__).parents[1] / "data"
    with (data / "MANIFEST.csv").open(newline="", encoding="utf-8") as file:
        names = [row["file"] for row in csv.DictReader(file)]
    with (data / "oracle" / "checksums.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["file", "wrong"])
        table.writerows([name, wrong_checksums(data / name)] for name in names)


if __name__ == "__main__":
    main()
