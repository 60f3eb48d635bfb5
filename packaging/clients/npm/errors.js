// What a call throws. No error contains the access token, or the text of a message.

/** Any failure of a call. */
export class MonitorError extends Error {
  constructor(message) {
    super(message);
    this.name = new.target.name;
  }
}

/** There was no answer: the server cannot be reached, was silent for too long, or broke off. */
export class ConnectionFailed extends MonitorError {}

/** An answer that is an error, `{"error": {"message", "type", "code"}}`. */
export class StatusError extends MonitorError {
  constructor(status, { message, type, retryAfter }) {
    super(`${status} ${type}: ${message}`);
    this.status = status;
    this.kind = type;
    this.retryAfter = retryAfter;
  }
}

/** The request is wrong: 400, 405, 408, 413, 415, 422. */
export class InvalidRequestError extends StatusError {}
/** The access token is missing or not known: 401. */
export class AuthenticationError extends StatusError {}
/** The access token may not do this: 403. */
export class PermissionDeniedError extends StatusError {}
/** There is no such thing: 404. */
export class NotFoundError extends StatusError {}
/** The application has changed since, or the call names no version of it: 409, 428. */
export class ConflictError extends StatusError {}
/** Too many calls: 429. */
export class RateLimitError extends StatusError {}
/** The server failed or cannot answer now: 500 and above. */
export class ServerError extends StatusError {}

const BY_STATUS = new Map([
  [401, AuthenticationError],
  [403, PermissionDeniedError],
  [404, NotFoundError],
  [409, ConflictError],
  [428, ConflictError],
  [429, RateLimitError],
]);

/** Seconds of Retry-After; undefined where it is missing or a date. */
export function retryAfter(response) {
  const value = response.headers.get("Retry-After") ?? "";
  return /^[0-9]+$/.test(value) ? Number(value) : undefined;
}

/** The error that an answer is. A proxy between may have written it, in a form of its own. */
export async function ofResponse(response) {
  const envelope = await response.json().catch(() => undefined);
  const error = envelope?.error ?? {};
  const Kind = BY_STATUS.get(response.status) ?? (response.status >= 500 ? ServerError : InvalidRequestError);
  return new Kind(response.status, {
    message: error.message ?? (response.statusText || "no message"),
    type: error.type ?? "unknown",
    retryAfter: retryAfter(response),
  });
}
