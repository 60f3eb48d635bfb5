"""What matrix.py asks through every library, and what it keeps of an answer."""

import sys

LIBRARY, BASE, KEY = sys.argv[1:4]
MODEL = "test-model"
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def headers(app):
    return {"X-Monitor-Api-Key": KEY, "X-Application-Id": app}


def user(text):
    return [{"role": "user", "content": text}]


class Answer:
    """The text of an answer, and every id that the library hands over with it."""

    def __init__(self, text, *ids):
        self.text, self.ids = text or "", sorted({one for one in ids if one})


class Raised(Exception):
    """An error of a library that hands over the answer."""

    def __init__(self, error, answer):
        self.name, self.answer = type(error).__name__, answer


def joined(parts):
    """One answer of (text, id) pairs."""
    parts = list(parts)
    return Answer("".join(text or "" for text, _ in parts), *(one for _, one in parts))
