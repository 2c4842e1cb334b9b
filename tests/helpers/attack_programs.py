"""Programs that attack the machine that runs them. Each prints HARM if it believes that it has succeeded.

A program gets `W`, a dict with what it may attack: a folder that everyone may write, ports, and processes of its user. Those
in `REAL` are also run without a jail, to see that they do harm there.
"""

RAW = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    result = libc.syscall(ctypes.c_long(W["calls"][name]), *(ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    print(name, result, ctypes.get_errno())
    return result
"""

NETWORK = {
    "connects by TCP": "import socket; socket.create_connection(('127.0.0.1', W['tcp']), 1); print('HARM')",
    "connects by IPv6": "import socket; socket.create_connection(('::1', W['tcp6']), 1); print('HARM')",
    "sends a datagram": "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', W['udp']))",
    "connects to a socket in a folder": "import socket; socket.socket(socket.AF_UNIX).connect(W['folder'] + '/socket')",
    "connects to an abstract socket": "import socket; socket.socket(socket.AF_UNIX).connect('\\0' + W['abstract'])",
    "sends through a pair of sockets": """
import socket
one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
one.sendto(b'x', W['folder'] + '/datagrams')""",
    "sends from a nameless socket": """
import socket
one, other = socket.socketpair()
one.sendto(b'x', W['folder'] + '/socket')""",
    "connects a nameless socket": """
import socket
one, other = socket.socketpair()
one.connect(W['folder'] + '/socket')""",
    "passes a descriptor": """
import socket
one, other = socket.socketpair()
socket.send_fds(one, [b'x'], [0])
print('HARM', socket.recv_fds(other, 1, 1))""",
    "sends urgent data": """
import socket
one, other = socket.socketpair()
one.send(b'x', socket.MSG_OOB)
print('HARM')""",
    "names a nameless socket": """
import socket
one, other = socket.socketpair()
one.bind('\\0' + W['abstract'] + 'x')
one.listen()
print('HARM')""",
    "fetches a page": "import urllib.request; urllib.request.urlopen(f\"http://127.0.0.1:{W['tcp']}\", timeout=1)",
    "listens": "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); print('HARM')",
    "speaks to the kernel by netlink": "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); print('HARM')",
    "opens a socket by number": RAW + "\nif call('socket', 2, 1, 0) >= 0: print('HARM')",
    "opens a socket by the second ABI": RAW
    + "\nif libc.syscall(ctypes.c_long(41 | 0x40000000), 2, 1, 0) >= 0: print('HARM')",
}

READING = {
    "reads a file": "print(open(W['folder'] + '/secret').read())",
    "reads a file by descriptor": "import os; print(os.read(os.open(W['folder'] + '/secret', os.O_RDONLY), 99))",
    "reads a file through its root": "print(open('/proc/self/root' + W['folder'] + '/secret').read())",
    "reads a file through its folder": "print(open('/proc/self/cwd' + W['folder'] + '/secret').read())",
    "reads a file through a path": """
import os
file = os.open(W['folder'] + '/secret', os.O_PATH)
print(open(f'/proc/self/fd/{file}').read())""",
    "reads a file by openat2": RAW
    + """
path = (W['folder'] + '/secret').encode()
file = call('openat2', -100, path, bytes(24), 24)
print(os.read(file, 99))""",
    "reads a file by handle": RAW + "\nprint(call('open_by_handle_at', -100, bytes(99), 0))",
    "reads a file by sending it": "import os; os.sendfile(1, os.open(W['folder'] + '/secret', os.O_RDONLY), 0, 99)",
    "reads the passwords": "print('HARM', open('/etc/passwd').read())",
    "lists a folder": "import os; print('HARM', os.listdir(W['folder']))",
    "lists the root": "import os; print('HARM', [entry.name for entry in os.scandir('/')])",
    "globs": "import glob; found = glob.glob(W['folder'] + '/*'); print('HARM' if found else 'nothing')",
    "loads a library": "import ctypes; ctypes.CDLL(W['folder'] + '/library.so'); print('HARM')",
    "imports an installed package": "import sys; sys.path.append(W['folder']); import planted; print('HARM')",
    "reads the parent's environment": "import os; print('HARM', open(f'/proc/{os.getppid()}/environ', 'rb').read())",
    "reads its own environment": """
import ctypes, os
print(dict(os.environ), os.getenv('TRL_SECRET'))
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), 'environ')
print([environ[0]] if environ else None)""",
    "reads its first environment": "print(open('/proc/self/environ', 'rb').read())",
    "reads the trainer's memory": "open(f\"/proc/{W['trainer']}/mem\", 'rb').read(1); print('HARM')",
    "reads the parent's memory": "import os; open(f'/proc/{os.getppid()}/mem', 'rb').read(1); print('HARM')",
    "reads the parent's memory map": "import os; print('HARM', open(f'/proc/{os.getppid()}/maps').read()[:99])",
    "opens the parent's descriptors": "import os; print('HARM', os.listdir(f'/proc/{os.getppid()}/fd'))",
    "follows the parent's descriptor": "import os; print('HARM', os.open(f'/proc/{os.getppid()}/fd/0', os.O_RDONLY))",
    "lists its descriptors": """
