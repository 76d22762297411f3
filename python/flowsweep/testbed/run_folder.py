"""The folder of one run: whose it is, how a run gets into it, and how one is taken out.

A run is written in a hidden folder beside its own and becomes it by renaming, whole or not at all.
An older run of flowsweep makes room; what else lies in its folder is kept. A hidden folder holds a
mark with which the next command finishes or undoes what a killed one began.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from flowsweep.errors import FlowsweepError
from flowsweep.files import inputs, outputs

RECORD = "run.json"
#: What the record is called in messages, and what one looks like.
KIND, EXAMPLE = "the record of a run", '{"status": "valid"}'
#: In a hidden folder: what it is for, and of an older run the names that are to go.
MARK = ".flowsweep-run"
BEING_MADE, MAKES_ROOM, REMOVED = "being made", "makes room", "removed"
#: The names of hidden folders.
_HIDDEN = re.compile(r"\.(.+)\.(?:partial|replaced)")
#: What a run leaves, beside its record; of another folder nothing by these names is touched.
OURS = ("*.pcap*", "*.capture.json", "app.json", "wan.fates", "program.log", "serve-*.log")
END_LIMIT_S = 10.0


def read_record(directory: Path) -> dict[str, Any] | None:
    """The run.json of a complete run, or None."""
    path = directory / RECORD
    if not _is_file(path):
        return None
    try:
        return inputs.read_object(path, KIND, EXAMPLE)[0]
    except FlowsweepError:
        return None


class RunFolder:
    """The folder of one run, and the hidden ones beside it."""

    def __init__(self, directory: Path) -> None:
        # A name to be renamed to, also for `.`.
        directory = directory if directory.name not in ("", "..") else directory.resolve()
        self.directory = directory
        self.staged = directory.parent / f".{directory.name}.partial"
        self._old = directory.parent / f".{directory.name}.replaced"
        self._lock: int | None = None

    def check(self) -> None:
        """Raises unless a run may be written here without harm to what is not flowsweep's.

        Raises:
            FlowsweepError: With what is there and the remedy. Nothing was changed.
        """
        _check_way(self.directory.parent)
        _check_hidden(self.staged)
        _check_hidden(self._old)
        if not os.path.lexists(self.directory):
            return
        about = self.directory.lstat()
        if not stat.S_ISDIR(about.st_mode):
            raise _foreign(
                self.directory, "a symbolic link" if stat.S_ISLNK(about.st_mode) else "no folder"
            )
        if os.geteuid() == 0 and about.st_uid not in _own_users():
            # Root may do everything, and shall not do it to the runs of others.
            raise _foreign(self.directory, f"a folder of user number {about.st_uid}")
        if os.path.ismount(self.directory) or os.path.samestat(about, Path.cwd().stat()):
            found = "the current folder, or one in which something is mounted"
            raise _foreign(self.directory, found)
        held = sorted(
            {path.name for pattern in (RECORD, *OURS) for path in self.directory.glob(pattern)}
        )
        if held and not is_run(self.directory):
            more = f" and {len(held) - 3} more" if held[3:] else ""
            raise _foreign(
                self.directory, f"{', '.join(held[:3])}{more}, and no {RECORD} of flowsweep run"
            )

    def stage(self) -> Path:
        """A new empty hidden folder, in which the run is to be written; only for this user."""
        self.check()
        self._finish_old()
        self.discard()
        self.directory.parent.mkdir(parents=True, exist_ok=True)
        self.staged.mkdir(mode=0o700)
        self._lock = outputs.open_new(self.staged / MARK)
        os.write(self._lock, f"{BEING_MADE}\n".encode())
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        return self.staged

    def discard(self) -> None:
        """Removes the hidden folder of a run that is not made, also that of a killed command."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
        if not os.path.lexists(self.staged):
            return
        _check_hidden(self.staged)
        _check_unused(self.staged)
        # What a killed run left there may still be written to for a moment.
        end = time.monotonic() + END_LIMIT_S
        while True:
            try:
                _remove(self.staged)
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
            else:
                return

    def publish(self, record: dict[str, Any]) -> None:
        """The hidden folder becomes that of the run; at any moment there is a whole run or none."""
        text = inputs.object_text(record, self.directory / RECORD, KIND, EXAMPLE)
        outputs.write_file(self.staged / RECORD, text)
        _sync(self.staged)
        _give(self.staged)
        # Others may have put something there meanwhile.
        self.check()
        if _is_filled(self.directory):
            self._set_aside(MAKES_ROOM)
        (self.staged / MARK).unlink()
        self.staged.rename(self.directory)
        outputs.sync_folder(self.directory.parent)
        self._finish_old()

    def remove(self) -> None:
        """Takes the run out of its folder, which stays if it holds anything else.

        Raises:
            FlowsweepError: It is no run of flowsweep.
        """
        self.check()
        self._finish_old()
        if not is_run(self.directory):
            raise _foreign(self.directory, f"no {RECORD} of flowsweep run")
        self._set_aside(REMOVED)
        self._finish_old()

    def leave(self) -> None:
        """Whatever happened: no hidden folder of this run stays, as far as it can be helped."""
        with suppress(OSError, FlowsweepError):
            self.discard()
        self.tidy()

    def tidy(self) -> None:
        """Finishes what a killed command began, beside a run that is there; says nothing."""
        with suppress(OSError, FlowsweepError):
            _check_hidden(self._old)
            self._finish_old()

    def _set_aside(self, purpose: str) -> None:
        """The folder under its hidden name, with the names in it that are of its run."""
        names = [name for name in _names(self.directory) if _is_file(self.directory / name)]
        outputs.remove_parts(self.directory)
        outputs.write_file(self.directory / MARK, "\n".join([purpose, *names]) + "\n")
        self.directory.rename(self._old)
        outputs.sync_folder(self._old.parent)

    def _finish_old(self) -> None:
        """Ends what `_set_aside` began. Two may do so at once."""
        if not os.path.lexists(self._old):
            return
        purpose, names = _read_mark(self._old)
        if purpose == MAKES_ROOM and not _is_filled(self.directory):
            # The new run did not come: the old one is still whole.
            self._old.rename(self.directory)
            (self.directory / MARK).unlink(missing_ok=True)
            return
        for name in names:
            (self._old / name).unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            for path in sorted(self._old.iterdir()):
                if path.name != MARK:
                    self.directory.mkdir(exist_ok=True)
                    path.rename(_free(self.directory / path.name))
            (self._old / MARK).unlink(missing_ok=True)
            self._old.rmdir()


