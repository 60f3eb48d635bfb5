"""Client of Monitor Gateway's analysis API, and middleware for FastAPI (`monitor_gateway_client.asgi`)."""

from .client import AsyncClient, Client
from .errors import (
    AuthenticationError,
    ConflictError,
    ConnectionFailed,
    InvalidRequestError,
    MonitorError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    ServerError,
    StatusError,
)
from .retries import Retries

__all__ = [
    "AsyncClient",
    "AuthenticationError",
    "Client",
    "ConflictError",
    "ConnectionFailed",
    "InvalidRequestError",
    "MonitorError",
    "NotFoundError",
    "PermissionDeniedError",
    "RateLimitError",
    "Retries",
    "ServerError",
    "StatusError",
]
