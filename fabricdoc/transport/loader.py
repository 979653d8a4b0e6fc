"""The short programs that a node's python gets on its command line: the loader of the probes, the ender, `box`, `tap`.

The loader reads the zip from fd 0 into memory and runs one probe from it. zipimport makes each module's code twice, for
its name and to run it (Lib/zipimport.py of 3.10 to 3.13, get_filename and get_code): the loader has it keep the first.
The ender ends a probe that no longer listens, by process id, start time and nonce. Both travel as base64 inside `-c`,
so that no login shell has anything to quote, and both must be readable by any Python 3: they say so when it is
older than 3.10.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from importlib.util import MAGIC_NUMBER
from pathlib import Path

NO_RAW = 95  # raised.NO_WAY: that program is not imported here
TOO_OLD = 97
CUT_OFF = 98
OLDEST = (3, 10)

LOADER = f"""import os,sys
sizes,module,nonce=sys.argv[1].split(","),sys.argv[2],sys.argv[3]
size,same=int(sizes[0]),0
if sys.version_info<{OLDEST}:sys.stderr.write("python %d.%d\\n"%sys.version_info[:2]);sys.exit({TOO_OLD})
if len(sizes)>1:
 import _frozen_importlib_external as files
 if files.MAGIC_NUMBER.hex()==sizes[2]:size,same=int(sizes[1]),1
start=int(open("/proc/self/stat").read().rsplit(")",1)[1].split()[19])
line='\\n\\x1e%s {{"event":"started","pid":%d,"start":%d,"same":%d}}\\n'%(nonce,os.getpid(),start,same)
os.write(1,line.encode())
data=b""
while len(data)<size:
 part=os.read(0,size-len(data))
 if not part:sys.exit({CUT_OFF})
 data+=part
if same:import zlib;data=zlib.decompress(data)
try:fd=os.memfd_create("fabricdoc")
except (AttributeError,OSError):import tempfile;keep=tempfile.TemporaryFile();fd=keep.fileno()
while data:data=data[os.write(fd,data):]
sys.path[:]=["/proc/self/fd/%d"%fd]+[p for p in sys.path if p]
import functools,zipimport
once=getattr(zipimport,"_get_module_code",None)
if once:zipimport._get_module_code=functools.lru_cache(None)(once)
from probes.__main__ import run
status=run(module,nonce)
if module=="agent":sys.exit(status)
sys.stdout.flush();sys.stderr.flush();os._exit(status)
"""

ENDER = """import os,signal,sys
pid,start,nonce=int(sys.argv[1]),sys.argv[2],sys.argv[3]
try:
 line=open("/proc/%d/cmdline"%pid,"rb").read().split(b"\\0")
 same=open("/proc/%d/stat"%pid).read().rsplit(")",1)[1].split()[19]==start and nonce.encode() in line
 if same and os.getpgid(pid)==pid:os.killpg(pid,signal.SIGKILL)
 elif same:os.kill(pid,signal.SIGKILL)
except OSError:pass
"""


def inline(program: str) -> str:
    """`program` as one `-c` text without quotes that nest, newlines, backslashes or `!`."""
    return f'import base64;exec(base64.b64decode("{b64encode(program.encode()).decode()}"))'


def loader_argv(python: str, module: str, size: int, nonce: str, packed: int = 0) -> list[str]:
    """The argv that loads a zip of `size` bytes and runs `module`.

    With `packed` the node's python says whether it reads our bytecode (its magic number is ours), and then takes a
    compressed zip of that many bytes instead; nothing may be sent before it has said so.

    The agent runs without -I, since its torch may come from PYTHONPATH or the user's site folder; every other probe is
    kept apart from both.
    """
    flags = [] if module == "agent" else ["-I"]
    sizes = f"{size},{packed},{MAGIC_NUMBER.hex()}" if packed else str(size)
    return [python, *flags, "-c", inline(LOADER), sizes, module, nonce]


def box_argv(python: str, words: Sequence[str]) -> list[str]:
    """The argv by which a node's python runs `box` with these words."""
    return [python, "-I", "-c", _program("box.py"), *words]


def raised_argv(python: str, words: Sequence[str]) -> list[str]:
    """The argv by which a node's python runs `raised` with these words."""
    return [python, "-I", "-c", _program("raised.py"), *words]


@cache
def _program(name: str) -> str:
    return inline(Path(__file__).with_name(name).read_text("utf-8"))


def tap_argv(python: str, nonce: str, argv: Sequence[str]) -> list[str]:
    """The argv by which a node's python runs `argv` behind `tap`."""
    return [python, "-I", "-c", _tap(), nonce, *argv]


@cache
def _tap() -> str:
    return inline(Path(__file__).with_name("tap.py").read_text("utf-8"))


def ender_argv(python: str, pid: int, start: int, nonce: str) -> list[str]:
    """The argv that kills process `pid` if it still is the one that started at `start` (clock ticks) with `nonce`."""
    return [python, "-I", "-c", inline(ENDER), str(pid), str(start), nonce]
