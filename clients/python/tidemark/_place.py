"""How far a reader of one workspace has come."""
from __future__ import annotations

import re
from typing import Any, Mapping, Optional, Union

from .errors import TidemarkError, protocol_error

Cursor = Union[str, int]
FORM = re.compile(r"(?:([0-9]+)-)?([0-9]+)")


class Place:
    """Decides what is news, so that nothing is given twice and nothing is left out, whatever lies between the server
    and here. `dense`: the reader asked for every event, so that one must follow the other."""

    def __init__(self, after: Optional[Cursor], dense: bool) -> None:
        self._epoch: Optional[int] = None
        self._offset: Optional[int] = None
        self._dense = dense
        if after is None:
            return
        found = FORM.fullmatch(str(after))
        if not found:
            raise TidemarkError("invalid_argument", 0, f"a cursor is <epoch>-<offset> or <offset>, not {after!r}")
        self._epoch = int(found[1]) if found[1] else None
        self._offset = int(found[2])

    @property
    def cursor(self) -> Optional[str]:
        """What to ask the server for; None: from the first event."""
        if self._offset is None:
            return None
        return str(self._offset) if self._epoch is None else f"{self._epoch}-{self._offset}"

    def fits(self, epoch: int, offset: int) -> bool:
        """Whether a stream that begins behind there goes on from here; else a gap has to be told."""
        return self._offset is None or (self._epoch in (None, epoch) and self._offset == offset)

    def move_to(self, epoch: int, offset: int) -> None:
        self._epoch = epoch
        self._offset = offset

    def take(self, event: Mapping[str, Any]) -> bool:
        """Takes the next event. False: the reader has it already. Raises TidemarkError `protocol` if something is
        missing before it; the place stays as it was."""
        last = self._offset or 0
        epoch, offset = event["epoch"], event["offset"]
        if self._epoch not in (None, epoch) or (self._dense and offset > last + 1):
            raise protocol_error(f"{epoch}-{offset} came after {self.cursor or 'the beginning'}")
        if offset <= last:
            return False
        self._offset = offset
        return True
