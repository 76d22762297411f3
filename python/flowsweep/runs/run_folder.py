"""Finds the captures and logs in a run's folder, and the host of each.

`ingest`, the workflow, and the reader of drop counters all use this module.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from flowsweep.files.capture_names import MANIFEST, host_of, stem
from flowsweep.parsing import CaptureError, check
from flowsweep.zeek import is_log


def captures_by_host(run_dir: Path) -> dict[str, list[Path]]:
    """Returns the captures of a run by host.

    The parts of a rotated capture belong to one host, and so do all captures in a subfolder, which
    is named after the host.
    """
    captures = [path for path in sorted(run_dir.iterdir()) if _is_named_capture(path)]
    # A ring of files may have removed the first part, and left its manifest.
    manifests = [path.name for path in run_dir.iterdir() if path.name.endswith(MANIFEST)]
    stems = {stem(path) for path in captures}
    stems |= {name.removesuffix(MANIFEST) for name in manifests}
    hosts: dict[str, list[Path]] = {}
    for path in captures:
        hosts.setdefault(host_of(stem(path), stems), []).append(path)
    for folder in _folders(run_dir):
        if found := [path for path in folder.iterdir() if _is_named_capture(path)]:
            hosts.setdefault(folder.name, []).extend(found)
    return {host: sorted(paths) for host, paths in sorted(hosts.items())}


def find_overlooked(run_dir: Path, known: Collection[Path]) -> list[Path]:
    """Returns captures and `conn.log` files whose names show no host, except hidden ones."""
    paths = [path for folder in (run_dir, *_folders(run_dir)) for path in folder.iterdir()]
    return sorted(
        path for path in paths if path not in known and (_is_nameless(path) or is_capture(path))
    )


def _is_nameless(path: Path) -> bool:
    """Returns whether the file is a `conn.log` without the name of a host."""
    return is_log(path) and path.name.startswith("conn.")


def _folders(run_dir: Path) -> list[Path]:
    return [path for path in run_dir.iterdir() if path.is_dir() and path.name[0] != "."]


def _is_named_capture(path: Path) -> bool:
    is_named = stem(path) not in ("", path.name) and not path.name.startswith(".")
    return is_named and path.is_file()


def is_capture(path: Path) -> bool:
    """Returns whether a plain file that is not hidden begins like a capture."""
    if path.name.startswith(".") or not path.is_file():
        return False
    try:
        check([path])
    except CaptureError:
        return False
    return True


def note_passed_over(path: Path) -> str:
    """Returns the note for a file of `find_overlooked`."""
    if _is_nameless(path):
        return (
            f"note: {path}: passed over, as it does not say of which host it is\n"
            "  expected  the name <host>.conn.log, or a folder <host>/ with all logs of Zeek"
        )
    return (
        f"note: {path}: passed over, though it begins like a capture\n"
        "  expected  the name <host>.pcap, .pcapng, .cap or .dmp, also with .zst, .gz or .lz4"
    )


def logs_by_host(run_dir: Path) -> dict[str, list[Path]]:
    """Returns the Zeek logs of a run by host."""
    if not any(is_log(path) or path.is_dir() for path in run_dir.iterdir()):
        return {}
    from flowsweep.zeek import hosts

    return hosts.logs_by_host(run_dir)


def recorded_files(run_dir: Path) -> dict[str, list[Path]]:
    """Returns the recordings of a run by host, sorted: captures, then Zeek logs."""
    found: dict[str, list[Path]] = {}
    groups: Iterable[dict[str, list[Path]]] = (captures_by_host(run_dir), logs_by_host(run_dir))
    for group in groups:
        for host, files in group.items():
            found.setdefault(host, []).extend(files)
    return dict(sorted(found.items()))
