"""tools/noap_check.py as a module, and its verdict on a file: the second checker, which shares no code with noap."""

import importlib.util
from pathlib import Path

import numpy as np

PATH = Path(__file__).parents[1] / "tools" / "noap_check.py"
spec = importlib.util.spec_from_file_location("noap_check", PATH)
assert spec is not None
assert spec.loader is not None
noap_check = importlib.util.module_from_spec(spec)
spec.loader.exec_module(noap_check)


def second_verdict(raw, data):
    """Return None where it accepts the bytes of a file for these data, else its reason."""
    try:
        certificate = noap_check.Certificate(raw)
        noap_check.proved(certificate, noap_check.array("d", np.ravel(data).tolist()))
    except noap_check.Reject as reason:
        return str(reason)
    return None
