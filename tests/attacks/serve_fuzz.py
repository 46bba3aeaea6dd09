"""Requests made from the service's own description, right ones and damaged ones: an answer of 2xx or 4xx, always.

Every operation of /v1/openapi.json gets bodies that its schema allows, bodies with something replaced by something
else, and bodies whose bytes were damaged. A 5xx, an answer that is not JSON with a sentence, or a service that ends is
a failure; afterwards the log must give the model that is served.

`PYTHONPATH=tests python -m attacks.serve_fuzz --count 20000`.
"""

import argparse
import collections
import http.client
import json
import random
import tempfile
from pathlib import Path
from urllib.parse import quote

from serve.service_process import served
from weft.serve.recovery import rebuilt

ODD = [
    None, True, False, 0, -1, 1, 2**63, -(2**70), 1e308, 1e-320, "", "a", "\u0000", "\ud83d\ude00", "x" * 3000, [], {},
    [[]], {"": 0}, {"a": None}, [1, "a"], {"a": {"a": 1}}, "NaN", "__proto__", "../../etc/passwd", "' OR 1=1 --",
]  # fmt: skip
SKIPPED = {("get", "/v1/live")}  # does not end


class Generator:
    """Values that a schema of the description allows, or nearly."""

    def __init__(self, document, chance):
        self.schemas, self.chance = document["components"]["schemas"], chance

    def value(self, schema, depth=0):
        if "$ref" in schema:
            return self.value(self.schemas[schema["$ref"].rsplit("/", 1)[1]], depth)
        if "anyOf" in schema:
            return self.value(self.chance.choice(schema["anyOf"]), depth)
        if "enum" in schema:
            return self.chance.choice(schema["enum"])
        kind = schema.get("type")
        chance = self.chance
        if kind == "object":
            return self.thing(schema, depth)
        if kind == "array":
            return (
                []
                if depth > 3
                else [self.value(schema.get("items", {}), depth + 1) for _ in range(chance.randrange(3))]
            )
        return {
            "string": lambda: chance.choice(["a", "b", "ann", "\u00e9", "id-1", "id-2"]),
            "integer": lambda: chance.randrange(-3, 4),
            "number": lambda: chance.choice([0.0, 1.0, -1.0, 0.5, 1e9]),
            "boolean": lambda: chance.random() < 0.5,
            "null": lambda: None,
        }.get(kind, lambda: chance.choice(ODD))()

    def thing(self, schema, depth):
        wanted = schema.get("properties", {})
        found = {
            name: self.value(part, depth + 1)
            for name, part in wanted.items()
            if name in schema.get("required", []) or self.chance.random() < 0.6
        }
        more = schema.get("additionalProperties")
        if isinstance(more, dict):
            found |= {f"f{at}": self.value(more, depth + 1) for at in range(self.chance.randrange(3))}
        return found

    def damaged(self, value):
        """With one part replaced, dropped or added."""
        if isinstance(value, dict) and value and self.chance.random() < 0.7:
            name = self.chance.choice(list(value))
            changed = {**value, name: self.damaged(value[name])}
            if self.chance.random() < 0.2:
                del changed[name]
            return changed
        return self.chance.choice(ODD)

    def body(self, schema):
        value, turn = self.value(schema), self.chance.random()
        if turn > 0.4:
            value = self.damaged(value)
        data = bytearray(json.dumps(value).encode())
        if turn > 0.85 and data:
            for _ in range(self.chance.randrange(1, 4)):
                data[self.chance.randrange(len(data))] = self.chance.randrange(256)
        return bytes(data)


def operations(document):
    for path, methods in document["paths"].items():
        for method, found in methods.items():
            if (method, path) not in SKIPPED:
                content = found.get("requestBody", {}).get("content", {})
                yield method.upper(), path, next(iter(content.values()))["schema"] if content else None


def attack(count, seed, **settings):
    """So many requests; how often each status came."""
    chance, counts = random.Random(seed), collections.Counter()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "s"
        with served(folder, "--learner", "mt-ogd", **settings) as service:
            with service.client() as client:
                document = json.loads(client._request("GET", "/v1/openapi.json", None))
            makes, known = Generator(document, chance), list(operations(document))
            connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
            for _ in range(count):
                method, path, schema = chance.choice(known)
                for name in ("{task}", "{name}"):
                    path = path.replace(
                        name, quote(str(chance.choice(["a", "ann", *ODD])).encode("utf-8", "replace"), safe="")
                    )
                body = makes.body(schema) if schema is not None else None
                if schema is not None and path == "/v1/events":
                    body = b"\n".join(makes.body(schema) for _ in range(chance.randrange(5)))
                status, text, kind = send(connection, method, path, body)
                counts[status] += 1
                assert status < 500, (status, method, path, body, text)
                if status >= 400 and kind == "application/json":
                    error = json.loads(text)["error"]
                    assert set(error) == {"code", "message", "field", "remedy"}, error
                    assert error["message"], error
            connection.close()
            with service.client() as client:
                served_bytes = client.to_bytes()
        assert rebuilt(folder)[0].to_bytes() == served_bytes, "the log does not give the model that was served"
    return counts


def send(connection, method, path, body):
    connection.request(method, path, body)
    answer = connection.getresponse()
    return answer.status, answer.read(), answer.getheader("content-type")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    counts = attack(asked.count, asked.seed)
    print(f"{asked.count} requests: {dict(sorted(counts.items()))}; the log gives the model that was served")


if __name__ == "__main__":
    main()