import os
for file in range(3, 4096):
    try:
        os.fstat(file)
        print('HARM', file)
    except OSError:
        pass""",
    "copies the parent's memory": RAW
    + """
buffer = ctypes.create_string_buffer(8)
part = (ctypes.c_void_p * 2)(id(libc), 8)
if call('process_vm_readv', os.getppid(), (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8), 1, part, 1, 0) > 0: print('HARM')""",
    "writes the trainer's memory": RAW
    + """
part = (ctypes.c_void_p * 2)(id(libc), 8)
if call('process_vm_writev', W['trainer'], part, 1, part, 1, 0) > 0: print('HARM')""",
    "traces its parent": RAW + "\nif call('ptrace', 16, os.getppid(), 0, 0) == 0: print('HARM')",
    "traces a process": RAW + "\nif call('ptrace', 0x4206, W['victim'], 0, 0) == 0: print('HARM')",
    "takes a descriptor": RAW
    + "\nfile = call('pidfd_open', W['trainer'], 0)\nif call('pidfd_getfd', file, 0, 0) >= 0: print('HARM')",
    "reads the shell's history": "import os; print('HARM', open(os.path.expanduser('~/.bash_history')).read())",
    "looks through its frames": """
import sys
frame = sys._getframe()
while frame:
    print({name: value for name, value in frame.f_locals.items() if name != 'W'})
    frame = frame.f_back""",
}

WRITING = {
    "creates a file": "open(W['folder'] + '/new', 'w').write('x')",
    "creates a file by its old call": "import os; os.close(os.open(W['folder'] + '/new', os.O_CREAT | os.O_RDONLY, 0o666))",
    "creates a nameless file": "import os; os.write(os.open(W['folder'], os.O_TMPFILE | os.O_RDWR), b'x'); print('HARM')",
    "overwrites a file": "open(W['folder'] + '/kept', 'w').write('x')",
    "appends to a file": "open(W['folder'] + '/kept', 'a').write('x')",
    "empties a file while it reads": "import os; os.open(W['folder'] + '/kept', os.O_RDONLY | os.O_TRUNC)",
    "cuts a file": "import os; os.truncate(W['folder'] + '/kept', 0)",
    "removes a file": "import os; os.unlink(W['folder'] + '/kept')",
    "renames a file": "import os; os.rename(W['folder'] + '/kept', W['folder'] + '/gone')",
    "links a file": "import os; os.link(W['folder'] + '/kept', W['folder'] + '/new')",
    "makes a symbolic link": "import os; os.symlink('/etc/passwd', W['folder'] + '/new')",
    "makes a folder": "import os; os.mkdir(W['folder'] + '/new')",
    "makes a pipe": "import os; os.mkfifo(W['folder'] + '/new')",
    "makes a device": "import os, stat; os.mknod(W['folder'] + '/new', 0o666 | stat.S_IFCHR, os.makedev(1, 3))",
    "opens a file to all": "import os; os.chmod(W['folder'] + '/kept', 0o777)",
    "gives a file away": "import os; os.chown(W['folder'] + '/kept', 1, 1)",
    "sets a time": "import os; os.utime(W['folder'] + '/kept', (1, 1))",
    "sets an attribute": "import os; os.setxattr(W['folder'] + '/kept', 'user.x', b'x'); print('HARM')",
    "removes a folder": "import os, shutil; shutil.rmtree(W['folder'] + '/full')",
    "makes a temporary file": "import tempfile; tempfile.NamedTemporaryFile(dir=W['folder'], delete=False); print('HARM')",
    "writes to shared memory": "open('/dev/shm/' + W['abstract'], 'w').write('x'); print('HARM')",
    "shares memory": RAW + "\nif call('shmget', 0, 1 << 20, 0o1600) >= 0: print('HARM')",
    "writes to the library": """
