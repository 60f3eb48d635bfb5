// Types of the middleware. It needs no package of types: what it takes of Express is named here.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Monitor, Schemas } from "./index.js";

export interface Options<Request extends IncomingMessage, Response extends ServerResponse> {
  /** Makes the calls. */
  monitor: Monitor;
  /** May be missing where the access token is bound to an application. */
  applicationId?: string;
  /** Finds the prompt in a request's parsed body; by default as in the chat API format. */
  prompt?: (body: any) => string | undefined;
  /** Finds the text of an answer; by default as in the chat API format. */
  answer?: (body: Buffer, contentType: string) => string | undefined;
  /** With it, a call waits for its verdict; a response that it sends takes the place of the application's. */
  refuse?: (verdict: Schemas["Analysis"], req: Request, res: Response) => unknown;
  /** Without a verdict, a call that waits for one is answered with 503. Otherwise it passes. */
  isClosed?: boolean;
  /** Bytes of an answer that are read at most; 1 MiB by default. */
  maxBody?: number;
  /** Registrations that wait at most; 1,000 by default. */
  maxPending?: number;
  /** Takes what goes wrong; `console.warn` by default. */
  log?: (line: string) => void;
}

/** Registers the calls of the routes that it stands in, behind `express.json()`. */
export function monitorCalls<
  Request extends IncomingMessage = IncomingMessage,
  Response extends ServerResponse = ServerResponse,
>(
  options: Options<Request, Response>,
): {
  (req: Request, res: Response, next: (error?: unknown) => void): Promise<void>;
  /** Waits until everything is registered. */
  drain(): Promise<void>;
};
