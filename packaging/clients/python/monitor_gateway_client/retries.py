"""Which failed calls are sent again, and when."""

import random
from dataclasses import dataclass

import httpx

from . import errors

#: Nothing of the call was sent.
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
#: What a server or a proxy answers for a while.
_PASSING = frozenset({408, 502, 503, 504})


@dataclass(frozen=True)
class Retries:
    """A call is sent again where that does nothing twice.

    Refused connections and 429 repeat every call: the server has not begun with it. Other failures of the network and
    408, 502, 503 and 504 repeat calls that read, and messages, which their request id identifies.
    """

    #: How often a call is sent at most.
    attempts: int = 4
    #: Seconds to wait before the second attempt at most; doubled for each further one.
    first: float = 0.5
    #: Seconds to wait at most. A longer Retry-After is not waited for: the call fails.
    longest: float = 30.0

    def wait(self, attempt: int, is_repeatable: bool, outcome: httpx.Response | httpx.RequestError) -> float | None:
        """Seconds to wait after this attempt, from 1; none where the call is not sent again."""
        if attempt >= self.attempts or not _may_repeat(is_repeatable, outcome):
            return None
        if isinstance(outcome, httpx.Response):
            asked = errors.retry_after(outcome)
            if asked is not None:
                return asked if asked <= self.longest else None
        # Clients that failed together do not come back together.
        return random.uniform(0, min(self.longest, self.first * 2 ** (attempt - 1)))


def _may_repeat(is_repeatable: bool, outcome: httpx.Response | httpx.RequestError) -> bool:
    if isinstance(outcome, httpx.Response):
        return outcome.status_code == 429 or (is_repeatable and outcome.status_code in _PASSING)
    return isinstance(outcome, _UNSENT) or is_repeatable
