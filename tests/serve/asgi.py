"""The application without its server, for tests."""

import asyncio
import json


async def answer(app, path, pieces, method="POST"):
    """What the application answers to a request whose body comes in pieces; None stands for one that never comes."""
    sent, left = [], list(pieces)

    async def receive():
        piece = left.pop(0)
        if piece is None:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": piece, "more_body": bool(left)}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "method": method, "path": path, "query_string": b"", "client": ("127.0.0.1", 1),
        "headers": [(b"host", b"localhost")],
    }  # fmt: skip
    await app(scope, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), json.loads(sent[1]["body"]), left
