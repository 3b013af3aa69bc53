"""Compiles the kernels for the machine at hand, once, with its own C compiler; without one there are no kernels."""

import ctypes
import logging
import os
import shlex
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import xxhash
from filelock import FileLock

from gredkit.data.root import data_root

log = logging.getLogger(__name__)

SOURCES = sorted(Path(__file__).parent.glob("*.[ch]"))
# Sums stay in the order in which they are written, and what is not finite stays so.
FLAGS = ("-O3", "-march=native", "-fopenmp", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-fPIC")
SECONDS = 120.0  # for a compiler

# What the functions take, and what follows > they return: c is int, n a count, u unsigned, f float, p a pointer.
TYPES = {"c": ctypes.c_int, "n": ctypes.c_int64, "u": ctypes.c_uint32, "f": ctypes.c_float, "p": ctypes.c_void_p}
FUNCTIONS = {
    "set_sum": "cncpppp",
    "transpose": "cnnpppp>c",
    "arrange": "cnnnppppp>n",
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
    "layer_kept": "p>n",
    "layers_forward": "cpuppppppp",
    "layers_backward": "cpupppppppppp",
}


@cache
def library() -> ctypes.CDLL | None:
    """The compiled kernels, or None where they cannot be had or `$GREDKIT_KERNELS` is 0."""
    if os.environ.get("GREDKIT_KERNELS") == "0":
        return None
    compiler = shlex.split(os.environ.get("CC") or "cc")
    if shutil.which(compiler[0]) is None:
        log.info("there is no C compiler, so the layers run in PyTorch alone, slower")
        return None
    try:
        found = ctypes.CDLL(str(_built(compiler)))
    except (OSError, subprocess.SubprocessError, NotImplementedError) as error:  # the last: a disk without locks
        log.info("the kernels cannot be compiled, so the layers run in PyTorch alone, slower: %s", error)
        return None
    for name, types in FUNCTIONS.items():
        arguments, _, result = types.partition(">")
        function = getattr(found, name)
        function.argtypes, function.restype = [TYPES[kind] for kind in arguments], TYPES.get(result)
    return found


def _built(compiler: list[str]) -> Path:
    """The library, compiled unless it is there; its name says for which source, compiler and processor."""
    about = _output([*compiler, *FLAGS, "-dM", "-E", "-x", "c", os.devnull])
    text = "".join(source.read_text() for source in SOURCES)
    name = xxhash.xxh3_64_hexdigest(f"{about} {FLAGS} {text}".encode())
    folder = Path(os.environ.get("GREDKIT_CACHE") or data_root()) / "kernels"
    path = folder / f"{name}.so"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}.lock"), tempfile.TemporaryDirectory(dir=folder) as temporary:
            if not path.is_file():
                made = Path(temporary) / "kernels.so"
                files = [str(source) for source in SOURCES if source.suffix == ".c"]
                _output([*compiler, *FLAGS, "-shared", *files, "-o", str(made), "-lm"])
                made.replace(path)  # whole or not at all
    return path


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS).stdout
