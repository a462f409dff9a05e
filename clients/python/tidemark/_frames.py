"""Server-sent events (WHATWG HTML, 9.2.6) as far as a reader of Tidemark needs them."""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import List, Optional

LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True)
class Frame:
    type: str
    data: str
    id: str  # as the server set it last; empty: never
    retry: Optional[float]  # seconds; set if the server suggested it with this frame


class FrameParser:
    """Bytes in, frames out, however the bytes are split."""

    def __init__(self) -> None:
        self._line: List[bytes] = []  # pieces of the line that has not ended
        self._held = b""  # a CR that a LF may follow
        self._type = ""
        self._id = ""
        self._data: List[str] = []
        self._retry: Optional[float] = None

    def feed(self, piece: bytes) -> List[Frame]:
        piece = self._held + piece
        self._held = b"\r" if piece.endswith(b"\r") else b""
        lines = LINE_END.split(piece[:-1] if self._held else piece)
        frames: List[Frame] = []
        for end in lines[:-1]:
            self._line.append(end)
            self._take(b"".join(self._line), frames)
            self._line = []
        self._line.append(lines[-1])
        return frames

    def _take(self, line: bytes, frames: List[Frame]) -> None:
        if not line:
            self._dispatch(frames)
            return
        name, _, value = line.partition(b":")
        text = value[1:] if value.startswith(b" ") else value
        if name == b"data":
            self._data.append(text.decode("utf-8", "replace"))
        elif name == b"event":
            self._type = text.decode("utf-8", "replace")
        elif name == b"id":
            self._id = text.decode("utf-8", "replace")
        elif name == b"retry" and text.isdigit():
            self._retry = int(text) / 1000

    def _dispatch(self, frames: List[Frame]) -> None:
        if self._data:
            frames.append(Frame(self._type or "message", "\n".join(self._data), self._id, self._retry))
            self._retry = None
        self._type = ""
        self._data = []
