"""Why a call failed."""
from __future__ import annotations

import email.message
import email.utils
import json
import time
from dataclasses import dataclass
from typing import Any, Dict, Optional

WORTH_RETRYING = frozenset({408, 429, 502, 503, 504})


@dataclass(frozen=True)
class Gap:
    """Stands between events where the stream cannot simply go on: what lies between `requested` and the next event
    is not there. After `epoch` (the workspace was deleted and made again) and `trimmed` (removed by retention) the
    stream goes on from `first`, after `ahead` behind `head`."""

    reason: str
    requested: str
    first: int
    head: int
    epoch: int


class TidemarkError(Exception):
    """A call that failed: refused by the server, or without an answer."""

    code: str  #: for programs: `not_found`, `unauthorized`, `unreachable`, …
    status: int  #: the HTTP status; 0 if there was no answer
    detail: str  #: for people
    retryable: bool  #: whether the same call may succeed later
    retry_after: float  #: seconds that the server asked to wait
    problem: Optional[Dict[str, Any]]  #: the server's problem details

    def __init__(self, code: str, status: int, detail: str, retryable: bool = False, retry_after: float = 0.0,
                 problem: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(f"{detail} ({code})")
        self.code = code
        self.status = status
        self.detail = detail
        self.retryable = retryable
        self.retry_after = retry_after
        self.problem = problem


class GapError(TidemarkError):
    """The events that a reader asked for are not all there; see `gap`."""

    gap: Gap

    def __init__(self, gap: Gap) -> None:
        super().__init__(gap.reason, 200, f"the events after {gap.requested} are not there: the stream has "
                         f"{gap.epoch}-{gap.first} to {gap.epoch}-{gap.head}")
        self.gap = gap


def unreachable(why: object) -> TidemarkError:
    """No connection, or one that broke."""
    return TidemarkError("unreachable", 0, f"no answer from the server: {why or type(why).__name__}", True)


def protocol_error(detail: str) -> TidemarkError:
    """What came cannot be what the server sent."""
    return TidemarkError("protocol", 200, detail, True)


def _retry_after_of(header: Optional[str]) -> float:
    """Seconds; the header holds them, or a date."""
    if header is None:
        return 0.0
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (TypeError, ValueError):
        return 0.0


def error_of(status: int, headers: email.message.Message, body: bytes) -> TidemarkError:
    """What an answer other than the expected one means. Proxies answer in forms of their own."""
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    said: Dict[str, Any] = found if isinstance(found, dict) else {}
    v1 = said.get("error")
    v1 = v1 if isinstance(v1, dict) else {}
    is_problem = isinstance(said.get("code"), str) and isinstance(said.get("detail"), str)
    code = said["code"] if is_problem else v1.get("code", f"http_{status}")
    detail = said["detail"] if is_problem else v1.get("message", f"the server answered {status}")
    retryable = status in WORTH_RETRYING or said.get("retryable") is True or v1.get("retryable") is True
    return TidemarkError(code, status, detail, retryable, _retry_after_of(headers.get("Retry-After")),
                         said if is_problem else None)


def error_of_problem(problem: Dict[str, Any]) -> TidemarkError:
    """A problem that came as the last frame of a stream."""
    retryable = problem.get("retryable") is True or problem["status"] in WORTH_RETRYING
    return TidemarkError(problem["code"], problem["status"], problem["detail"], retryable, problem=problem)
