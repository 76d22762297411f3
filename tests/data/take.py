"""Takes the captures in MANIFEST.csv, and their oracle's rows, from a larger set.

`take.py LARGER_SET`. To add a capture, add a line with its file, its subject and its author, and
put its licence into `licences/`; this script fills the other columns.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
MANIFEST = HERE / "MANIFEST.csv"
LOGS = Path("oracle/zeek-8.0.10")
#: Tables of the oracle; the rows of our files are taken from each.
ORACLE = ("files.csv", "packets.csv.gz", "tcp_analysis.csv.gz", "tcptrace.csv.gz")


def rows(path: Path) -> list[dict[str, str]]:
    """Returns the rows of a CSV file, which may be compressed."""
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def write(path: Path, found: list[dict[str, str]]) -> None:
    """Writes rows as CSV; compressed files contain no time, so that the bytes are reproducible."""
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, fieldnames=list(found[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(found)
    content = text.getvalue().encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def main(larger: Path) -> None:
    """Fills this folder."""
    own = ("file", "exercises", "author")
    known = {row["file"]: row for row in rows(larger / "MANIFEST.csv")}
    manifest = []
    for row in rows(MANIFEST):
        file, origin = row["file"], known[row["file"]]
        if hashlib.sha256((larger / file).read_bytes()).hexdigest() != origin["sha256"]:
            sys.exit(f"{larger / file} is not what the manifest beside it says")
        taken = [file]
        taken += [str(path.relative_to(larger)) for path in (larger / LOGS / file).glob("*.log.gz")]
        for name in taken:
            (HERE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(larger / name, HERE / name)
        rest = {name: value for name, value in origin.items() if name not in {*own, "why"}}
        manifest.append({name: row[name] for name in own} | rest)
    files = {row["file"] for row in manifest}
    write(MANIFEST, manifest)
    for name in ORACLE:
        table = rows(larger / "oracle" / name)
        write(HERE / "oracle" / name, [row for row in table if row["file"] in files])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
