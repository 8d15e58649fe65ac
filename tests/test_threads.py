"""Small matrices are worked on by one thread, and the setting is the old one afterwards."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from noap.runtime import threads
from noap.runtime.threads import one_thread


def counts():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


def test_small_matrices_have_one_thread_and_large_ones_what_they_had():
    np.linalg.eigvalsh(np.eye(3))
    before = counts()
    with one_thread(100):
        assert set(counts()) == {1}
    assert counts() == before
    with one_thread(threads._SMALL + 1):
        assert counts() == before
    with pytest.raises(KeyboardInterrupt), one_thread(2):
        raise KeyboardInterrupt
    assert counts() == before