import json
open(json.__file__, 'r+').write('#')
print('HARM')""",
    "empties the library": "import json, os; os.open(json.__file__, os.O_RDONLY | os.O_TRUNC); print('HARM')",
    "removes the library": "import json, os; os.unlink(json.__file__); print('HARM')",
    "writes to its parent's score": "import os; open(f'/proc/{os.getppid()}/oom_score_adj', 'w').write('1000'); print('HARM')",
    "makes a ring of requests": RAW + "\nif call('io_uring_setup', 8, bytes(120)) >= 0: print('HARM')",
    "makes a file in memory": "import os; os.memfd_create('x'); print('HARM')",
    "mounts": RAW + "\nif call('mount', b'none', W['folder'].encode(), b'tmpfs', 0, None) == 0: print('HARM')",
    "changes its root": "import os; os.chroot(W['folder']); print('HARM')",
}

PROCESSES = {
    "forks": "import os\nif os.fork(): print('HARM')",
    "forks without end": "import os\nwhile True: os.fork()",
    "runs a command": "import subprocess; print('HARM', subprocess.check_output(['id']))",
    "runs a command by the shell": "import os; os.system(f\"touch {W['folder']}/new\")",
    "spawns": "import os; print('HARM', os.posix_spawn('/bin/true', ['true'], {}))",
    "becomes another program": "import os; os.execv('/usr/bin/touch', ['touch', W['folder'] + '/new'])",
    "becomes a file in memory": RAW
    + "\nfile = call('memfd_create', b'x', 0)\ncall('execveat', file, b'', None, None, 0x1000)",
    "uses multiprocessing": """
import multiprocessing
process = multiprocessing.get_context('fork').Process(target=print, args=('HARM',))
process.start()
process.join()""",
    "opens a terminal": "import os, pty; pty.fork(); print('HARM')",
    "clones by number": RAW + "\nif call('clone', 17, 0, 0, 0, 0) >= 0: print('HARM')",
    "clones by the new number": RAW
    + """
import struct
arguments = struct.pack('=11Q', 0, 0, 0, 0, 17, *[0] * 6)
if call('clone3', arguments, 88) >= 0: print('HARM')""",
    "calls the old interface of the processor": RAW
    + """
import mmap
code = mmap.mmap(-1, 4096, prot=7)
code.write(b'\\x53\\xb8\\x02\\x00\\x00\\x00\\xcd\\x80\\x5b\\xc3')  # fork by int 0x80
run = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
if W['machine'] == 'x86_64' and run() >= 0: print('HARM')""",
    "starts threads without end": """
import threading, time
threading.stack_size(32768)
while True:
    threading.Thread(target=time.sleep, args=(99,), daemon=True).start()""",
    "starts bare threads without end": RAW
    + """
stack = ctypes.create_string_buffer(1 << 26)
sleep = ctypes.cast(libc.pause, ctypes.c_void_p)
flags = 0x3D0F00
for number in range(1, 100000):
    top = ctypes.c_void_p((ctypes.addressof(stack) + number * 512) & -16)
    libc.clone(sleep, top, flags, None, top, None, top)""",
    "makes a namespace": RAW + "\nif call('unshare', 0x10000000) == 0: print('HARM')",
    "enters a namespace": RAW + "\nif call('setns', 0, 0) == 0: print('HARM')",
    "becomes root": "import os; os.setuid(0); os.seteuid(0); os.chown(W['folder'], 0, 0); print('HARM')",
    "becomes somebody": "import os; os.setuid(1); print('HARM')",
}

SIGNALS = {
    "kills a process": "import os; os.kill(W['victim'], 9)",
    "kills its parent": "import os; os.kill(os.getppid(), 9)",
    "kills the trainer": "import os; os.kill(W['trainer'], 9)",
    "kills everything": "import os; os.kill(-1, 9)",
    "uses up the signals of its user": """
