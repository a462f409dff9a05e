"""How long to wait between attempts."""
from __future__ import annotations

import random

LONGEST_WAIT = 30.0  # seconds that a client waits by itself


def delay_after(failures: int, base: float, asked: float = 0.0, chance: "float | None" = None) -> float:
    """Seconds to wait before the next attempt: doubled with every failure in a row (`failures`, from 0), up to 30 s,
    and spread by half, so that many clients do not come back at once. Never shorter than the server asked for.

    `base` is the wait after the first failure, in seconds; `chance` lies between 0 and 1."""
    doubled = min(base * 2 ** min(failures, 16), max(LONGEST_WAIT, base))
    spread = random.random() if chance is None else chance
    return max(asked, doubled) * (1 + spread / 2)
