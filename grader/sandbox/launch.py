"""Runs one program of a stranger inside the layers of this machine, and reports how it ended."""

import base64
import contextlib
import json
import os
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import landlock, seccomp
from .allow import View, interpreter
from .level import Layers
from .limits import Limits

_HERE = Path(__file__).parent
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_INSIDE_VIEW, _INSIDE_SCRATCH, _INSIDE_OUT = "/python", "/scratch", "/out/report.json"
_TASK = "/task"
_SUBMISSION = "/workspace/submission"
_EMPTY_PATH = "/nonexistent"  # no program but the interpreter is there to be found


@dataclass(frozen=True)
class Job:
    """One program: what it is given to read, and where its report and output go.

    `argv` follows the interpreter; "{task}", "{rm}", "{out}" and the like in it are replaced by
    where the program finds each name of `see` and the report.
    """

    folder: Path  # new and private; gets out/, scratch/ and the two streams
    argv: tuple[str, ...]
    see: dict[str, Path]  # name -> folder or file, read-only; "task" and "submission" at least
    limits: Limits = Limits()

    @property
    def out(self) -> Path:
        return self.folder / "out" / "report.json"

    @property
    def scratch(self) -> Path:
        return self.folder / "scratch"

    def stream(self, name: str) -> Path:
        """Where what it wrote to "out" or "err" is kept, cut to the cap."""
        return self.folder / f"std{name}"


@dataclass(frozen=True)
class Outcome:
    """How a program ended: its exit code, or the limit that ended it."""

    code: int | None
    limit: str | None
    wall_s: float
    cpu_s: float


def _public(path: str) -> bool:
    """Whether any user can reach and read `path`."""
    real = os.path.realpath(path)
    above = [*map(str, Path(real).parents)]
    return bool(os.stat(real).st_mode & 0o004) and all(os.stat(p).st_mode & 0o001 for p in above)


