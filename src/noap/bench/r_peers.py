"""Sparse PCA of R packages, through one Rscript process that keeps its data between answers.

Only what happens inside R is timed: R's own CPU seconds of a fit, without starting R or handing over data. Nothing
needs R; without it, or without a package, the peer takes no part.
"""

import atexit
import contextlib
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from noap.linalg.types import FloatArray
from noap.measuring.timing import Elsewhere

__all__ = ["ABSENT", "prepare_with", "r_packages"]

# Sparse PCA that Debian does not package; CRAN has it.
ABSENT = ("elasticnet", "sparsepca", "nsprcomp", "msPCA")
_USED = ("irlba", "pcaPP")
_FITS = 20  # as for scikit-learn: fits per search for the penalty

_PROGRAM = r"""
input <- file("stdin", "r")
for (name in c("irlba", "pcaPP")) requireNamespace(name, quietly = TRUE)
fits <- list(
  # Sparse principal components by regularised singular vectors, with the number of features as an argument.
  irlba = function(X, k) irlba::ssvd(X, k = 1, n = k)$v[, 1],
  # Projection pursuit on a grid with a penalty, which is looked for by halving. The number of features jumps with it:
  # of all vectors on the way the one of largest variance is taken, cut to k features.
  pcaPP = function(X, k) {
    low <- 0; high <- 4 * max(apply(X, 2, var)); best <- NULL; most <- -1
    for (step in 1:FITS) {
      lambda <- if (step == 1) 0 else (low + high) / 2
      v <- pcaPP::sPCAgrid(X, k = 1, method = "sd", lambda = lambda, center = function(x) 0)$loadings[, 1]
      count <- sum(v != 0)
      if (count > k) low <- lambda else high <- lambda
      v[order(-abs(v))[-(1:k)]] <- 0
      v <- v / sqrt(sum(v^2))
      if (var(X %*% v) > most) { best <- v; most <- var(X %*% v) }
      if (count == k) break
    }
    best
  }
)
repeat {
  line <- readLines(input, 1)
  if (length(line) == 0) break
  asked <- strsplit(line, "\t")[[1]]
  if (asked[1] == "load") {
    n <- as.integer(asked[3]); d <- as.integer(asked[4])
    X <- matrix(readBin(asked[2], "double", n * d), n, d)
    cat("ready\n")
  } else {
    before <- proc.time()
    v <- tryCatch(suppressWarnings(fits[[asked[1]]](X, as.integer(asked[2]))), error = function(e) rep(0, ncol(X)))
    spent <- sum((proc.time() - before)[1:2])
    cat(formatC(c(spent, v), digits = 17), "\n")
  }
  flush(stdout())
}
""".replace("FITS", str(_FITS))


@functools.cache
def r_packages() -> dict[str, str]:
    """Return the versions of R and of its packages that are here; empty without R."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        return {}
    program = 'cat("R", paste(R.version$major, R.version$minor, sep = "."), "\\n"); for (p in commandArgs(TRUE)) '
    program += 'if (requireNamespace(p, quietly = TRUE)) cat(p, as.character(packageVersion(p)), "\\n")'
    try:
        said = subprocess.check_output([rscript, "-e", program, *_USED, *ABSENT], text=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(line.split() for line in said.splitlines() if line.strip())


class _Session:
    """An R process; it ends with this one."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        program = Path(self.folder.name) / "peers.R"
        program.write_text(_PROGRAM, encoding="utf-8")
        self.process = subprocess.Popen(
            ["Rscript", str(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.held: object = None
        atexit.register(self.close)

    def ask(self, *words: object) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def load(self, X: FloatArray) -> None:
        """Hand over X, unless R has it."""
        if self.held is not X:
            place = Path(self.folder.name) / "X.bin"
            np.asfortranarray(X).ravel(order="F").tofile(place)
            self.ask("load", place, *X.shape)
            self.held = X

    def close(self) -> None:
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        self.process.wait(timeout=10)
        self.folder.cleanup()


@functools.cache
def _session() -> _Session:
    return _Session()


def prepare_with(package: str) -> Callable[[FloatArray, int], Callable[[], Any]]:
    """Return the function that prepares jobs of a package: covariance and k to a job."""

    def prepare(S: FloatArray, k: int) -> Callable[[], Any]:
        # Samples with exactly this covariance; each comes with its negative, so that means are 0.
        eigenvalues, eigenvectors = np.linalg.eigh(S)
        kept = eigenvalues > 1e-12 * eigenvalues[-1]
        half = np.sqrt(eigenvalues[kept] * np.count_nonzero(kept))[:, None] * eigenvectors[:, kept].T
        X = np.concatenate([half, -half])

        def job() -> Elsewhere:
            session = _session()
            session.load(X)
            cpu, *v = map(float, session.ask(package, k).split())
            return Elsewhere(np.array(v), cpu)

        return job

    return prepare
