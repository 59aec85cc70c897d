"""Runs first inside the sandbox: lays the limits and rules on itself, then becomes the program.

A script of the standard library alone, given as source to a bare interpreter with one argument,
a JSON object: argv, limits, uid (or null), keep_read (reach paths that uid could not), landlock
(abi and rules, or null), seccomp (the program in base64, or null).
"""

import base64
import ctypes
import json
import os
import resource
import stat
import struct
import sys

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 1, 38, 22
_PR_SET_KEEPCAPS, _PR_CAP_AMBIENT, _AMBIENT_RAISE = 8, 47, 2
_CAPSET = {"x86_64": 126, "aarch64": 91}
_DAC_READ_SEARCH = 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # Landlock, on every architecture
_SIGKILL = 9
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
    return result


def _prctl(option: int, *values: int) -> None:
    padded = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    _check(_libc.prctl(option, *padded), f"prctl {option}")


def _set_limits(limits: dict) -> None:
    for name, value in limits.items():
        kind = getattr(resource, "RLIMIT_" + name, None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        try:
            resource.setrlimit(kind, (value, value))
        except (OSError, ValueError) as error:
            if sys.platform.startswith("linux"):
                raise
            print(f"limit {name} is not kept here: {error}", file=sys.stderr)


def _become(uid: int, keep_read: bool) -> None:
    """Drop to an unprivileged user; at most the right to read past folder modes stays."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    if keep_read:
        _prctl(_PR_SET_KEEPCAPS, 1)
    os.setresuid(uid, uid, uid)
    if keep_read:
        bit = 1 << _DAC_READ_SEARCH
        header = struct.pack("=II", 0x20080522, 0)
        sets = struct.pack("=IIIIII", bit, bit, bit, 0, 0, 0)
        _check(_libc.syscall(_CAPSET[os.uname().machine], header, sets), "capset")
        _prctl(_PR_CAP_AMBIENT, _AMBIENT_RAISE, _DAC_READ_SEARCH)


def _landlock(spec: dict) -> None:
    attributes = struct.pack("=QQQ", spec["files"], spec["net"], spec["scope"])[: spec["size"]]
    ruleset = _check(
        _libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0), "landlock_create_ruleset"
    )
    for path, rights in spec["rules"]:
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # not there, so nothing to allow
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            rights &= spec["on_file"]
        rule = struct.pack("=Qi", rights, handle)
        _check(_libc.syscall(_ADD_RULE, ruleset, 1, rule, 0), f"landlock_add_rule {path}")
        os.close(handle)
    _check(_libc.syscall(_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)


def _seccomp(program: bytes) -> None:
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    fprog = ctypes.create_string_buffer(head, len(head))
    _prctl(_PR_SET_SECCOMP, 2, ctypes.addressof(fprog))


def confine(spec: dict) -> None:
    """Apply everything in `spec` to this process. Raises OSError if a layer does not hold."""
    os.closerange(3, 4096)
    linux = sys.platform.startswith("linux")
    _set_limits(spec["limits"])
    if spec["uid"] is not None:
        _become(spec["uid"], spec["keep_read"])
    if linux:
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        _prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    if spec["landlock"]:
        _landlock(spec["landlock"])
    if spec["seccomp"]:
        _seccomp(base64.b64decode(spec["seccomp"]))


if __name__ == "__main__":
    task = json.loads(sys.argv[1])
    try:
        confine(task)
        os.execve(task["argv"][0], task["argv"], dict(os.environ))
    except OSError as problem:
        print(f"sandbox: {problem}", file=sys.stderr)
        sys.exit(126)