def tidy_all(runs: Path) -> None:
    """Finishes what killed commands began with runs of this folder, and nobody goes on with."""
    names = {match[1] for path in runs.glob(".*") if (match := _HIDDEN.fullmatch(path.name))}
    for name in sorted(names):
        folder = RunFolder(runs / name)
        with suppress(OSError, FlowsweepError):
            folder.discard()
            folder.tidy()


def is_run(directory: Path) -> bool:
    """Whether flowsweep made the run in this folder."""
    record = read_record(directory)
    return record is not None and isinstance(record.get("spec_hash"), str)


def _names(directory: Path) -> list[str]:
    """The files that a run of flowsweep has by its record, which comes last."""
    record = read_record(directory) or {}
    hosts = record.get("hosts")
    names = ["app.json", "wan.fates", "program.log"]
    for host in hosts if isinstance(hosts, list) else []:
        name = host.get("name") if isinstance(host, dict) else None
        names += [f"{name}.pcap.zst", f"{name}.capture.json", f"serve-{name}.log"]
    plain = [name for name in names if Path(name).name == name and name.isprintable()]
    return [*plain, RECORD] if is_run(directory) else []


def _is_filled(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _is_file(path: Path) -> bool:
    with suppress(OSError):
        return stat.S_ISREG(path.lstat().st_mode)
    return False


def _own_users() -> set[int]:
    """Us, and who became root by sudo."""
    found = {os.geteuid()}
    sudo = os.environ.get("SUDO_UID", "")
    if os.geteuid() == 0 and sudo.isdecimal():
        found.add(int(sudo))
    return found


def _check_hidden(folder: Path) -> None:
    """Raises if there is something by the hidden name that a command of ours did not leave."""
    if not os.path.lexists(folder):
        return
    about = folder.lstat()
    ours = (
        stat.S_ISDIR(about.st_mode)
        and about.st_uid in _own_users()
        # Without a mark: killed when it was just made, or just before its last step.
        and (_is_file(folder / MARK) or not any(folder.iterdir()) or is_run(folder))
    )
    if not ours:
        raise _foreign(folder, f"something of user number {about.st_uid} without {MARK}")


def _read_mark(folder: Path) -> tuple[str, list[str]]:
    """Its purpose, and names of files without folders."""
    try:
        lines = (folder / MARK).read_text(errors="replace").splitlines()
    except OSError:
        return "", []
    names = [name for name in lines[1:] if name == Path(name).name]
    return (lines[0] if lines else ""), [name for name in names if _is_file(folder / name)]


def _check_unused(staged: Path) -> None:
    """Raises while another command writes there."""
    with suppress(FileNotFoundError):
        descriptor = os.open(staged / MARK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FlowsweepError(
                f"{staged}: in use",
                found="another flowsweep run that writes there",
                expected="one at a time for a run directory",
                remedy="wait for it to end, or give another --output",
            ) from None
        finally:
            os.close(descriptor)


def _remove(folder: Path) -> None:
    """What says that it is ours goes last."""
    last = [folder / RECORD, folder / MARK]
    for path in [one for one in folder.iterdir() if one not in last]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for path in last:
        path.unlink(missing_ok=True)
    folder.rmdir()


def _sync(folder: Path) -> None:
    """Everything in the folder is safe on the disk, its names too."""
    for inner, _, names in os.walk(folder):
        for name in names:
            path = Path(inner, name)
            if _is_file(path):
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
        outputs.sync_folder(Path(inner))


def _give(folder: Path) -> None:
    """Everybody may look into the folder as into any new one; under sudo it is the user's."""
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


def _free(path: Path) -> Path:
    """This name, or one like it that is not taken."""
    number = 0
    free = path
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.name}.{number}")
    return free


def _check_way(folder: Path) -> None:
    """Raises if somebody else could lead us elsewhere by a link (as fs.protected_symlinks does)."""
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
                raise _foreign(path, f"a symbolic link of user number {about.st_uid}")


def _foreign(path: Path, found: str) -> FlowsweepError:
    return FlowsweepError(
        f"{path}: flowsweep run did not make this",
        found=found,
        expected="no such name, an empty folder, or a run that flowsweep made as this user",
        remedy=f"give another --output, or look at it and then: rm -r {path}",
    )