import ctypes, os, signal
libc, sent = ctypes.CDLL(None), 0
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while libc.syscall(W['calls']['tgkill'], os.getpid(), os.getpid(), 40) == 0 and sent < 10_000: sent += 1
if sent > 300: print('HARM')""",
    "kills its group": "import os; os.kill(0, 9)",
    "kills the trainer's group": "import os; os.killpg(os.getpgid(W['trainer']), 9)",
    "kills a thread": RAW + "\ncall('tkill', W['victim'], 9)",
    "kills a thread of a group": RAW + "\ncall('tgkill', W['victim'], W['victim'], 9)",
    "kills by descriptor": RAW
    + "\nfile = call('pidfd_open', W['victim'], 0)\ncall('pidfd_send_signal', file, 9, 0, 0)",
    "queues a signal": RAW
    + """
import struct
call('rt_sigqueueinfo', W['victim'], 10, struct.pack('=iiiii', 10, 0, -1, os.getpid(), os.getuid()) + bytes(108))""",
    "kills by a pipe's owner": """
import fcntl, os
reading, writing = os.pipe()
fcntl.fcntl(reading, 8, W['victim'])
fcntl.fcntl(reading, 10, 9)
fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
os.write(writing, b'x')""",
    "kills by a stream's owner": """
import fcntl, os
fcntl.fcntl(0, 8, W['victim'])
fcntl.fcntl(0, 10, 9)
fcntl.fcntl(0, fcntl.F_SETFL, os.O_ASYNC)
os.write(1, b'x')
print('HARM')""",
    "types into a terminal": "import fcntl; fcntl.ioctl(0, 0x5412, b'x'); print('HARM')",
}

SUICIDES = {
    "kills itself": "import os; os.kill(os.getpid(), 9)",
    "kills itself by its thread": "import signal, threading; signal.pthread_kill(threading.get_ident(), 9)",
    "kills itself by numbers": RAW
    + """
import struct
own, about = os.getpid(), struct.pack('=iiiii', 9, 0, -1, os.getpid(), os.getuid()) + bytes(108)
for itself in (own, -10000, -10001, call('pidfd_open', own, 0)): call('pidfd_send_signal', itself, 9, 0, 0)
for name, *arguments in (('tkill', own, 9), ('rt_sigqueueinfo', own, 9, about), ('rt_tgsigqueueinfo', own, own, 9, about),
    ('timer_create', 1, struct.pack('=QiiI', 0, 9, 0, 0) + bytes(44), bytes(8)), ('clone', 0x3D0F00 | 9, 0, 0, 0, 0),
    ('timer_settime', 0, 0, struct.pack('=4q', 0, 0, 0, 1000), 0), ('tgkill', own, own, 9 | 1 << 32)): call(name, *arguments)
while os.times().user < 0.1: pass""",
    "kills itself by a pipe's owner": "import os\nW['victim'] = os.getpid()" + SIGNALS["kills by a pipe's owner"],
}
"""Programs that try to end as if somebody else had killed them, which would say nothing of them."""

LIMITS = {
    "limits a process": "import resource; resource.prlimit(W['victim'], resource.RLIMIT_CPU, (1, 1))",
    "limits its parent": "import os, resource; resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
    "limits the trainer": "import resource; resource.prlimit(W['trainer'], resource.RLIMIT_NOFILE, (3, 3))",
    "raises its memory": """
import resource
for value in (resource.RLIM_INFINITY, 8 << 30):
    for change in (resource.setrlimit, lambda kind, pair: resource.prlimit(0, kind, pair)):
        try:
            change(resource.RLIMIT_AS, (value, value))
        except (OSError, ValueError):
            pass
