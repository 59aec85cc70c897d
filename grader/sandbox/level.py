"""Which layers this machine offers, found by trying, not by asking for versions."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache

from . import landlock, seccomp

NAMESPACES, LANDLOCK, LIMITS_ONLY = "namespaces", "landlock", "limits-only"
_UNSHARE = ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts")
_KEEP_IDS = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
NOBODY = 65534
_PROBE = ("--ro-bind", "/", "/", "--", "/bin/true")


@dataclass(frozen=True)
class Layers:
    """What holds a program here. `bwrap` is its command with the namespaces, or empty."""

    bwrap: tuple[str, ...]
    abi: int  # Landlock's, 0 = none
    seccomp: bool
    uid: int | None  # the unprivileged user to become, if we can

    @property
    def level(self) -> str:
        """The strongest wall: namespaces, landlock (with seccomp), or limits-only."""
        if self.bwrap:
            return NAMESPACES
        return LANDLOCK if self.abi and self.seccomp else LIMITS_ONLY


def _works(command: tuple[str, ...]) -> bool:
    try:
        done = subprocess.run([*command, *_PROBE], capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _bubblewrap() -> tuple[str, ...]:
    """A bubblewrap that runs here. As root it keeps the right to become somebody else."""
    program = shutil.which("bwrap")
    if program is None:
        return ()
    base = (program, "--die-with-parent", *_UNSHARE)
    own = ("--unshare-user", "--disable-userns")
    tries = [base + own, (*base, "--unshare-user")]
    if os.geteuid() == 0:
        tries.insert(0, base + _KEEP_IDS)
    return next((command for command in tries if _works(command)), ())


def _can_become(uid: int) -> bool:
    """Whether root here may become `uid`: in a container it may not exist."""
    if os.geteuid() != 0:
        return False
    try:
        with open("/proc/self/uid_map") as table:
            spans = [line.split() for line in table]
    except OSError:
        return True  # no such thing as a map here
    return any(int(first) <= uid < int(first) + int(count) for first, _, count in spans)


@cache
def layers() -> Layers:
    """The layers of this machine."""
    bwrap = _bubblewrap()
    can_drop = _can_become(NOBODY) and "--unshare-user" not in bwrap
    known = seccomp.supported()
    return Layers(bwrap, landlock.abi(), known, NOBODY if can_drop else None)
