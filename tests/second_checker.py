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


def proved(raw, data, say=id):
    """Return value and bound, in decimals, that it proves by the bytes of a file; or it raises Reject."""
    return noap_check.proved(noap_check.Certificate(raw), noap_check.array("d", np.ravel(data).tolist()), say)


def second_verdict(raw, data):
    """Return None where it accepts the bytes of a file for these data, else its reason."""
    try:
        proved(raw, data)
    except noap_check.Reject as reason:
        return str(reason)
    return None


def refusal(problem, certificate):
    """Return why it refuses a certificate, or the bytes of a file, of a problem; None where it accepts."""
    raw = certificate if isinstance(certificate, bytes) else certificate.to_bytes()
    return second_verdict(raw, problem.covariance if problem.X is None else problem.X)


def words(raw, data):
    """Return what it says of a claim and of its proof."""
    said = [noap_check.about(noap_check.Certificate(raw))]
    proved(raw, data, said.append)
    return "\n".join(said)
