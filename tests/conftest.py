"""Shared fixtures: explicit seeds, no hidden state."""

import os
import signal
import sys
from pathlib import Path

# Read by scipy when it is imported: without it scikit-learn skips its check of array API input.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))  # so that tests can `import judge`
sys.path.insert(1, str(Path(__file__).parent.parent))  # and `import benchmarks`

# The machine that runs the suite may be slow and shared: no deadline; the same examples every time.
settings.register_profile("noap", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("noap")

# A job in the background is started with Ctrl-C switched off, and Python leaves it so: tests that press it need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="module")
def own_processes():
    """Leave joblib's processes to no other file: one that Ctrl-C was pressed in may have left them waiting for good."""
    yield
    known = sys.modules.get("joblib.externals.loky.reusable_executor")
    if known is not None and known._executor is not None:
        known._executor.shutdown(wait=False, kill_workers=True)
        known._executor = None
