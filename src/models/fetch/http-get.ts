import type { ClientRequestArgs, IncomingMessage, RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { Failure } from '../../core/errors.ts';
import { refuseUpgrade, request as requestHttp } from '../../core/node-http.ts';
import { accessHeaders, type OriginAccess } from './origin-access.ts';
import { discardBody } from './read-small-body.ts';
import { answerRegistry } from './registry-answer.ts';

/** An origin that says nothing for this long is away. */
const SILENCE_MS = 30_000;
const MAX_REDIRECTS = 5;
/** Read at once. Node's own 64 KiB, with new memory for each, take twice the CPU. */
const READ_BYTES = 2 ** 17;

/** Says where a connection for a URL of a user goes, or refuses it (domain/jobs/webhook-policy.ts). */
export interface Reach {
  resolve(url: URL): Promise<{ address: string; family: 4 | 6 }>;
}

export interface GetOptions {
  method?: 'GET' | 'HEAD';
  headers: Readonly<Record<string, string>>;
  /** For the origin of the first URL alone: a redirect to another one never gets it. */
  access: OriginAccess;
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
export async function httpGet(first: URL, options: GetOptions): Promise<Got> {
  const { method = 'GET', headers, access, reach, signal } = options;
  let url = first;
  let answer: string | null = null;
  let linked: Got['linked'] = {};
  for (let hop = 0; hop <= MAX_REDIRECTS; ) {
    const place = reach && (await resolved(reach, url));
    const isOwn = url.origin === first.origin;
    const own = isOwn ? await accessHeaders(access, { url, method, answer }) : {};
    const response = await send(url, {
      method,
      headers: { 'user-agent': 'podyard', 'accept-encoding': 'identity', ...headers, ...own },
      signal,
      ...(place && { lookup: (_host, options, answer) => answerWith(place, options, answer) }),
    });
    const question = response.headers['www-authenticate'];
    if (access?.kind === 'registry' && isOwn && answer === null && response.statusCode === 401 && question) {
      discardBody(response);
      answer = await answerRegistry(access, { url, question }, (realm, more) =>
        httpGet(realm, { headers: more, access: null, reach, signal }),
      );
      if (answer !== null) continue;
    }
    linked = { ...linkOf(response), ...linked };
    const { location } = response.headers;
    if (![301, 302, 303, 307, 308].includes(response.statusCode!) || location === undefined)
      return { response, linked };
    discardBody(response);
    if (!URL.canParse(location, url.href)) throw new Failure('badGateway', `${url.host} redirects to no valid URL`);
    const next = new URL(location, url);
    if (next.protocol !== 'https:' && (url.protocol === 'https:' || next.protocol !== 'http:')) {
      throw new Failure('badGateway', `${url.host} redirects from https to ${next.protocol}//, which is not followed`);
    }
    url = next;
    hop += 1;
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
  const isPlain = url.protocol === 'http:';
  return new Promise((resolve, reject) => {
    const sent = isPlain
      ? requestHttp(url, { ...options, createConnection: connectWithLargeReads }, resolve)
      : requestHttps(url, options, resolve);
    sent.setTimeout(SILENCE_MS, () => sent.destroy(new Error(`it sent nothing for ${SILENCE_MS / 1000} s`)));
    refuseUpgrade(sent).on('error', reject);
    sent.end();
  });
}

/** Everything is read into one buffer; the HTTP parser takes copies of it. */
function connectWithLargeReads(options: ClientRequestArgs): Socket {
  const callback = (bytes: number, buffer: Uint8Array) => socket.emit('data', buffer.subarray(0, bytes));
  const onread = { buffer: Buffer.allocUnsafeSlow(READ_BYTES), callback };
  const socket: Socket = connect({ ...(options as NetConnectOpts), onread });
  return socket;
}

/** A hub says on the redirect what the file is; the CDN behind it has names of its own. */
function linkOf({ headers }: IncomingMessage): Got['linked'] {
  const digest = /^(?:W\/)?"?([0-9a-f]{40}|[0-9a-f]{64})"?$/.exec(String(headers['x-linked-etag'] ?? ''))?.[1];
  const size = Number(headers['x-linked-size'] ?? Number.NaN);
  return { ...(digest !== undefined && { digest }), ...(Number.isSafeInteger(size) && { size }) };
}