@dataclass
class Launcher:
    """Starts jobs under `layers`; `end_all` ends whatever still runs."""

    view: View
    layers: Layers
    _running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: bool = False

    def places(self, job: Job) -> dict[str, str]:
        """Where the program finds each thing that it is given."""
        outside = {name: str(path) for name, path in job.see.items()}
        outside |= {"view": str(self.view.root), "scratch": str(job.scratch), "out": str(job.out)}
        if not self.layers.bwrap:
            return outside
        inside = {name: f"/{name}" for name in job.see}
        inside |= {"task": _TASK, "submission": _SUBMISSION}
        return inside | {"view": _INSIDE_VIEW, "scratch": _INSIDE_SCRATCH, "out": _INSIDE_OUT}

    def _environment(self, at: dict[str, str]) -> dict[str, str]:
        packages = f"{at['view']}/{self.view.site_below}"
        return {
            "PATH": _EMPTY_PATH,
            "HOME": at["scratch"],
            "TMPDIR": at["scratch"],
            "TASK": at["task"],
            "SUB": at["submission"],
            "PYTHONHOME": at["view"],
            "PYTHONPATH": f"{at['task']}:{packages}",
            "PYTHONNOUSERSITE": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            "OMP_NUM_THREADS": "2",
            "MKL_NUM_THREADS": "2",
            "USER": "submission",
            "LOGNAME": "submission",
            "LANG": "C.UTF-8",
        }

    def _allowed(self, at: dict[str, str], job: Job) -> list[tuple[str, int]]:
        """Landlock's view of the same allow-list, in paths as the program sees them."""
        read = landlock.SEE | landlock.EXECUTE
        given = [at["view"], *(at[name] for name in job.see)]
        wanted = [(path, read) for path in [*self.view.readable, *given]]
        wanted += [(path, landlock.READ | landlock.WRITE) for path in _DEVICES]
        wanted.append(("/proc" if self.layers.bwrap else "/proc/self", landlock.SEE))
        wanted.append((at["out"], landlock.READ | landlock.WRITE | landlock.TRUNCATE))
        writable = [at["scratch"], *(["/dev/shm"] if self.layers.bwrap else [])]
        return [*wanted, *((path, landlock.SCRATCH) for path in writable)]

    def _keep_read(self, job: Job) -> bool:
        seen = [*self.view.readable, *map(str, job.see.values())]
        return self.layers.uid is not None and not all(map(_public, seen))

    def _confined(self, at: dict[str, str], job: Job) -> list[str]:
        """The command that lays the kernel's rules on itself and becomes the program."""
        layers = self.layers
        uid = os.geteuid() if layers.uid is None else layers.uid
        rules = landlock.rules(layers.abi, self._allowed(at, job)) if layers.abi else None
        free_signals = bool(layers.bwrap) or layers.abi >= 6
        program = seccomp.program(signals=not free_signals) if layers.seccomp else b""
        spec = {
            "argv": [f"{at['view']}/bin/python3", *(part.format(**at) for part in job.argv)],
            "limits": job.limits.kernel(uid, self.view.accelerated),
            "uid": layers.uid,
            "keep_read": self._keep_read(job),
            "landlock": rules,
            "seccomp": base64.b64encode(program).decode() or None,
        }
        source = (_HERE / "confine.py").read_text()
        return [interpreter(), "-I", "-S", "-c", source, json.dumps(spec)]

    def _bubble(self, at: dict[str, str], job: Job) -> list[str]:
        """bubblewrap's command: new namespaces that hold the allow-list and nothing else."""
        command = list(self.layers.bwrap)
        if self._keep_read(job):
            command += ["--cap-add", "CAP_DAC_READ_SEARCH"]
        for path in self.view.readable:
            if path != str(self.view.root) and not path.startswith("/proc/"):
                command += ["--ro-bind", path, path]
        command += ["--ro-bind", str(self.view.root), at["view"], "--proc", "/proc"]
        for name, given in job.see.items():
            command += ["--ro-bind", str(given), at[name]]
        for path in _DEVICES:
            command += ["--dev-bind", path, path]
        for path in ("/dev/shm", at["scratch"]):
            command += ["--perms", "0777", "--size", f"{job.limits.disk:.0f}", "--tmpfs", path]
        command += ["--bind", str(job.out), at["out"]]
        return [*command, "--remount-ro", "/", "--chdir", at["submission"], "--"]

    def _prepare(self, job: Job) -> None:
        for folder in (job.folder, job.out.parent, job.scratch):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o711)
        job.out.touch()
        if self.layers.uid is not None:
            os.chown(job.out, self.layers.uid, self.layers.uid)
            os.chown(job.scratch, self.layers.uid, self.layers.uid)

    def _reaped(self, job: Job) -> list[str]:
        """The reaper's command for `job`."""
        at = self.places(job)
        bubble = self._bubble(at, job) if self.layers.bwrap else []
        spec: dict[str, Any] = {
            "argv": bubble + self._confined(at, job),
            "env": self._environment(at),
            "cwd": str(job.see["submission"]),
            "out": str(job.stream("out")),
            "err": str(job.stream("err")),
            "cap": job.limits.output,
            "scratch": str(job.scratch),
            "host_disk": not bubble,
            **job.limits.watched(),
        }
        return [interpreter(), "-I", "-S", str(_HERE / "reaper.py"), json.dumps(spec)]

    def run(self, job: Job) -> Outcome:
        """Run `job` to its end; afterwards nothing of it is left running."""
        self._prepare(job)
        with self._lock:
            if self._ended:
                return Outcome(None, "grader", 0.0, 0.0)
            process = subprocess.Popen(
                self._reaped(job),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
                cwd="/",
            )
            self._running.add(process)
        try:
            assert process.stdout is not None
            report = process.stdout.read()
        finally:
            self._finish(process)
        if not report:
            return Outcome(None, "reaper", 0.0, 0.0)
        return Outcome(**json.loads(report))

    def _finish(self, process: subprocess.Popen[bytes]) -> None:
        """Close the reaper's input, upon which it ends everything, and wait for it."""
        with contextlib.suppress(OSError, ValueError):
            if process.stdin is not None:
                process.stdin.close()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        with self._lock:
            self._running.discard(process)

    def end_all(self) -> None:
        """End what runs and start nothing more."""
        with self._lock:
            self._ended = True
            running = list(self._running)
        for process in running:
            if process.stdin is not None:
                process.stdin.close()
        for process in running:
            process.wait()
