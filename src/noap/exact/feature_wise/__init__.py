"""The search for adversaries that leave (|Xv| - rho |v|_1)_+: vanilla and feature-wise."""
