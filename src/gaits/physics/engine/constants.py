"""The numbers of Bullet's world that the robots live in (ENGINE 1.5, 6)."""

from __future__ import annotations

import numpy as np

SUBSTEPS = 4
DT = 0.0165 / SUBSTEPS
GRAVITY = -9.8
DAMPING = float(np.float32(0.04))
ITERATIONS = 5
RESIDUAL = 1e-7
CONTACT_ERP = 0.9
FRICTION_ERP = LIMIT_ERP = 0.2
SLOP = 1e-5
LIMIT_DEPTH = -float(np.float32(0.04))
LIMIT_IMPULSE = 100.0
CONTACT_IMPULSE = float(np.float32(1e10))
POINTS = 4  # a manifold has at most
TOUCHES = 64  # room for as many spots between links
