"""Stands between the grader and untrusted code: starts it, watches it, ends all of it.

A script of the standard library alone. Its argument is a JSON object (argv, env, cwd, out, err,
cap, wall_s, cpu_s, memory, tasks, disk, files, scratch, host_disk); standard input is a pipe from
the grader, whose end, even by kill -9, ends everything; standard output is one JSON outcome.
"""

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time

_POLL_S = 0.1
_CHECK_S = 0.25  # how often the limits are looked at
_GLANCES = 5  # at a process whose files cannot be seen
_PR_SET_CHILD_SUBREAPER, _PR_SET_PDEATHSIG = 36, 1
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_LINUX = sys.platform.startswith("linux")


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on: [0] state, [1] parent, [11:15] times."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].decode().split()


def descendants() -> dict[int, list[str]]:
    """Every process below this one, with its stat fields."""
    if not _LINUX:
        return {}
    stats = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                stats[int(name)] = _stat(int(name))
    below: dict[int, list[str]] = {}
    wave = [os.getpid()]
    while wave:
        wave = [pid for pid, fields in stats.items() if int(fields[1]) in wave and pid not in below]
        below.update((pid, stats[pid]) for pid in wave)
    return below


def _usage(processes: dict[int, list[str]]) -> tuple[float, int, int]:
    """CPU seconds (with those of the dead), resident bytes and threads of `processes`."""
    ticks = sum(int(value) for fields in processes.values() for value in fields[11:15])
    pages = sum(int(fields[21]) for fields in processes.values())
    threads = sum(int(fields[17]) for fields in processes.values())
    dead = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ticks / _TICK + dead.ru_utime + dead.ru_stime, pages * _PAGE, threads


def _disk(folder: str) -> tuple[float, int]:
    """Bytes on disk and entries below `folder`; infinite if a part of it cannot be seen."""
    size, count = 0.0, 0
    hidden: list[OSError] = []
    for path, folders, files in os.walk(folder, onerror=hidden.append):
        for name in folders + files:
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(path, name)).st_blocks * 512
            count += 1
    unseen = any(isinstance(error, PermissionError) for error in hidden)
    return (float("inf") if unseen else size), count


def _unlinked(pid: int, folder: str) -> float:
    """Bytes of the files of `folder` that a process holds open or mapped without a name."""
    size = 0.0
    for name in os.listdir(f"/proc/{pid}/fd"):
        link = f"/proc/{pid}/fd/{name}"
        with contextlib.suppress(FileNotFoundError):
            target = os.readlink(link)
            if target.startswith(folder) and target.endswith("(deleted)"):
                size += os.stat(link).st_blocks * 512
    with open(f"/proc/{pid}/maps") as maps:
        spans = [line.split(maxsplit=1)[0] for line in maps if folder in line]
    for low, _, high in (span.partition("-") for span in spans):
        size += int(high, 16) - int(low, 16)
    return size


def _held(pid: int, folder: str) -> float:
    """The same, infinite for a process that hides it; one that is ending may, and holds nothing."""
    for _ in range(_GLANCES):
        try:
            return _unlinked(pid, folder)
        except (FileNotFoundError, ProcessLookupError):
            return 0.0
        except PermissionError:
            time.sleep(0.01)
        with contextlib.suppress(OSError):
            if _stat(pid)[0] in "ZX":
                return 0.0
    return float("inf")


class Output:
    """One stream of the program: what it wrote first and last, the rest counted and dropped."""

    def __init__(self, path: str, cap: int) -> None:
        self.path, self.cap = path, cap // 2
        self.head, self.tail, self.dropped = b"", b"", 0

    def add(self, data: bytes) -> None:
        room = self.cap - len(self.head)
        self.head += data[:room]
        self.tail += data[room:]
        if len(self.tail) > self.cap:
            self.dropped += len(self.tail) - self.cap
            self.tail = self.tail[-self.cap :]

    def save(self) -> None:
        gap = f"\n[... {self.dropped} bytes dropped ...]\n".encode() if self.dropped else b""
        with open(self.path, "wb") as file:
            file.write(self.head + gap + self.tail)


