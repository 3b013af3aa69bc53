"""python tests/nn/kernels/sanitize.py [PYTEST OPTIONS]: the tests of the kernels with AddressSanitizer and UBSan.

The kernels are compiled so that every byte that is read or written out of place, and all that C leaves undefined,
ends the process with a report. Needs gcc with its libasan; takes a few minutes.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
CHECKS = "address,undefined,float-cast-overflow"
TESTS = tuple(
    f"test_{name}.py" for name in ("kernel_ops", "encoder_ops", "kernel_misuse", "kernel_memory", "kernels_in_models")
)


def found(compiler: str, library: str) -> str:
    path = subprocess.run([compiler, f"-print-file-name={library}"], capture_output=True, text=True, check=True).stdout
    if not Path(path.strip()).is_absolute():
        sys.exit(f"{compiler} has no {library}")
    return path.strip()


def main() -> None:
    compiler = os.environ.get("CC") or "gcc"
    libraries = [found(compiler, "libasan.so"), found(compiler, "libstdc++.so")]  # PyTorch throws, and asan listens
    with tempfile.TemporaryDirectory() as folder:
        flags = f"-O1 -g -fno-omit-frame-pointer -fsanitize={CHECKS} -fno-sanitize-recover=all"
        (checking := Path(folder) / "compile").write_text(f'#!/bin/sh\nexec {compiler} "$@" {flags}\n')
        checking.chmod(0o700)
        environment = {
            **os.environ,
            "CC": str(checking),
            "GREDKIT_COMPILED": f"{folder}/code",
            "LD_PRELOAD": " ".join(libraries),
            # Python and PyTorch never free all that they hold; a request that is too large has to fail, not to end all.
            "ASAN_OPTIONS": f"detect_leaks=0:allocator_may_return_null=1:log_path={folder}/report",
            "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={folder}/report",
        }
        tests = [str(HERE / name) for name in TESTS]
        command = [sys.executable, "-X", "faulthandler", "-m", "pytest", "-x", *tests, *sys.argv[1:]]
        code = subprocess.run(command, env=environment).returncode
        for report in Path(folder).glob("report*"):  # pytest has taken stderr
            print(report.read_text(), file=sys.stderr)
        sys.exit(code)


if __name__ == "__main__":
    main()
