"""An operation of the API, and a call of it as httpx takes it."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

#: Files of a call: name, content and media type of each.
Files = Sequence[tuple[str, bytes, str]]


@dataclass(frozen=True)
class Operation:
    """A row of the table in `operations`."""

    method: str
    path: str
    #: How the body is written: json, files, text, or not at all.
    sends: str | None = None
    #: The field of a form that files are sent in.
    field: str | None = None
    media_type: str | None = None
    #: What a success returns: json, bytes, or nothing.
    returns: str | None = None
    #: Fields that identify a message: sent twice with the same ones, it is stored once. The first is a parameter.
    identified_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Call:
    """A request that can be sent more than once."""

    operation: Operation
    arguments: dict[str, Any]

    @property
    def is_repeatable(self) -> bool:
        """Whether sending it again does nothing twice, even if the first one arrived."""
        return self.operation.method == "GET" or bool(self.operation.identified_by)


def written(
    operation: Operation,
    path: Mapping[str, Any] | None = None,
    query: Mapping[str, Any] | None = None,
    headers: Mapping[str, str | None] | None = None,
    body: Any = None,
) -> Call:
    """A call of an operation. A message that nothing identifies gets ids, so that it can be sent again."""
    names = {name: quote(str(value), safe="") for name, value in (path or {}).items()}
    arguments: dict[str, Any] = {
        "method": operation.method,
        "url": operation.path.format_map(names),
        "params": {name: value for name, value in (query or {}).items() if value is not None},
        "headers": {name: value for name, value in (headers or {}).items() if value is not None},
    }
    if body is not None:
        arguments |= _content(operation, body)
        if operation.media_type:
            arguments["headers"]["Content-Type"] = operation.media_type
    return Call(operation, arguments)


def _content(operation: Operation, body: Any) -> dict[str, Any]:
    match operation.sends:
        case "files":
            return {"files": [(operation.field, file) for file in body]}
        case "text":
            return {"content": body}
    if operation.identified_by:
        body = _identified(body, *operation.identified_by)
    return {"json": body}


def _identified(message: Mapping[str, Any], parameter: str, *fields: str) -> dict[str, Any]:
    parameters = dict(message.get("additional_parameters") or {})
    if parameters.get(parameter) is None:
        parameters[parameter] = str(uuid.uuid4())
    # Such a field may stand among the parameters too.
    missing = [name for name in fields if message.get(name) is None and parameters.get(name) is None]
    return {**message, **{name: str(uuid.uuid4()) for name in missing}, "additional_parameters": parameters}


def result(operation: Operation, response: httpx.Response) -> Any:
    """What a successful call returns."""
    match operation.returns:
        case "json":
            return response.json()
        case "bytes":
            return response.content
    return None
