import type { IncomingMessage } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { refuseUpgrade, request as requestPlain } from '../../core/node-http.ts';

/** As long as `fetch` waits for a connection, and for the next byte. */
const CONNECT_MS = 10_000;
const SILENT_MS = 300_000;
/** The status of a proxy that asks for a password. */
const PROXY_REFUSED = 407;

export interface Sent {
  method: string;
  headers: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
  signal: AbortSignal;
}

/** The part of a response that callers use. They must read the text, or abort the request. */
export interface Answer {
  ok: boolean;
  status: number;
  url: string;
  redirected: boolean;
  headers: { get(name: string): string | null };
  text(): Promise<string>;
  /** The text as it arrives. */
  texts(): AsyncIterable<string>;
}

/**
 * Sends a request as `fetch` does, without loading it: that takes more CPU than all else that a short command loads. Redirects,
 * refusals by a proxy and other protocols are left to `fetch`. Rejects with the reason of `signal`, or why there is no response.
 */
export async function exchange(url: string, sent: Sent): Promise<Answer> {
  const parsed = URL.parse(url);
  if (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:') return exchangeByFetch(url, sent);
  const incoming = await ask(parsed, sent);
  const { statusCode = 0, headers } = incoming;
  const isRedirect = statusCode >= 300 && statusCode < 400 && headers.location !== undefined;
  if (!isRedirect && statusCode !== PROXY_REFUSED) return answerOf(url, incoming);
  incoming.destroy(); // who answers so has done nothing yet
  return exchangeByFetch(url, sent);
}

/** The same through a proxy, if the environment has `fetch` use one. */
export async function exchangeByFetch(url: string, sent: Sent): Promise<Answer> {
  const response = await fetch(url, sent);
  const { ok, status, url: answered, redirected, headers } = response;
  const text = () => response.text();
  const texts = () => response.body!.pipeThrough(new TextDecoderStream());
  return { ok, status, url: answered, redirected, headers, text, texts };
}

function ask(url: URL, { method, headers, body, signal }: Sent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const request = url.protocol === 'https:' ? process.getBuiltinModule('node:https').request : requestPlain;
    const outgoing = refuseUpgrade(request(url, { method, headers, signal }));
    const giveUp = () => outgoing.destroy(Object.assign(new Error('it does not answer'), { code: 'ETIMEDOUT' }));
    const connecting = setTimeout(giveUp, CONNECT_MS);
    outgoing
      .setTimeout(SILENT_MS, giveUp)
      .once('socket', (socket) => {
        if (!socket.connecting) return clearTimeout(connecting);
        socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => clearTimeout(connecting));
      })
      .once('close', () => clearTimeout(connecting))
      .on('error', (error) => reject(signal.aborted ? signal.reason : error))
      .once('response', resolve)
      .end(body);
  });
}

function answerOf(url: string, incoming: IncomingMessage): Answer {
  const { statusCode: status = 0, headers } = incoming;
  return {
    ok: status >= 200 && status < 300,
    status,
    url,
    redirected: false,
    headers: { get: (name) => headers[name]?.toString() ?? null },
    text: () => readText(incoming),
    texts: () => incoming.setEncoding('utf8'),
  };
}
