import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Failure } from '../../core/errors.ts';

/** An origin that says nothing for this long is away. */
const SILENCE_MS = 30_000;
const MAX_REDIRECTS = 5;

/** Says where a connection for a URL of a user goes, or refuses it (domain/jobs/webhook-policy.ts). */
export interface Reach {
  resolve(url: URL): Promise<{ address: string; family: 4 | 6 }>;
}

export interface GetOptions {
  headers: Readonly<Record<string, string>>;
  /** Sent to the origin of the first URL alone: a redirect to another one never gets it. */
  token: string | null;
  /** Null: the operator named the origin, and it may redirect to where it likes. */
  reach: Reach | null;
  signal: AbortSignal;
}

/** A response, its body unread. `linked`: what the redirect that led to it said of the file. */
export interface Got {
  response: IncomingMessage;
  linked: { digest?: string; size?: number };
}

/** Gets a URL and follows redirects, never from https to http. Rejects with the error of the connection. */
export async function httpGet(first: URL, { headers, token, reach, signal }: GetOptions): Promise<Got> {
  let url = first;
  let linked: Got['linked'] = {};
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const place = reach && (await resolved(reach, url));
    const own = token !== null && url.origin === first.origin ? { authorization: `Bearer ${token}` } : {};
    const response = await send(url, {
      headers: { 'user-agent': 'podyard', 'accept-encoding': 'identity', ...headers, ...own },
      signal,
      ...(place && { lookup: (_host, options, answer) => answerWith(place, options, answer) }),
    });
    linked = { ...linkOf(response), ...linked };
    const { location } = response.headers;
    if (![301, 302, 303, 307, 308].includes(response.statusCode!) || location === undefined)
      return { response, linked };
    response.resume();
    if (!URL.canParse(location, url.href)) throw new Failure('badGateway', `${url.host} redirects to no valid URL`);
    const next = new URL(location, url);
    if (next.protocol !== 'https:' && (url.protocol === 'https:' || next.protocol !== 'http:')) {
      throw new Failure('badGateway', `${url.host} redirects from https to ${next.protocol}//, which is not followed`);
    }
    url = next;
  }
  throw new Failure('badGateway', `${first.host} redirects more than ${MAX_REDIRECTS} times`);
}

async function resolved(reach: Reach, url: URL): Promise<{ address: string; family: 4 | 6 }> {
  return reach.resolve(url).catch((error) => {
    if (error instanceof Error && error.name === 'WebhookRefused') {
      const text = `${url.hostname} is no address that servers of this installation connect to for users: an operator can allow it with --webhook-networks`;
      throw new Failure('unprocessable', text);
    }
    throw error;
  });
}

type Answer = Parameters<NonNullable<RequestOptions['lookup']>>[2];

/** Node asks for all addresses, or for one. */
function answerWith(
  { address, family }: { address: string; family: 4 | 6 },
  { all }: { all?: boolean | undefined },
  answer: Answer,
) {
  if (all) answer(null, [{ address, family }]);
  else answer(null, address, family);
}

function send(url: URL, options: RequestOptions): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const sent = request(url, options, resolve);
    sent.setTimeout(SILENCE_MS, () => sent.destroy(new Error(`it sent nothing for ${SILENCE_MS / 1000} s`)));
    sent.on('error', reject);
    sent.end();
  });
}

/** A hub says on the redirect what the file is; the CDN behind it has names of its own. */
function linkOf({ headers }: IncomingMessage): Got['linked'] {
  const digest = /^(?:W\/)?"?([0-9a-f]{40}|[0-9a-f]{64})"?$/.exec(String(headers['x-linked-etag'] ?? ''))?.[1];
  const size = Number(headers['x-linked-size'] ?? Number.NaN);
  return { ...(digest !== undefined && { digest }), ...(Number.isSafeInteger(size) && { size }) };
}
