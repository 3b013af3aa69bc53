"""A proxy before an HTTP server that disturbs some of the answers."""

import http.client
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FAULTS = ("cut", "half", "lost", "500", "503 after", "delay", "hang")
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length"}


class Proxy:
    """Listens on loopback; `choose` says, by the number of a request, what happens to it.

    cut: it is answered, and the answer does not arrive. half: half of it does. lost: it does not reach the server.
    500: instead of reaching the server. 503 after: after reaching it. delay: the answer comes late. hang: it never
    comes.
    """

    def __init__(self, port: int, choose: Callable[[int], str | None]):
        self.requests, self.disturbed = 0, Counter[str]()
        self._upstream, self._choose, self._lock = port, choose, threading.Lock()
        self._closing = threading.Event()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                proxy._handle(self)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

            def log_message(self, *said: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *about: object) -> None:  # who asked has gone
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.uri = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def _handle(self, asked: BaseHTTPRequestHandler) -> None:
        body = asked.rfile.read(int(asked.headers.get("Content-Length") or 0))
        with self._lock:
            fault = self._choose(self.requests)
            self.requests += 1
            if fault:
                self.disturbed[fault] += 1
        if fault == "500":
            return _answer(asked, 500, {}, b"")
        if fault == "lost":
            asked.close_connection = True
            return None
        status, headers, answer = self._forward(asked, body)
        if fault == "delay":
            time.sleep(0.3)
        if fault == "hang":
            self._closing.wait(60)
        if fault in ("cut", "hang"):
            asked.close_connection = True
        elif fault == "503 after":
            _answer(asked, 503, {}, b"")
        else:
            _answer(asked, status, headers, answer, half=fault == "half")
        return None

    def _forward(self, asked: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, str], bytes]:
        server = http.client.HTTPConnection("127.0.0.1", self._upstream, timeout=120)
        headers = {name: value for name, value in asked.headers.items() if name.lower() not in HOP_BY_HOP}
        server.request(asked.command, asked.path, body, headers)
        got = server.getresponse()
        answer = got.read()
        server.close()
        return got.status, {name: value for name, value in got.getheaders() if name.lower() not in HOP_BY_HOP}, answer


def _answer(
    asked: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes, *, half: bool = False
) -> None:
    asked.send_response_only(status)
    for name, value in {**headers, "Content-Length": str(len(body))}.items():
        asked.send_header(name, value)
    asked.end_headers()
    asked.wfile.write(body[: len(body) // 2] if half else body)
    asked.wfile.flush()
    if half:
        asked.close_connection = True
