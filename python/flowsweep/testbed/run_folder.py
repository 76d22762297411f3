"""Checks the folder of one run, puts the run there and removes it.

A run is written in a hidden folder next to its own, which replaces it by renaming, whole or not at
all (see `files.staging`). It replaces an older run of flowsweep; other files in the folder stay.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from flowsweep.errors import FlowsweepError
from flowsweep.files import inputs, outputs, staging
from flowsweep.files.locks import free_lock
from flowsweep.files.staging import CLEARED, LOCK, NEW, OLD, READY
from flowsweep.signals import hold

RECORD = "run.json"
#: Name of the record in messages, and an example of one.
KIND, EXAMPLE = "the record of a run", '{"status": "valid"}'
#: Files of a run besides its record; in a folder that is not a run, such files are not touched.
OURS = ("*.pcap*", "*.capture.json", "app.json", "wan.fates", "program.log", "serve-*.log")
#: Suffix of the hidden folder; sets of tables have another one.
HIDDEN = ".flowsweep-run"
END_LIMIT_S = 10.0


def read_record(directory: Path) -> dict[str, Any] | None:
    """Returns the run.json of a complete run, or None."""
    path = directory / RECORD
    if not _is_file(path):
        return None
    try:
        return inputs.read_object(path, KIND, EXAMPLE)[0]
    except FlowsweepError:
        return None


class RunFolder:
    """The folder of one run, and the hidden one next to it."""

    def __init__(self, directory: Path) -> None:
        # Renaming needs a name, also for `.`.
        directory = directory if directory.name not in ("", "..") else directory.resolve()
        self.directory = directory
        self.hidden = directory.parent / f".{directory.name}{HIDDEN}"
        self._lock: int | None = None

    def check(self) -> None:
        """Raises unless a run may be written here without harm to files that are not flowsweep's.

        Raises:
            FlowsweepError: It may not; the message has what is there, and the remedy. Nothing was
                changed.
        """
        _check_way(self.directory.parent)
        _check_hidden(self.hidden)
        if not os.path.lexists(self.directory):
            return
        about = self.directory.lstat()
        if not stat.S_ISDIR(about.st_mode):
            raise _foreign_error(
                self.directory, "a symbolic link" if stat.S_ISLNK(about.st_mode) else "no folder"
            )
        if os.geteuid() == 0 and about.st_uid not in _own_users():
            # Root could replace the runs of other users, but must not.
            raise _foreign_error(self.directory, f"a folder of user number {about.st_uid}")
        if os.path.ismount(self.directory) or os.path.samestat(about, Path.cwd().stat()):
            found = "the current folder, or one in which something is mounted"
            raise _foreign_error(self.directory, found)
        recorded = sorted(
            {path.name for pattern in (RECORD, *OURS) for path in self.directory.glob(pattern)}
        )
        if recorded and not is_run(self.directory):
            more = f" and {len(recorded) - 3} more" if recorded[3:] else ""
            raise _foreign_error(
                self.directory, f"{', '.join(recorded[:3])}{more}, and no {RECORD} of flowsweep run"
            )

    def stage(self) -> Path:
        """Makes a new empty folder to write the run in, which only this user may enter."""
        self._open()
        staged = self.hidden / NEW / self.directory.name
        staged.mkdir(mode=0o700, parents=True)
        return staged

    def _open(self) -> None:
        """Locks the hidden folder for this process, and empties it."""
        self.check()
        self.tidy()
        self.directory.parent.mkdir(parents=True, exist_ok=True)
        if self._lock is None:
            with hold():
                self.hidden.mkdir(mode=0o700, exist_ok=True)
                self._lock = free_lock(self.hidden / LOCK)
        if self._lock is None:
            raise FlowsweepError(
                f"{self.hidden}: in use",
                found="another flowsweep run that writes there",
                expected="one at a time for a run directory",
                remedy="wait for it to end, or give another --output",
            )
        self._finish()
        _empty(self.hidden)

    def publish(self, record: dict[str, Any]) -> None:
        """Replaces the run's folder by the hidden one; at any time it has a whole run or none."""
        staged = self.hidden / NEW / self.directory.name
        text = inputs.object_text(record, self.directory / RECORD, KIND, EXAMPLE)
        outputs.write_file(staged / RECORD, text)
        _give(staged)
        # Others may have changed the folder meanwhile.
        self.check()
        staging.commit(self.directory.parent, self.hidden)
        self._finish()
        self.leave()

    def remove(self) -> None:
        """Removes the run from its folder, which stays if it contains anything else.

        Raises:
            FlowsweepError: The folder is not a run of flowsweep.
        """
        self.check()
        if not is_run(self.directory):
            raise _foreign_error(self.directory, f"no {RECORD} of flowsweep run")
        self._open()
        (self.hidden / OLD).mkdir()
        self.directory.rename(self.hidden / OLD / self.directory.name)
        self._finish()
        self.leave()

    def _finish(self) -> None:
        """Moves a complete run into place, and other files of an older run's folder into it."""
        if self._is_ready():
            staging.move(self.directory.parent, self.hidden)
        old = self.hidden / OLD
        for before in sorted(old.iterdir()) if old.is_dir() else ():
            outputs.remove_parts(before)
            ours = _names(before)
            for path in sorted(before.iterdir()):
                if path.name not in ours:
                    self.directory.mkdir(exist_ok=True)
                    path.rename(_find_free(self.directory / path.name))
            # A run that is half removed must not be mistaken for a user's folder.
            before.rename(self.hidden / before.name)

    def _is_ready(self) -> bool:
        return any((self.hidden / name).is_dir() for name in (READY, CLEARED))

    def leave(self) -> None:
        """Removes the hidden folder, whatever happened, as far as possible."""
        if self._lock is None:
            return
        with suppress(OSError, FlowsweepError):
            if self.hidden.is_dir():
                self._finish()
                _empty(self.hidden)
                (self.hidden / LOCK).unlink(missing_ok=True)
                self.hidden.rmdir()
        os.close(self._lock)
        self._lock = None

    def tidy(self) -> None:
        """Finishes the abandoned work of a killed command; ignores errors."""
        with suppress(OSError, FlowsweepError):
            _check_hidden(self.hidden)
            with staging.abandoned(self.hidden) as is_abandoned:
                if is_abandoned:
                    self.check()
                    self._finish()
                    staging.remove(self.hidden)


