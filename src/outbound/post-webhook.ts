import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { request as httpRequest, refuseUpgrade } from '../core/node-http.ts';
import type { TraceContext } from '../core/trace-context.ts';
import type { WebhookPolicy } from '../domain/jobs/webhook-policy.ts';

const TIMEOUT_MS = 10_000;
/** Length of a refusal that is kept. */
const MAX_ANSWER_CHARS = 1_000;

/** The receiver answered, but not with a 2xx. */
export class Refused extends Error {
  readonly status: number;
  /** The beginning of its answer: of no use to a log, because the receiver may say anything. */
  readonly text: string;

  constructor(status: number, text: string) {
    super(`it was answered with status ${status}`);
    this.status = status;
    this.text = text;
  }
}

/**
 * POSTs a webhook's body to an address that is allowed, and to nothing that a redirect names. Resolves with the receiver's
 * status once the connection has ended. Rejects with a Refused if that is not a 2xx, and a WebhookRefused if no address is allowed.
 */
export async function postWebhook(
  url: string,
  body: string,
  {
    webhooks,
    signal,
    context,
    headers,
    owner,
  }: {
    webhooks: Pick<WebhookPolicy, 'resolve'>;
    signal: AbortSignal;
    context: TraceContext | null;
    /** Besides those that every webhook has. */
    headers?: Record<string, string>;
    /** Whose webhook it is, where many may wait: `WebhookPolicy.resolve`. */
    owner?: string;
  },
): Promise<number> {
  const target = new URL(url);
  const limit = AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), signal]);
  const { address, family } = await Promise.race([webhooks.resolve(target, owner), rejectOn(limit)]);
  const send = target.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise<number>((resolve, reject) => {
    let isAnswered = false;
    const req = send(
      target,
      {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'Podyard',
          ...headers,
          ...(context && { traceparent: context.traceparent }),
          ...(context?.tracestate && { tracestate: context.tracestate }),
        },
        lookup: (_name, options, done) =>
          options.all ? done(null, [{ address, family }]) : done(null, address, family),
        signal: limit,
        agent: false,
      },
      (res) => {
        isAnswered = true;
        const status = res.statusCode ?? 0;
        const isAccepted = status >= 200 && status < 300;
        readBeginning(res).then((text) => (isAccepted ? resolve(status) : reject(new Refused(status, text))));
      },
    );
    refuseUpgrade(req).on('error', (error) => {
      if (!isAnswered) reject(error);
    });
    req.end(body);
  });
}

/** Resolves with what came of it in time, and ends the connection: no answer is read at length. */
async function readBeginning(res: IncomingMessage): Promise<string> {
  let text = '';
  try {
    for await (const piece of res.setEncoding('utf8')) {
      text += piece;
      if (text.length >= MAX_ANSWER_CHARS) break; // ends the connection
    }
  } catch {
    // cut off: the status counts
  }
  return text.slice(0, MAX_ANSWER_CHARS);
}

/** A name whose servers do not answer takes longer than a webhook may. */
async function rejectOn(signal: AbortSignal): Promise<never> {
  await once(signal, 'abort');
  throw signal.reason;
}
