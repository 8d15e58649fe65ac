"""Proofs that someone else can check: their file, and the checker."""

from noap.certificate.certificate import Certificate
from noap.certificate.verify import Verification, verify

__all__ = ["Certificate", "Verification", "verify"]
