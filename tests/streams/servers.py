"""A local server for the duration of a test, with the behaviour and the faults of real ones."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Files:
    """The files of the server and its behaviour; `asked` holds the ranges that were requested."""

    def __init__(self, files, ranges=True, break_after=None, silent_length=False):
        self.files, self.ranges, self.break_after, self.silent_length = files, ranges, break_after, silent_length
        self.redirect = None
        self.asked = []


@contextmanager
def serving(files):
    """The address of a server that serves `files` and stops at the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            _answer(self, files)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _answer(handler, files):
    files.asked.append(handler.headers.get("Range"))
    if files.redirect:
        handler.send_response(302)
        handler.send_header("Location", files.redirect)
        handler.end_headers()
        return
    content = files.files.get(handler.path)
    if content is None:
        handler.send_error(404)
        return
    begin = 0
    if files.ranges and handler.headers.get("Range"):
        begin = int(handler.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        if begin >= len(content):
            handler.send_error(416)
            return
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
    else:
        handler.send_response(200)
    piece = content[begin:]
    if not files.silent_length:
        handler.send_header("Content-Length", str(len(piece)))
    handler.end_headers()
    handler.wfile.write(piece if files.break_after is None else piece[: files.break_after])
