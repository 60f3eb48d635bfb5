// Types of the client. Those of the operations come from the document, in schema.d.ts.

import type { components, operations } from "./schema.js";

/** What calls take and return. */
export type Schemas = components["schemas"];

/** Files of a call. */
export type Files = { name: string; content: string | Uint8Array; type?: string }[];

type Part<Operation, Name extends string> = Operation extends { parameters: infer All }
  ? Name extends keyof All
    ? NonNullable<All[Name]>
    : never
  : never;

type Body<Operation> = Operation extends { requestBody?: infer Request } ? Written<NonNullable<Request>> : never;

type Written<Request> = Request extends { content: infer Content }
  ? Content extends { "application/json": infer Json }
    ? Json
    : Content extends { "multipart/form-data": unknown }
      ? Files
      : string | Uint8Array
  : never;

/** The given parts, those that must be there as such. */
type Given<Name extends string, Value> = [Value] extends [never]
  ? {}
  : {} extends Value
    ? { [Key in Name]?: Value }
    : { [Key in Name]: Value };

type Parts<Operation> = Given<"path", Part<Operation, "path">> &
  Given<"query", Part<Operation, "query">> &
  Given<"headers", Part<Operation, "header">> &
  Given<"body", Body<Operation>>;

type Success<Responses> = Responses[Extract<keyof Responses, 200 | 201 | 202 | 204>];

type Answer<Operation> = Operation extends { responses: infer Responses }
  ? Success<Responses> extends { content: infer Content }
    ? Content extends { "application/json": infer Json }
      ? Json
      : Buffer
    : undefined
  : never;

type Method<Operation> = {} extends Parts<Operation>
  ? (parts?: Parts<Operation>) => Promise<Answer<Operation>>
  : (parts: Parts<Operation>) => Promise<Answer<Operation>>;

type Operations = { [Name in keyof operations]: Method<operations[Name]> };

export interface Options {
  /** Seconds for each attempt; 60 by default. */
  timeout?: number;
  retries?: {
    /** How often a call is sent at most; 4 by default. */
    attempts?: number;
    /** Seconds to wait before the second attempt at most; doubled for each further one; 0.5 by default. */
    first?: number;
    /** Seconds to wait at most; 30 by default. A longer Retry-After is not waited for. */
    longest?: number;
  };
}

/** The analysis API: each operation of its document is a method that takes `{ path, query, headers, body }`. */
export interface Monitor extends Operations {}
export class Monitor {
  constructor(baseUrl: string | URL, token: string, options?: Options);
}

/** Any failure of a call. */
export class MonitorError extends Error {}
/** There was no answer. */
export class ConnectionFailed extends MonitorError {}
/** An answer that is an error. */
export class StatusError extends MonitorError {
  readonly status: number;
  /** `error.type`, such as `invalid_request_error`. */
  readonly kind: string;
  /** Seconds after which the same call may succeed, where the server says so. */
  readonly retryAfter: number | undefined;
}
/** 400, 405, 408, 413, 415, 422 */
export class InvalidRequestError extends StatusError {}
/** 401 */
export class AuthenticationError extends StatusError {}
/** 403 */
export class PermissionDeniedError extends StatusError {}
/** 404 */
export class NotFoundError extends StatusError {}
/** 409, 428 */
export class ConflictError extends StatusError {}
/** 429 */
export class RateLimitError extends StatusError {}
/** 500 and above */
export class ServerError extends StatusError {}