def _start(spec: dict) -> tuple[int, dict[int, Output]]:
    """Fork the program into a session of its own; its pid, and its streams by file number."""
    pipes = {name: os.pipe() for name in ("out", "err")}
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            if _LINUX:
                ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(pipes["out"][1], 1)
            os.dup2(pipes["err"][1], 2)
            os.chdir(spec["cwd"])
            os.execve(spec["argv"][0], spec["argv"], spec["env"])
        except OSError as error:
            os.write(2, f"sandbox: cannot start: {error}\n".encode())
        os._exit(126)
    streams = {}
    for name, (reading, writing) in pipes.items():
        os.close(writing)
        os.set_blocking(reading, False)
        streams[reading] = Output(spec[name], spec["cap"])
    return pid, streams


def _drain(streams: dict[int, Output], timeout: float) -> bool:
    """Read what is there; False once standard input ended, which is the grader's death."""
    ready, _, _ = select.select([0, *streams], [], [], timeout)
    for handle in ready:
        with contextlib.suppress(BlockingIOError):
            data = os.read(handle, 1 << 16)
            if not data and handle == 0:
                return False
            if data:
                streams[handle].add(data)
            else:
                os.close(handle)
                streams.pop(handle).save()
    return True


def _excess(spec: dict, started: float, peak: dict) -> str | None:
    """The limit that is exceeded, if any."""
    processes = descendants()
    cpu, memory, tasks = _usage(processes)
    peak["cpu_s"] = max(peak["cpu_s"], cpu)
    disk, files = _disk(spec["scratch"])
    if spec["host_disk"]:  # a sized file system of its own needs no such look
        disk += sum(_held(child, spec["scratch"]) for child in processes)
    found = {
        "cpu": (cpu, spec["cpu_s"]),
        "wall": (time.monotonic() - started, spec["wall_s"]),
        "memory": (memory, spec["memory"]),
        "tasks": (tasks, spec["tasks"]),
        "disk": (disk, spec["disk"]),
        "files": (files, spec["files"]),
    }
    return next((name for name, (value, limit) in found.items() if value > limit), None)


def sweep(pid: int) -> None:
    """Kill the program's group and every descendant, until none is left."""
    while True:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        for child in descendants():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def _reap(pid: int) -> int | None:
    """The program's wait status once it ended; orphans that ended are reaped on the way."""
    try:
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == pid:
                return found[1]
    except ChildProcessError:
        return 0
    return None


def watch(spec: dict) -> dict:
    """Run the program to its end, or to the first limit it meets. Nothing of it is left then."""
    if _LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    started, last = time.monotonic(), 0.0
    peak = {"cpu_s": 0.0}
    pid, streams = _start(spec)
    status, excess = None, None
    try:
        while status is None and excess is None:
            if not _drain(streams, _POLL_S):
                excess = "grader"
            status = _reap(pid)
            if time.monotonic() - last >= _CHECK_S and status is None and excess is None:
                excess, last = _excess(spec, started, peak), time.monotonic()
    finally:
        wall = time.monotonic() - started
        sweep(pid)
    _finish(streams)
    dead = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = max(peak["cpu_s"], dead.ru_utime + dead.ru_stime)
    code = None if status is None else os.waitstatus_to_exitcode(status)
    return {"code": code, "limit": excess, "wall_s": wall, "cpu_s": cpu}


def _finish(streams: dict[int, Output]) -> None:
    """Keep what is still in the pipes; nobody writes to them any more."""
    for handle, output in streams.items():
        with contextlib.suppress(OSError):
            while data := os.read(handle, 1 << 16):
                output.add(data)
        output.save()


if __name__ == "__main__":
    json.dump(watch(json.loads(sys.argv[1])), sys.stdout)
