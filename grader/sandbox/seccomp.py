"""The system calls that a submission may not make, as a classic BPF program.

Everything else that a number-crunching program needs stays allowed. Denied calls fail with EPERM,
so that a library that merely tries one goes on. Each rule says what it keeps in.
"""

import errno
import platform
import struct

# name: (x86_64, aarch64); None where the architecture has no such call
_CALLS: dict[str, tuple[int | None, int | None]] = {
    # network, and rings that do network without the calls (socketpair stays: it reaches nobody)
    "socket": (41, 198),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # leaving the process group, which is what the sweep kills
    "setsid": (112, 157),
    "setpgid": (109, 154),
    # new namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    # other processes of the same user
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "kcmp": (312, 272),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # memory that no limit counts
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
    # files by handle, past every path rule
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # cutting a file by its path, which early Landlock does not see
    "truncate": (76, 45),
    # the kernel itself
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "quotactl": (179, 60),
    "acct": (163, 89),
    "swapon": (167, 224),
    "reboot": (169, 142),
    "syslog": (103, 116),
}
# modes, owners, times and attributes of files, which Landlock does not rule: said to be done, but
# nothing happens, so that a fair copy of a file works
_ATTRIBUTES: dict[str, tuple[int | None, int | None]] = {
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
}
# signals to anybody, for kernels whose Landlock does not keep them inside
_SIGNALS: dict[str, tuple[int | None, int | None]] = {
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
}
_CLONE3 = (435, 435)  # its flags lie in memory, unseen here: absent, so that clone is used
_CLONE = (56, 220)
_PRLIMIT = (302, 261)  # limits of another process (argument 0 is its pid)
_AFFINITY = (203, 122)
_FCNTL = (72, 25)
_SIGNAL_OWNERS = (8, 10, 15)  # F_SETOWN, F_SETSIG, F_SETOWN_EX: a signal to another process
_NAMESPACES = 0x7E020080  # all CLONE_NEW* flags
_ARCHES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_X32 = 0x40000000

_LOAD, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NR, _ARCH, _ARGS = 0, 4, 16  # offsets in struct seccomp_data; arguments are 8 bytes each


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _deny(number: int, error: int = errno.EPERM) -> bytes:
    return _op(_JEQ, number, 0, 1) + _op(_RET, _ERRNO | error)


def _deny_if(number: int, argument: int, *tests: tuple[int, int]) -> bytes:
    """Deny call `number` when any of `tests` holds for the low half of an argument."""
    body = _op(_LOAD, _ARGS + 8 * argument)
    for left, (code, value) in zip(range(len(tests), 0, -1), tests, strict=True):
        body += _op(code, value, left, 0)
    body += _op(_RET, _ALLOW) + _op(_RET, _ERRNO | errno.EPERM)
    return _op(_JEQ, number, 0, len(body) // 8) + body


def supported() -> bool:
    """Whether the call numbers of this machine's architecture are known here."""
    return platform.machine() in _ARCHES


def program(signals: bool) -> bytes:
    """The filter, as an array of struct sock_filter. `signals` denies sending any as well."""
    column, arch = _ARCHES[platform.machine()]
    code = _op(_LOAD, _ARCH) + _op(_JEQ, arch, 1, 0) + _op(_RET, _KILL) + _op(_LOAD, _NR)
    if column == 0:
        code += _op(_JGE, _X32, 0, 1) + _op(_RET, _ERRNO | errno.EPERM)
    code += _deny(_CLONE3[column], errno.ENOSYS)
    refused = {**_CALLS, **(_SIGNALS if signals else {})}
    for calls, error in ((refused, errno.EPERM), (_ATTRIBUTES, 0)):
        numbers = (call[column] for call in calls.values())
        code += b"".join(_deny(number, error) for number in numbers if number is not None)
    code += _deny_if(_CLONE[column], 0, (_JSET, _NAMESPACES))
    code += _deny_if(_PRLIMIT[column], 0, (_JGE, 1))
    code += _deny_if(_AFFINITY[column], 0, (_JGE, 1))
    code += _deny_if(_FCNTL[column], 1, *((_JEQ, command) for command in _SIGNAL_OWNERS))
    return code + _op(_RET, _ALLOW)
