"""The clients: operations are methods, and failed calls are sent again where that is safe."""

import asyncio
import time
from typing import Any, Self

import httpx

from . import errors
from .operation import Operation, result, written
from .operations import AsyncOperations, Operations
from .retries import Retries


class Client(Operations):
    """The analysis API.

    `base_url` is the address of the analysis server, such as http://127.0.0.1:4200, and `token` an access token. A call
    may be silent for `timeout` seconds. `transport` is one of httpx, for certificates or proxies.
    """

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        timeout: float = 60.0,
        retries: Retries = Retries(),
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._retries = retries
        self._http = httpx.Client(
            base_url=base_url, headers=_authorization(token), timeout=timeout, transport=transport
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def _call(self, operation: Operation, **parts: Any) -> Any:
        call = written(operation, **parts)
        attempt = 1
        while True:
            outcome: httpx.Response | httpx.RequestError
            try:
                outcome = self._http.request(**call.arguments)
            except httpx.RequestError as error:
                outcome = error
            if isinstance(outcome, httpx.Response) and outcome.is_success:
                return result(operation, outcome)
            wait = self._retries.wait(attempt, call.is_repeatable, outcome)
            if wait is None:
                raise _failure(outcome)
            time.sleep(wait)
            attempt += 1


class AsyncClient(AsyncOperations):
    """The same as `Client`, to be awaited."""

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        timeout: float = 60.0,
        retries: Retries = Retries(),
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._retries = retries
        self._http = httpx.AsyncClient(
            base_url=base_url, headers=_authorization(token), timeout=timeout, transport=transport
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def _call(self, operation: Operation, **parts: Any) -> Any:
        call = written(operation, **parts)
        attempt = 1
        while True:
            outcome: httpx.Response | httpx.RequestError
            try:
                outcome = await self._http.request(**call.arguments)
            except httpx.RequestError as error:
                outcome = error
            if isinstance(outcome, httpx.Response) and outcome.is_success:
                return result(operation, outcome)
            wait = self._retries.wait(attempt, call.is_repeatable, outcome)
            if wait is None:
                raise _failure(outcome)
            await asyncio.sleep(wait)
            attempt += 1


def _authorization(token: str) -> dict[str, str]:
    # Checked here, since httpx would quote a header that it refuses.
    if not token or any(not "!" <= letter <= "~" for letter in token):
        raise ValueError("the access token is empty or has a character other than visible ASCII")
    return {"Authorization": f"Bearer {token}"}


def _failure(outcome: httpx.Response | httpx.RequestError) -> errors.MonitorError:
    if isinstance(outcome, httpx.Response):
        return errors.of_response(outcome)
    # Other exceptions may quote the request.
    reason = f": {outcome}" if isinstance(outcome, httpx.ConnectError) else ""
    return errors.ConnectionFailed(f"no answer: {type(outcome).__name__}{reason}")
