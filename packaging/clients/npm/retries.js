// Which failed calls are sent again, and when.

import { retryAfter } from "./errors.js";

/** Attempts; seconds to wait before the second one at most, doubled for each further one; seconds to wait at most. */
export const DEFAULTS = { attempts: 4, first: 0.5, longest: 30 };

/** What a server or a proxy answers for a while. */
const PASSING = new Set([408, 502, 503, 504]);
/** Nothing of the call was sent. */
const UNSENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

/** Seconds to wait after an attempt, from 1, that ended so; undefined where the call is not sent again. */
export function wait({ attempts, first, longest }, attempt, isRepeatable, { response, failure }) {
  if (attempt >= attempts || !mayRepeat(isRepeatable, response, failure)) return undefined;
  const asked = response && retryAfter(response);
  // A longer Retry-After is not waited for: the call fails.
  if (asked !== undefined) return asked <= longest ? asked : undefined;
  // Clients that failed together do not come back together.
  return Math.random() * Math.min(longest, first * 2 ** (attempt - 1));
}

function mayRepeat(isRepeatable, response, failure) {
  if (response) return response.status === 429 || (isRepeatable && PASSING.has(response.status));
  return isRepeatable || UNSENT.has(code(failure));
}

/** The code of a failure of the network. */
export function code(failure) {
  const cause = failure?.cause ?? failure;
  // Of a name with several addresses, the last failure.
  return cause?.code ?? cause?.errors?.at(-1)?.code ?? cause?.name ?? "unknown";
}
