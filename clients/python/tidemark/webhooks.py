"""What a receiver of webhooks needs."""
from __future__ import annotations

import hashlib
import hmac
import re
import time
from typing import Optional, Union

SIGNATURE = re.compile(r"t=([0-9]{1,15}),v1=([0-9a-f]{64})")


def verify_webhook(body: Union[bytes, str], signature: str, secret: str, *, tolerance: float = 300.0,
                   now: Optional[float] = None) -> bool:
    """Whether a request comes from a server that knows the secret, and was made just now.

    body: as it came, before it is parsed.
    signature: the header `Tidemark-Signature`.
    tolerance: how many seconds the time of the signature may be away from `now` (seconds since 1970; by default the
        clock's). What is older may be somebody's recording.
    """
    found = SIGNATURE.fullmatch(signature)
    if not found:
        return False
    data = body.encode("utf-8") if isinstance(body, str) else body
    expected = hmac.new(secret.encode("utf-8"), found[1].encode("ascii") + b"." + data, hashlib.sha256).hexdigest()
    fresh = abs((time.time() if now is None else now) - int(found[1])) <= tolerance
    return hmac.compare_digest(expected, found[2]) and fresh
