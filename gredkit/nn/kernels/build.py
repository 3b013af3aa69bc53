"""Compile the kernels once with this machine's C compiler, and load the library after checking it."""

import ctypes
import logging
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import xxhash
from filelock import FileLock

from gredkit.errors import cause
from gredkit.nn.kernels.compiler import SECONDS, CannotCompile, Compiler, output
from gredkit.system.own_folder import check_file, private_folder

log = logging.getLogger(__name__)

SOURCES = sorted(Path(__file__).parent.glob("*.[ch]"))
# No flag that reorders sums or ignores NaN and infinity.
FLAGS = ("-O3", "-march=native", "-fopenmp", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-fPIC")
SWITCH = "GREDKIT_KERNELS"
TRIAL = "import ctypes, sys; library = ctypes.CDLL(sys.argv[1]); [getattr(library, name) for name in sys.argv[2:]]"

# Argument types: c is int, n a count, u unsigned, f float, p a pointer. The functions return a status (0: success).
TYPES = {"c": ctypes.c_int, "n": ctypes.c_int64, "u": ctypes.c_uint32, "f": ctypes.c_float, "p": ctypes.c_void_p}
FUNCTIONS = {
    "start_threads": "c",
    "check_rows": "cnnnpp",
    "transpose": "cnnpppp",
    "arrange": "cnnnnpppppp",
    "set_sum": "cncpppp",
    "set_mlp_forward": "cncccfppppppp",
    "set_mlp_backward": "cncccpppppppppp",
    "hop_filter_forward": "cnccppppp",
    "hop_filter_backward": "cnccnppnpppppp",
    "hop_scan_forward": "cncpppppp",
    "hop_scan_backward": "cncnppnppppppp",
    "hop_matrices_forward": "ccccpp",
    "hop_matrices_backward": "ccccppp",
    "gate_forward": "cnccufupppcppp",
    "gate_backward": "cnccufupppppp",
    "layers_forward": "cpuppppppp",
    "layers_backward": "cpupppppppppp",
    "layer_kept": "p>n",  # it returns a count, and so do the next two
    "encoder_kept": "p>n",
    "records_room": "p>n",
    "encoder_forward": "cpppppp",
    "encoder_backward": "cpppppppp",
    "merge_states": "cnnnppppppppppp",
}


def library() -> ctypes.CDLL | None:
    """The compiled kernels, or None if they cannot be compiled or `$GREDKIT_KERNELS` is 0."""
    return _found()[0]


def why_none() -> str:
    """The reason why there are no kernels; empty if there are."""
    return _found()[1]


@cache
def _found() -> tuple[ctypes.CDLL | None, str]:
    """The library and the reason if there is none, found once per process; a failure is logged in one line."""
    if os.environ.get(SWITCH) == "0":
        return None, f"{SWITCH} is 0"
    try:
        return load(_built()), ""
    except (CannotCompile, OSError, NotImplementedError) as error:  # the last: a disk without file locks
        why = cause(error)
        log.warning("gredkit runs slower, without its compiled kernels: %s (%s=0 hides this line)", why, SWITCH)
        return None, why


def load(path: Path) -> ctypes.CDLL:
    """Load a library that has been checked, and declare its functions."""
    found = ctypes.CDLL(str(path))
    for name, types in FUNCTIONS.items():
        arguments, _, result = types.partition(">")
        function = getattr(found, name)
        function.argtypes, function.restype = [TYPES[kind] for kind in arguments], TYPES[result or "c"]
    return found


def _built() -> Path:
    """The path of the library, compiled if necessary; its name is a hash of source, compiler and processor."""
    folder = private_folder("kernels")
    compiler = Compiler(folder)
    about = compiler.output(*FLAGS, "-dM", "-E", "-x", "c", os.devnull)
    text = "".join(source.read_text() for source in SOURCES)
    path = folder / f"{xxhash.xxh3_64_hexdigest(f'{about} {FLAGS} {text}'.encode())}.so"
    if not _is_whole(path):
        with FileLock(f"{path}.lock", timeout=2 * SECONDS):
            if not _is_whole(path):
                compile_to(compiler, path)
    return path


def _is_whole(path: Path) -> bool:
    """Whether the file is what was compiled: loading a damaged library would crash the process."""
    try:
        for file in (path, _checksum(path)):
            check_file(file)
        return _checksum(path).read_text() == _digest(path)
    except (FileNotFoundError, PermissionError, UnicodeDecodeError):
        return False


def compile_to(compiler: Compiler, path: Path, *flags: str) -> None:
    """Compile the library and write its checksum; it is first loaded in a separate process as a test."""
    with tempfile.TemporaryDirectory(dir=path.parent) as temporary:
        made = Path(temporary) / "kernels.so"
        files = [str(source) for source in SOURCES if source.suffix == ".c"]
        compiler.output(*FLAGS, *flags, "-shared", *files, "-o", str(made), "-lm")
        try:
            output([sys.executable, "-I", "-S", "-c", TRIAL, str(made), *FUNCTIONS])
            made.chmod(0o700)
        except (OSError, subprocess.SubprocessError):
            raise CannotCompile(f"the output of the C compiler {compiler.name!r} cannot be loaded") from None
        (checksum := Path(temporary) / "checksum").write_text(_digest(made))
        checksum.chmod(0o600)
        checksum.replace(_checksum(path))  # first, because a library without a checksum is compiled again
        made.replace(path)


def _checksum(path: Path) -> Path:
    return path.with_suffix(".checksum")


def _digest(path: Path) -> str:
    return xxhash.xxh3_128_hexdigest(path.read_bytes())
