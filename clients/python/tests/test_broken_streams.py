"""What networks, proxies and servers in trouble do to a stream: by a stand-in for the server."""
import email.message
import json
import socketserver
import threading
import unittest
import urllib.parse

import tidemark
from tidemark._frames import FrameParser
from tidemark._waiting import delay_after
from tidemark.errors import error_of

TOTAL = 12
ALL = list(range(1, TOTAL + 1))
END = f'id: 1-{TOTAL}\nevent: end\ndata: {{"epoch":1,"head":{TOTAL}}}\n\n'


def envelope(offset: int, epoch: int = 1) -> str:
    event = {"workspace": "w", "epoch": epoch, "offset": offset, "position": offset, "type": "fault",
             "time": "2026-01-01T00:00:00.000Z", "data": {"component": "test", "message": f"müde {offset}"}}
    return f"id: {epoch}-{offset}\nevent: fault\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"


def hello(after: int, epoch: int = 1) -> str:
    data = json.dumps({"epoch": epoch, "head": TOTAL, "first": 1, "resumed_after": after})
    return f"id: {epoch}-{after}\nevent: hello\nretry: 1\ndata: {data}\n\n"


def stream(after: int) -> str:
    """What a sound server sends to who has everything up to `after`."""
    return hello(after) + "".join(map(envelope, range(after + 1, TOTAL + 1))) + END


def answer(text: str, status: str = "200 OK", headers: str = "") -> bytes:
    body = text.encode()
    return (f"HTTP/1.1 {status}\r\nContent-Type: text/event-stream\r\n{headers}"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def breaking(body: bytes) -> bytes:
    """An answer in chunks without the last one."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + (b"%x\r\n%s\r\n" % (len(body), body) if body else b"")


class StandIn(socketserver.ThreadingTCPServer):
    """Answers each connection as the script says, which is given the offset asked for and the number of the call."""

    daemon_threads = True

    def __init__(self, script) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = script
        self.calls = 0

    def __enter__(self):
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.thread.join()
        self.server_close()


class Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        target = self.rfile.readline().split()[1].decode()
        while self.rfile.readline() not in (b"\r\n", b""):
            pass
        after = urllib.parse.parse_qs(urllib.parse.urlsplit(target).query).get("after", ["0"])[0]
        call = self.server.calls
        self.server.calls += 1
        self.wfile.write(self.server.script(int(after.split("-")[-1]), call))


def read(script, **options):
    """The offsets that a reader is given while its connections go as scripted, and the number of these."""
    with StandIn(script) as server:
        client = tidemark.Client(f"http://127.0.0.1:{server.server_address[1]}")
        return [e["offset"] for e in client.workspace("w").events(**options)], server.calls


class BrokenStreams(unittest.TestCase):
    def test_a_stream_may_break_anywhere(self):
        whole = stream(0).encode()
        begin = len(hello(0))  # before it the client waits by its own measure
        for cut in range(begin, len(whole), 17):
            seen, _ = read(lambda after, call: breaking(whole[:cut]) if call == 0 else answer(stream(after)))
            self.assertEqual(seen, ALL, f"cut behind byte {cut}")

    def test_events_that_come_again_are_given_once_and_one_that_is_missing_is_fetched(self):
        twice = hello(0) + "".join(map(envelope, (1, 2, 2, 1, 3)))
        hole = hello(3) + envelope(4) + envelope(6)
        seen, _ = read(lambda after, call: answer((twice, hole, stream(after))[min(call, 2)]))
        self.assertEqual(seen, ALL)

    def test_a_stream_that_begins_elsewhere_without_a_word_is_not_believed(self):
        first, other = hello(0) + envelope(1) + envelope(2), hello(7) + envelope(8)
        seen, _ = read(lambda after, call: answer((first, other, stream(after))[min(call, 2)]))
        self.assertEqual(seen, ALL)

    def test_holes_that_stay_end_the_reading_and_nothing_of_another_epoch_gets_through(self):
        for text in (envelope(3), envelope(2, 5), "event: fault\ndata: {\n\n"):
            with self.assertRaises(tidemark.TidemarkError) as caught:
                read(lambda *_: answer(hello(0) + envelope(1) + text), retry_for=0.02)
            self.assertEqual(caught.exception.code, "protocol")

    def test_answers_of_servers_and_proxies_in_trouble_are_tried_again(self):
        later = json.dumps({"code": "unavailable", "detail": "later", "status": 503})
        overload = 'event: overload\nretry: 1\ndata: {"reason":"readers"}\n\n'
        answers = [answer("<html>bad gateway</html>", "502 Bad Gateway"),
                   answer(later, "503 Service Unavailable", "Retry-After: 0\r\n"), answer(overload)]
        seen, calls = read(lambda after, call: answers[call] if call < 3 else
                           answer(hello(after)) if call == 3 else answer(stream(after)))
        self.assertEqual((seen, calls), (ALL, 5))

    def test_a_failure_that_the_stream_itself_tells_ends_the_reading_and_204_means_that_all_was_read(self):
        problem = json.dumps({"type": "urn:x", "title": "x", "status": 401, "code": "unauthorized", "detail": "revoked"})
        with self.assertRaisesRegex(tidemark.TidemarkError, r"revoked \(unauthorized\)"):
            read(lambda *_: answer(f"{hello(0)}{envelope(1)}event: error\ndata: {problem}\n\n"))
        done = b"HTTP/1.1 204 No Content\r\n\r\n"
        seen, calls = read(lambda after, call: answer(stream(0).replace(END, "")) if call == 0 else done)
        self.assertEqual((seen, calls), (ALL, 2))

    def test_frames_are_the_same_however_their_bytes_are_split(self):
        for ending in ("\n", "\r\n", "\r"):
            text = ("\n" + stream(0)).replace("\n", ending).encode()
            whole = FrameParser().feed(text + b"\n")
            self.assertEqual(len(whole), TOTAL + 2)
            for size in (1, 2, 3, 7):
                parser = FrameParser()
                pieces = [text[at:at + size] for at in range(0, len(text), size)] + [b"\n"]
                self.assertEqual([frame for piece in pieces for frame in parser.feed(piece)], whole)

    def test_waits_double_end_at_a_bound_are_spread_and_are_never_shorter_than_the_server_asked(self):
        self.assertEqual(delay_after(0, 0.5, chance=0), 0.5)
        self.assertEqual(delay_after(3, 0.5, chance=0), 4)
        self.assertEqual(delay_after(50, 0.5, chance=0), 30)
        self.assertEqual(delay_after(0, 0.5, chance=1), 0.75)
        self.assertEqual(delay_after(0, 0.5, 60, chance=0), 60)
        self.assertEqual(delay_after(0, 45, chance=0), 45)

    def test_what_the_server_or_a_proxy_asks_to_wait_is_understood_as_seconds_and_as_a_date(self):
        def asked(wait: str) -> float:
            headers = email.message.Message()
            headers["Retry-After"] = wait
            return error_of(503, headers, b"").retry_after

        self.assertEqual(asked("7"), 7)
        self.assertEqual(asked("Thu, 01 Jan 1970 00:00:00 GMT"), 0)
        self.assertEqual(asked("soon"), 0)


if __name__ == "__main__":
    unittest.main()
