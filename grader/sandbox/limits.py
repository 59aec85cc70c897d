"""How much a submission's program may use, and how many tasks its user already has."""

import os
import sys
from dataclasses import asdict, dataclass

_GIB, _MIB = 1 << 30, 1 << 20


@dataclass(frozen=True)
class Limits:
    """Bounds of one run. Exceeding any ends it, with everything that it started."""

    wall_s: float = 720.0  # three times the 240 s that a fair run has on an idle machine
    cpu_s: float = 480.0  # over all its processes, the dead included: this one decides
    memory: int = 6 * _GIB  # resident, over all its processes
    address: int = 4 * _GIB  # of one process
    tasks: int = 96  # threads over all its processes
    spare: int = 64  # tasks that its user may have beyond those that are there already
    disk: float = 256 * _MIB  # bytes of the scratch folder
    files: int = 4000  # in the scratch folder
    file: int = 64 * _MIB  # one file
    output: int = 64 << 10  # bytes kept of each of stdout and stderr

    def watched(self) -> dict[str, float]:
        """What the reaper looks at."""
        names = ("wall_s", "cpu_s", "memory", "tasks", "disk", "files")
        return {name: asdict(self)[name] for name in names}

    def kernel(self, uid: int, accelerated: bool = False) -> dict[str, int]:
        """Resource limits that the kernel keeps for each process of user `uid`.

        An `accelerated` torch maps more than it uses: there resident memory alone is the bound.
        """
        limits = {
            "CORE": 0,
            "CPU": int(self.cpu_s) + 5,
            "FSIZE": self.file,
            "NOFILE": 512,
        }
        if not accelerated:
            limits["AS"] = self.address
        if sys.platform.startswith("linux"):  # counts all tasks of the user, so leave those be
            limits["NPROC"] = _tasks_of(uid) + self.spare
        return limits


def _tasks_of(uid: int) -> int:
    count = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{name}").st_uid == uid:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue
    return count
