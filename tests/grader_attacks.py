"""Programs that try to get out of the sandbox. Each prints ESCAPED if it believes it did.

They get their targets as a JSON object in the last argument.
"""

_HEAD = """
import json, os, sys, time
T = json.loads(sys.argv[-1])
def escaped(): print("ESCAPED", flush=True)
"""


def program(body: str) -> str:
    return _HEAD + body


READ_TRUTH = program("""
if open(T["secret"]).read(): escaped()
""")
IMPORT_WORLD = program("""
sys.path[:0] = [T["root"]]
import fixture, grader
if fixture.__file__.startswith(T["root"]): escaped()
""")
OTHER_LIBRARY = program("""
sys.path[:0] = [T["root"]]
import rlhf.analysis
escaped()
""")
CHANGE_FIXTURE = program("""
open(T["victim_file"], "w").write("changed")
escaped()
""")
CHANGE_MODE = program("""
os.chmod(T["victim_file"], 0)
if os.stat(T["victim_file"]).st_mode & 0o777 == 0: escaped()
""")
TRUNCATE = program("""
os.truncate(T["victim_file"], 0)
escaped()
""")
TCP = program("""
import socket
socket.create_connection(("127.0.0.1", T["tcp"]), timeout=2).send(b"x")
escaped()
""")
UDP = program("""
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", T["udp"]))
""")
UNIX = program("""
import socket
s = socket.socket(socket.AF_UNIX); s.connect(T["unix"]); escaped()
""")
ABSTRACT = program("""
import socket
s = socket.socket(socket.AF_UNIX); s.connect("\\0" + T["abstract"]); escaped()
""")
SIGNAL = program("""
os.kill(T["victim"], 9)
""")
LIMIT_OTHER = program("""
import resource
resource.prlimit(T["victim"], resource.RLIMIT_NOFILE, (1, 1))
escaped()
""")
ENVIRONMENT = program("""
if b"VICTIM_SECRET" in open(f"/proc/{T['victim']}/environ", "rb").read(): escaped()
""")
NAMESPACE = program("""
import ctypes
if ctypes.CDLL(None).unshare(0x10000000) == 0: escaped()
""")
PLANT_LINK = program("""
os.symlink(T["secret"], os.path.join(T["open_folder"], "planted"))
escaped()
""")
FORKS = program("""
made = 0
try:
    while made < 160:
        if os.fork() == 0:
            time.sleep(30); os._exit(0)
        made += 1
except OSError: pass
time.sleep(1)
if made >= 160: escaped()
""")
DAEMON = program("""
if os.fork() == 0:
    try: os.setsid()
    except OSError: pass
    if os.fork() == 0:
        for fd in (0, 1, 2): os.close(fd)
        time.sleep(0.5)
        open(T["marker"], "w").write("alive")
    os._exit(0)
""")
FORK_CHAIN = program("""
if os.fork() == 0:
    try: os.setsid()
    except OSError: pass
    for fd in (0, 1, 2): os.close(fd)
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        if os.fork(): os._exit(0)
    open(T["marker"], "w").write("alive")
""")
MEMORY = program("""
held = []
for _ in range(40):
    held.append(bytearray(b"x") * (16 << 20))
escaped()
""")
MEMORY_IN_MANY = program("""
for _ in range(6):
    if os.fork() == 0:
        held = bytearray(b"x") * (64 << 20); time.sleep(30); os._exit(0)
time.sleep(2)
escaped()
""")
MEMORY_FILE = program("""
fds = [os.memfd_create("m") for _ in range(2)]
escaped()
""")
ONE_BIG_FILE = program("""
with open(os.path.join(T["scratch"], "big"), "wb") as f:
    for _ in range(40): f.write(bytes(1 << 20))
    f.flush()
escaped()
""")
MANY_FILES = program("""
import glob
for n in range(48):
    with open(os.path.join(T["scratch"], str(n)), "wb") as f: f.write(bytes(1 << 20))
time.sleep(1.5)
escaped()
""")
PRINT_MUCH = program("""
for _ in range(64): sys.stdout.buffer.write(b"x" * (1 << 20))
""")
HANG = program("""
time.sleep(2)
escaped()
""")
BURN = program("""
end = time.process_time() + 2
while time.process_time() < end: pass
escaped()
""")
BURN_IN_CHILDREN = program("""
while os.times().children_user < 2:
    pid = os.fork()
    if pid == 0:
        while time.process_time() < 0.2: pass
        os._exit(0)
    os.waitpid(pid, 0)
escaped()
""")

UNLINKED_FILES = program("""
held = []
for n in range(48):
    path = os.path.join(T["scratch"], str(n))
    f = open(path, "wb"); held.append(f); os.unlink(path)
    f.write(bytes(1 << 20)); f.flush()
time.sleep(1.5)
escaped()
""")
UNLISTED_FILES = program("""
os.mkdir(os.path.join(T["scratch"], "d"), 0o300)
for n in range(48):
    with open(os.path.join(T["scratch"], "d", str(n)), "wb") as f: f.write(bytes(1 << 20))
time.sleep(1.5)
escaped()
""")
