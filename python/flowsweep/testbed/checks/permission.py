"""Checks whether this process may create namespaces, and what to change if it may not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from flowsweep.errors import FlowsweepError
from flowsweep.testbed.checks.finding import Finding
from flowsweep.testbed.namespaces import isolation

SYSCTL = Path("/proc/sys")
SWITCHES = {
    # sysctl -> the value that allows users to create namespaces (Debian; Ubuntu)
    "kernel/unprivileged_userns_clone": "1",
    "kernel/apparmor_restrict_unprivileged_userns": "0",
}
# Kinds in user.max_<kind>_namespaces, a user's limit on each kind: see namespaces(7).
KINDS = ("user", "net", "mnt", "pid", "uts", "ipc")
ENOUGH = 10_000


def namespaces() -> Finding:
    """Tries whether this process can create network namespaces, as root or as a user."""
    name = "user namespaces" if not isolation.is_privileged() else "namespaces"
    try:
        command = [*isolation.unshare_command(), "ip", "link", "add", "x", "type", "veth"]
    except FlowsweepError as error:
        return Finding("bad", name, error.found or error.what, error.remedy)
    # `_fault` recognises the untranslated messages.
    plain = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=plain)
    if done.returncode == 0:
        how = "as root" if isolation.is_privileged() else "unshare works without root"
        return Finding("ok", name, how)
    printed = done.stderr.strip().splitlines()
    return Finding("bad", name, *_fault(printed[-1] if printed else "unshare failed"))


def _fault(printed: str) -> tuple[str, str]:
    """Returns the meaning of the last line of `unshare` or `ip`, and the remedy."""
    if "No space left on device" in printed:
        return _used_up()
    if not isolation.is_privileged():
        for switch, wanted in SWITCHES.items():
            if _value(switch) not in (None, wanted):
                return printed, f"as root: sysctl -w {switch.replace('/', '.')}={wanted}"
        if os.geteuid() == 0:
            return (
                f"{printed} (root without its capabilities, as in most containers)",
                "start the container with --privileged, or give it CAP_SYS_ADMIN and CAP_NET_ADMIN",
            )
    return printed, "run as root; in a container, start it with --privileged"


def _used_up() -> tuple[str, str]:
    """Explains "No space left on device", by which the kernel means its limit of namespaces."""
    none = [kind for kind in KINDS if _value(f"user/max_{kind}_namespaces") == "0"]
    if not none:
        names = "user.max_user_namespaces and user.max_net_namespaces"
        return (
            "no further namespace is allowed",
            f"raise {names} as root, also outside of the container if this is one",
        )
    names = " and ".join(f"user.max_{kind}_namespaces" for kind in none)
    raised = " ".join(f"user.max_{kind}_namespaces={ENOUGH}" for kind in none)
    verb = "is" if len(none) == 1 else "are"
    return f"not one is allowed: {names} {verb} 0", f"as root: sysctl -w {raised}"


def _value(name: str) -> str | None:
    try:
        return (SYSCTL / name).read_text().strip()
    except OSError:
        return None