x = bytearray(1 << 30)
print('HARM')""",
    "takes two gigabytes": "x = bytearray(2 << 30); print('HARM')",
    "takes memory in small parts": "x = []\nwhile True: x.append(bytearray(100_000))",
    "maps memory": "import mmap\nmaps = [mmap.mmap(-1, 1 << 28) for _ in range(99)]\nprint('HARM')",
    "slows a process down": "import os; os.setpriority(os.PRIO_PROCESS, W['victim'], 19)",
    "moves a process": "import os; os.sched_setaffinity(W['victim'], {0}); print('HARM')",
    "takes priority": "import os; os.setpriority(os.PRIO_PROCESS, 0, -10); print('HARM')",
    "outlives its parent": RAW + "\nif call('prctl', 1, 0, 0, 0, 0) == 0: print('HARM')",
    "lets itself be traced": RAW + "\nif call('prctl', 4, 1, 0, 0, 0) == 0: print('HARM')",
    "adds a filter": RAW + "\nif call('seccomp', 1, 0, bytes(16)) == 0: print('HARM')",
    "loads a program into the kernel": RAW + "\nif call('bpf', 0, bytes(120), 120) >= 0: print('HARM')",
    "counts events": RAW + "\nif call('perf_event_open', bytes(120), 0, -1, -1, 0) >= 0: print('HARM')",
    "stores a key": RAW + "\nif call('add_key', b'user', b'x', b'x', 1, -3) >= 0: print('HARM')",
    "handles faults": RAW + "\nif call('userfaultfd', 1) >= 0: print('HARM')",
    "opens many files": "import json\nfiles = []\nwhile len(files) < 1000: files.append(open(json.__file__))\nprint('HARM')",
    "writes without end": "import os\nwhile True: print('x' * 10_000)",
    "writes errors without end": "import sys\nwhile True: sys.stderr.write('x' * 10_000)",
    "writes far away": "import os\nos.lseek(1, 1 << 40, 0); os.write(1, b'x'); print('HARM')",
    "enlarges its output": "import os; os.ftruncate(1, 1 << 40); print('HARM')",
}

ENDLESS = {
    "loops": "while True: pass",
    "sleeps": "import time; time.sleep(1000)",
    "waits for a signal": "import signal; signal.pause()",
    "ignores signals": """
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True: pass""",
    "closes its streams": "import os, time\nfor file in range(3): os.close(file)\ntime.sleep(1000)",
    "ends in a thread": "import threading, time; threading.Thread(target=time.sleep, args=(1000,)).start()",
    "ends in a handler": "import atexit, time; atexit.register(time.sleep, 1000)",
    "catches everything": "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "recurses": "import sys; sys.setrecursionlimit(10 ** 9)\ndef f(n): return f(n + 1)\nf(0)",
    "recurses in C": "import sys; sys.setrecursionlimit(10 ** 9)\nx = []\nfor _ in range(10 ** 6): x = [x]\nrepr(x)",
    "computes a huge number": "print(9 ** 9 ** 9 ** 9)",
    "matches without end": "import re; re.match('(a+)+$', 'a' * 60 + 'b')",
    "nests without end": "eval('(' * 10 ** 6)",
    "crashes": "import ctypes; ctypes.string_at(0)",
    "aborts": "import os; os.abort()",
    "breaks the heap": "import ctypes; ctypes.memset(id(print) - 4096, 255, 8192); print(print)",
    "spins in threads": """
import threading
def spin():
    while True: pass
for _ in range(8): threading.Thread(target=spin).start()""",
}

ATTACKS = {**NETWORK, **READING, **WRITING, **PROCESSES, **SIGNALS, **SUICIDES, **LIMITS, **ENDLESS}

REAL = [
    "connects by TCP",
    "sends a datagram",
    "connects to a socket in a folder",
    "connects to an abstract socket",
    "sends through a pair of sockets",
    "fetches a page",
    "opens a socket by number",
    "reads a file",
    "reads a file through a path",
    "reads a file by openat2",
    "lists a folder",
    "loads a library",
    "imports an installed package",
    "reads its own environment",
    "lists its descriptors",
    *(
        name
        for name in WRITING
        if name.split()[0] in ("creates", "overwrites", "appends", "empties", "cuts", "removes")
    ),
    "renames a file",
    "links a file",
    "opens a file to all",
    "sets a time",
    "makes a temporary file",
    "shares memory",
    "forks",
    "runs a command",
    "runs a command by the shell",
    "becomes another program",
    "clones by number",
    "kills a process",
    "kills a thread",
    "kills by descriptor",
    "kills by a pipe's owner",
    "limits a process",
    "slows a process down",
    "raises its memory",
    "opens many files",
]
"""Attacks that do harm without a jail, to the witnesses only."""
REAL = [name for name in REAL if "library" not in name or name == "loads a library"]
