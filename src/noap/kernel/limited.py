"""A check in a process of its own, which is stopped where its time or memory ends; run as a module, the child."""

import contextlib
import os
import pickle
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from noap.kernel.arithmetic import cholesky
from noap.kernel.certificate import Certificate

if TYPE_CHECKING:
    from noap.kernel.verify import Verification
    from noap.problem import Problem

__all__ = ["verify_within"]

_OUT_OF_MEMORY = 3
# Seconds between two looks whether the parent is still there.
_LOOK = 0.5


def verify_within(
    problem: "Problem", certificate: Certificate, seconds: float | None, megabytes: float | None, threads: int
) -> "Verification | str":
    """Return what a child process could prove within these limits, or why it was stopped.

    The limit of memory counts what the child allocates beside the problem and the certificate; it holds on Linux.
    """
    sent = pickle.dumps((megabytes, problem, certificate.to_bytes(), threads), protocol=5)
    with subprocess.Popen(
        [sys.executable, "-m", "noap.kernel.limited", str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        try:
            answer, error = child.communicate(sent, timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            return f"it could not be proved within {seconds:g} seconds"
        except BaseException:
            child.kill()
            raise
    # What NumPy cannot allocate raises; LAPACK's own work space ends the process with words on memory.
    if child.returncode == _OUT_OF_MEMORY or child.returncode < 0 or b"emory alloc" in error:
        return f"it could not be proved within {megabytes or 0:g} megabytes"
    if child.returncode != 0:
        last = error.decode(errors="replace").strip().splitlines()[-1:]
        raise RuntimeError(f"The process that checks the certificate failed: {''.join(last)}")
    found: Verification = pickle.loads(answer)
    return found


def _limit_memory(megabytes: float) -> None:
    """Let this process allocate no more than so much beyond what it holds, where the system can be told so."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/status") as status:
            held = next(int(line.split()[1]) for line in status if line.startswith("VmData"))
        most = 1024 * held + int(1e6 * megabytes)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _take_work_space() -> None:
    """Let BLAS and LAPACK allocate what they keep: where OpenBLAS gets none it asks again and again, for good."""
    from scipy.linalg.lapack import dtrtrs

    P = np.eye(256)
    dtrtrs(cholesky(P @ P), P, lower=1)


def _answer(given: tuple[float | None, Any, bytes, int]) -> bytes:
    from noap.kernel.verify import verify_certificate

    megabytes, problem, data, threads = given
    certificate = Certificate.from_bytes(data, memory_limit=None if megabytes is None else max(megabytes, 1.0))
    if megabytes is not None:
        _take_work_space()
        _limit_memory(megabytes)
    return pickle.dumps(verify_certificate(problem, certificate, threads=threads))


def _end_with(parent: int) -> None:
    """End this process when its parent is gone: nobody reads its answer then."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with, args=(int(sys.argv[1]),), daemon=True).start()
    try:
        sys.stdout.buffer.write(_answer(pickle.load(sys.stdin.buffer)))
    except MemoryError:
        sys.exit(_OUT_OF_MEMORY)
