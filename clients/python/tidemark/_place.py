"""How far a reader has come: it decides what is news, so that nothing is given twice and nothing is left out, whatever
lies between the server and here."""
from __future__ import annotations

import re
from typing import Any, Mapping, Optional, Tuple, Union

from .errors import Gap, TidemarkError, protocol_error

Cursor = Union[str, int]
FORM = re.compile(r"(?:([0-9]+)-)?([0-9]+)")


def parse_cursor(after: Optional[Cursor], form: str) -> Tuple[Optional[int], Optional[int]]:
    if after is None:
        return None, None
    found = FORM.fullmatch(str(after))
    if not found:
        raise TidemarkError("invalid_argument", 0, f"a cursor is {form}, not {after!r}")
    return int(found[1]) if found[1] else None, int(found[2])


def cursor_text(epoch: Optional[int], number: Optional[int]) -> Optional[str]:
    """What to ask the server for; None: from the first event."""
    if number is None:
        return None
    return str(number) if epoch is None else f"{epoch}-{number}"


class Place:
    """In one workspace. `dense`: the reader asked for every event, so that one must follow the other."""

    def __init__(self, after: Optional[Cursor], dense: bool) -> None:
        self._epoch, self._offset = parse_cursor(after, "<epoch>-<offset> or <offset>")
        self._dense = dense
        self._elsewhere: Optional[Tuple[int, int]] = None  # where the stream begins if not here: a gap has to follow

    @property
    def cursor(self) -> Optional[str]:
        return cursor_text(self._epoch, self._offset)

    @property
    def expects_gap(self) -> bool:
        """Whether the stream said that it goes on elsewhere, and not yet why."""
        return self._elsewhere is not None

    def connect(self) -> None:
        self._elsewhere = None

    def begin(self, hello: Mapping[str, int]) -> None:
        begins = hello["epoch"], hello["resumed_after"]
        if self._offset is None or (self._epoch in (None, begins[0]) and self._offset == begins[1]):
            self._epoch, self._offset = begins
        else:
            self._elsewhere = begins

    def leap(self, gap: Gap) -> None:
        """Goes on behind the gap."""
        if self._elsewhere is not None:
            self._epoch, self._offset = self._elsewhere
        self._elsewhere = None

    def pass_by(self, progress: Mapping[str, Any]) -> None:
        """Only a reader of the whole log hears of those."""

    def take(self, event: Mapping[str, Any], id: str) -> bool:
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


class LogPlace:
    """In the whole log: its epoch and a position. Retention may have removed what lies between two events."""

    def __init__(self, after: Optional[Cursor]) -> None:
        self._epoch, self._position = parse_cursor(after, "<log epoch>-<position> or <position>")

    expects_gap = False

    @property
    def cursor(self) -> Optional[str]:
        return cursor_text(self._epoch, self._position)

    def connect(self) -> None:
        """Nothing is known of the stream until it says so."""

    def begin(self, hello: Mapping[str, int]) -> None:
        """It tells the head of the log, which is no place of the reader's."""

    def leap(self, gap: Gap) -> None:
        self._epoch, self._position = (gap.epoch, gap.head) if gap.reason == "ahead" else (None, None)

    def pass_by(self, progress: Mapping[str, Any]) -> None:
        """What was looked at and did not fit need not be looked at again."""
        self._position = max(self._position or 0, progress["position"])

    def take(self, event: Mapping[str, Any], id: str) -> bool:
        epoch, position = parse_cursor(id, "the id of a frame")
        if epoch is None or position is None or position != event["position"] or self._epoch not in (None, epoch):
            raise protocol_error(f"the event with the id {id!r} came after {self.cursor or 'the beginning'}")
        if position <= (self._position or 0):
            return False
        self._epoch, self._position = epoch, position
        return True
