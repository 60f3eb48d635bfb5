"""Texts of bodies in the chat API format, for the middleware. A body in another format needs functions of its own."""

import json
from typing import Any

EVENT_STREAM = "text/event-stream"


def prompt(body: bytes) -> str | None:
    """The last text of the user in a request; none where there is none."""
    messages = json.loads(body).get("messages", [])
    texts = (_text(message.get("content")) for message in reversed(messages) if message.get("role") == "user")
    return next((text for text in texts if text), None)


def answer(body: bytes, content_type: str) -> str | None:
    """The texts of all choices of an answer, or of the events of a stream."""
    if content_type.startswith(EVENT_STREAM):
        return _streamed(body)
    choices = json.loads(body).get("choices", [])
    return "\n".join(_text(choice.get("message", {}).get("content")) for choice in choices) or None


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _streamed(body: bytes) -> str | None:
    texts: dict[int, str] = {}
    for line in body.decode("utf-8", "replace").splitlines():
        if not line.startswith("data:") or line[5:].strip() == "[DONE]":
            continue
        for choice in json.loads(line[5:]).get("choices", []):
            index = choice.get("index", 0)
            texts[index] = texts.get(index, "") + (choice.get("delta", {}).get("content") or "")
    return "\n".join(texts.values()) or None
