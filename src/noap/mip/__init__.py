"""The paper's mixed-integer programs, strengthened, on whatever solver is installed."""

from noap.mip.backends.registry import BackendInfo, list_backends
from noap.mip.cuts import Cuts
from noap.mip.run import run_mip, run_mip_r

__all__ = ["BackendInfo", "Cuts", "list_backends", "run_mip", "run_mip_r"]