def tidy_all(runs: Path) -> None:
    """Finishes the abandoned work of killed commands on runs of this folder."""
    for hidden in sorted(runs.glob(f".*{HIDDEN}")):
        RunFolder(runs / hidden.name[1:].removesuffix(HIDDEN)).tidy()


def is_run(directory: Path) -> bool:
    """Returns whether flowsweep made the run in this folder."""
    record = read_record(directory)
    return record is not None and isinstance(record.get("spec_hash"), str)


def _names(directory: Path) -> list[str]:
    """Returns the files that a run of flowsweep has according to its record, which comes last."""
    record = read_record(directory) or {}
    hosts = record.get("hosts")
    names = ["app.json", "wan.fates", "program.log"]
    for host in hosts if isinstance(hosts, list) else []:
        name = host.get("name") if isinstance(host, dict) else None
        names += [f"{name}.pcap.zst", f"{name}.capture.json", f"serve-{name}.log"]
    plain = [name for name in names if Path(name).name == name and name.isprintable()]
    return [*plain, RECORD] if is_run(directory) else []


def _is_file(path: Path) -> bool:
    with suppress(OSError):
        return stat.S_ISREG(path.lstat().st_mode)
    return False


def _own_users() -> set[int]:
    """Returns this user, and the user who became root by sudo."""
    found = {os.geteuid()}
    sudo = os.environ.get("SUDO_UID", "")
    if os.geteuid() == 0 and sudo.isdecimal():
        found.add(int(sudo))
    return found


def _check_hidden(folder: Path) -> None:
    """Raises if the hidden name exists and no flowsweep command left it there."""
    if not os.path.lexists(folder):
        return
    about = folder.lstat()
    ours = (
        stat.S_ISDIR(about.st_mode)
        and about.st_uid in _own_users()
        # Without a lock: its command was killed right after it made the folder, or at its end.
        and (_is_file(folder / LOCK) or not any(folder.iterdir()))
    )
    if not ours:
        raise _foreign_error(folder, f"something of user number {about.st_uid} without a lock")


def _empty(hidden: Path) -> None:
    """Removes all but the lock. Processes of a killed run may still write there for a moment."""
    end = time.monotonic() + END_LIMIT_S
    while True:
        try:
            staging.empty(hidden)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return


def _give(folder: Path) -> None:
    """Gives the folder the mode of any new folder, and under sudo the user as its owner."""
    mask = os.umask(0o077)
    os.umask(mask)
    folder.chmod(0o777 & ~mask)
    user, group = (os.environ.get(name, "") for name in ("SUDO_UID", "SUDO_GID"))
    if os.geteuid() != 0 or not user.isdecimal() or not group.isdecimal():
        return
    for inner, _, names in os.walk(folder):
        for path in [Path(inner), *(Path(inner, name) for name in names)]:
            with suppress(OSError):  # a file system without owners
                os.chown(path, int(user), int(group), follow_symlinks=False)


def _find_free(path: Path) -> Path:
    """Returns this name, or a similar one that is free."""
    number = 0
    free = path
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.name}.{number}")
    return free


def _check_way(folder: Path) -> None:
    """Raises if another user's symbolic link could redirect us (compare fs.protected_symlinks)."""
    above = folder.absolute()
    for path in [*reversed(above.parents), above]:
        with suppress(FileNotFoundError):
            about = path.lstat()
            around = path.parent.stat()
            if (
                stat.S_ISLNK(about.st_mode)
                and around.st_mode & stat.S_IWOTH
                and about.st_uid not in (os.geteuid(), around.st_uid)
            ):
                raise _foreign_error(path, f"a symbolic link of user number {about.st_uid}")


def _foreign_error(path: Path, found: str) -> FlowsweepError:
    return FlowsweepError(
        f"{path}: flowsweep run did not make this",
        found=found,
        expected="no such name, an empty folder, or a run that flowsweep made as this user",
        remedy=f"give another --output, or look at it and then: rm -r {path}",
    )
