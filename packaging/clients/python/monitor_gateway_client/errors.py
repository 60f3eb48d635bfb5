"""What a call raises. No error contains the access token, or the text of a message."""

from typing import Any

import httpx


class MonitorError(Exception):
    """Any failure of a call."""


class ConnectionFailed(MonitorError):
    """There was no answer: the server cannot be reached, was silent for too long, or broke off."""


class StatusError(MonitorError):
    """An answer that is an error, `{"error": {"message", "type", "code"}}`."""

    def __init__(self, status: int, message: str, kind: str, retry_after: float | None) -> None:
        super().__init__(f"{status} {kind}: {message}")
        #: The HTTP status.
        self.status = status
        #: What is wrong, for the developer.
        self.message = message
        #: `error.type`, such as `invalid_request_error`.
        self.kind = kind
        #: Seconds after which the same call may succeed, where the server says so.
        self.retry_after = retry_after


class InvalidRequestError(StatusError):
    """The request is wrong: 400, 405, 408, 413, 415, 422."""


class AuthenticationError(StatusError):
    """The access token is missing or not known: 401."""


class PermissionDeniedError(StatusError):
    """The access token may not do this: 403."""


class NotFoundError(StatusError):
    """There is no such thing: 404."""


class ConflictError(StatusError):
    """The application has changed since, or the call names no version of it: 409, 428."""


class RateLimitError(StatusError):
    """Too many calls: 429."""


class ServerError(StatusError):
    """The server failed or cannot answer now: 500 and above."""


_BY_STATUS: dict[int, type[StatusError]] = {
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    428: ConflictError,
    429: RateLimitError,
}


def of_response(response: httpx.Response) -> StatusError:
    """The error that an answer is. A proxy between may have written it, in a form of its own."""
    error = _envelope(response)
    message = error.get("message") or response.reason_phrase or "no message"
    by_class = ServerError if response.status_code >= 500 else InvalidRequestError
    kind = _BY_STATUS.get(response.status_code, by_class)
    return kind(response.status_code, str(message), str(error.get("type") or "unknown"), retry_after(response))


def retry_after(response: httpx.Response) -> float | None:
    """Seconds of Retry-After; none where it is missing or a date."""
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isascii() and value.isdigit() else None


def _envelope(response: httpx.Response) -> dict[str, Any]:
    try:
        error = response.json()["error"]
    except (ValueError, KeyError, TypeError):
        return {}
    return error if isinstance(error, dict) else {}
