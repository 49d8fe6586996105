import { isIP } from 'node:net';
import { SECURE_PREFIX, SESSION_COOKIE } from '../../http/session-cookie.ts';
import type { AnswerHead, ClientExchange, RawHeaders } from '../wire/client-exchange.ts';
import type { HeaderList } from '../wire/header-list.ts';
import { listItems, type ResponseHead } from '../wire/message-head.ts';
import { copyOf } from '../wire/repeated-bytes.ts';
import type { ConnectionClient } from '../wire/wire-exchange.ts';
import { flatText } from '../wire/write-body.ts';

/** Hop-by-hop and framing fields (RFC 9110 section 7.6.1): each side sends its own. */
const HOP_BY_HOP = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization', 'te'],
  ...['transfer-encoding', 'content-length', 'upgrade'],
]);

/** `Connection` may name more hop-by-hop fields, but never these, which say what the message is. */
const NEVER_DROPPED = new Set(['host', 'content-type', 'content-encoding', 'trailer']);

/** Fields that the proxy sets about the client. With `_` too: CGI-like servers read it as `-`. */
const isAboutClient = (lowerName: string): boolean => {
  const name = lowerName.includes('_') ? lowerName.replaceAll('_', '-') : lowerName;
  return name.startsWith('x-forwarded-') || name === 'forwarded' || name === 'x-real-ip';
};

const isFramingInDisguise = (lowerName: string): boolean =>
  lowerName.includes('_') && HOP_BY_HOP.has(lowerName.replaceAll('_', '-'));

/**
 * Returns the headers of a request for its upstream, as text, without those that frame the body. The result is cached in
 * the list, which comes from one client only.
 */
export function upstreamHeaders(headers: HeaderList, client: ConnectionClient, withheld: ReadonlySet<string>): string {
  if (headers.made?.withheld === withheld) return headers.made.text;
  const text = flatText(makeUpstreamHeaders(headers, client, withheld));
  headers.made = { withheld, text };
  return text;
}

function makeUpstreamHeaders(headers: HeaderList, client: ConnectionClient, withheld: ReadonlySet<string>): string {
  const { names, lowerNames, values } = headers;
  const named = namedByConnection(headers);
  let text = '';
  for (let i = 0; i < names.length; i++) {
    const name = lowerNames[i]!;
    if (HOP_BY_HOP.has(name) || isAboutClient(name) || isFramingInDisguise(name) || withheld.has(name)) continue;
    if (named?.has(name)) continue;
    const value = name === 'cookie' ? withoutSessions(values[i]!) : values[i]!;
    if (value === null) continue;
    text += `${names[i]}: ${value}\r\n`;
  }
  if (listItems(headers.get('te')?.toLowerCase() ?? '').includes('trailers'))
    text += 'TE: trailers\r\nConnection: TE\r\n';
  return text + forwardedHeaders(headers, client);
}

/** Returns a cookie header without those of the console's sessions, which no workload may see; null if nothing is left. */
function withoutSessions(cookies: string): string | null {
  if (!cookies.includes(SESSION_COOKIE)) return cookies;
  const kept = cookies.split(';').filter((pair) => !isSessionCookie(pair));
  return kept.length === 0 ? null : kept.join(';').trim();
}

/** True for a pair `name=value` whose name is a session's: no workload may set one either. */
function isSessionCookie(pair: string): boolean {
  const name = pair.trimStart();
  return name.startsWith(SESSION_COOKIE) || name.startsWith(`${SECURE_PREFIX}${SESSION_COOKIE}`);
}

/** Returns a final response's head for the client; a 204 has no length (RFC 9110 section 8.6). Cached in the upstream's. */
export function clientHead(head: ResponseHead, replaced: RawHeaders): AnswerHead {
  if (head.made?.replaced === replaced) return head.made.head;
  const { status, reason, bodyLength, announcedLength } = head;
  const announced = status === 204 ? null : announcedLength;
  const length = bodyLength === 0 ? announced : bodyLength;
  const made: AnswerHead = { status, reason, headers: clientHeaders(head.headers, replaced), length };
  head.made = { replaced, head: made };
  return made;
}

/** Returns a response's headers for the client: no hop-by-hop fields, `replaced` instead of its own. */
export function clientHeaders(headers: HeaderList, replaced: RawHeaders): RawHeaders {
  const { names, lowerNames, values } = headers;
  const named = namedByConnection(headers);
  const kept: string[] = [];
  for (let i = 0; i < names.length; i++) {
    const name = lowerNames[i]!;
    if (HOP_BY_HOP.has(name) || named?.has(name)) continue;
    if (replaced.length > 0 && isAmong(name, replaced)) continue;
    if (name === 'set-cookie' && isSessionCookie(values[i]!)) continue;
    kept.push(names[i]!, values[i]!);
  }
  if (replaced.length > 0) kept.push(...replaced);
  return kept;
}

function isAmong(lowerName: string, headers: RawHeaders): boolean {
  for (let i = 0; i < headers.length; i += 2) if (headers[i]!.toLowerCase() === lowerName) return true;
  return false;
}

function namedByConnection(headers: HeaderList): ReadonlySet<string> | null {
  const value = headers.get('connection');
  if (value === undefined) return null;
  const all = headers.values.filter((_, i) => headers.lowerNames[i] === 'connection').join(',');
  const named = listItems(all.toLowerCase()).filter((name) => !NEVER_DROPPED.has(name));
  return new Set(named);
}

/**
 * Sends `X-Forwarded-*` and `Forwarded`. The client's address is appended; the rest is what the first proxy saw. A trusted proxy
 * that sends only `X-Forwarded-*` gets a first element in `Forwarded` from them (RFC 7239 section 7.4): without it, a program that
 * reads `Forwarded` would take an https client for an http one.
 */
function forwardedHeaders(headers: HeaderList, { remoteAddress, isSecure, isTrusted }: ConnectionClient): string {
  const host = headers.get('host') ?? '';
  const proto = isSecure ? 'https' : 'http';
  const said = (name: string): string | undefined => (isTrusted ? joinedValues(headers, name) : undefined);
  const before = said('x-forwarded-for');
  const saidProto = said('x-forwarded-proto');
  const saidHost = said('x-forwarded-host');
  const forwarded = said('forwarded') ?? firstElement(before, saidHost ?? host, saidProto ?? proto);
  const own = `for=${nodeName(remoteAddress)};host="${unquoted(host)}";proto=${proto}`;
  return (
    `X-Forwarded-For: ${before === undefined ? '' : `${before}, `}${remoteAddress}\r\n` +
    `X-Forwarded-Proto: ${saidProto ?? proto}\r\n` +
    `X-Forwarded-Host: ${saidHost ?? host}\r\n` +
    `Forwarded: ${forwarded === undefined ? '' : `${forwarded}, `}${own}\r\n`
  );
}

/** Returns an element of `Forwarded` for the first client of `X-Forwarded-For`; undefined without one that can be written. */
function firstElement(forwardedFor: string | undefined, host: string, proto: string): string | undefined {
  const [client = ''] = listItems(forwardedFor ?? '');
  if (isIP(client) === 0) return undefined;
  const [firstHost = ''] = listItems(host);
  const [firstProto = ''] = listItems(proto);
  return `for=${nodeName(client)};host="${unquoted(firstHost)}";proto=${firstProto === 'https' ? 'https' : 'http'}`;
}

function unquoted(text: string): string {
  return text.replace(/["\\]/g, '');
}

/** Returns the values of a field and its repetitions, separated by commas. */
export function joinedValues(headers: HeaderList, lowerName: string): string | undefined {
  const values = headers.values.filter((_, i) => headers.lowerNames[i] === lowerName);
  return values.length === 0 ? undefined : values.join(', ');
}

/** RFC 7239 section 6: an IPv6 address is written in brackets and quotes. */
function nodeName(address: string): string {
  return address.includes(':') ? `"[${address}]"` : address;
}

/**
 * Returns the head of a request for its upstream, the empty line included. That of a request without a body is kept with
 * its list of headers, since clients often repeat a request on the same connection: the second time as bytes, which cost
 * least to write and never change.
 */
export function upstreamRequestHead(
  exchange: ClientExchange,
  target: string,
  withheld: ReadonlySet<string>,
): string | Buffer {
  const { method, headers, bodyLength, upgrade } = exchange;
  if (bodyLength !== 0 || upgrade !== null) return makeHead(exchange, target, withheld);
  const { sent } = headers;
  if (sent === null || sent.withheld !== withheld || sent.method !== method || sent.target !== target) {
    const head = makeHead(exchange, target, withheld);
    headers.sent = { withheld, method, target, head };
    return head;
  }
  if (typeof sent.head === 'string') sent.head = copyOf(Buffer.from(sent.head, 'latin1'));
  return sent.head;
}

function makeHead(exchange: ClientExchange, target: string, withheld: ReadonlySet<string>): string {
  const { method, headers, bodyLength, upgrade, remoteAddress, isSecure, isTrusted } = exchange;
  const client = { remoteAddress, isSecure, isTrusted };
  let head = `${method} ${target} HTTP/1.1\r\n${upstreamHeaders(headers, client, withheld)}`;
  if (upgrade !== null) head += `Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n`;
  if (bodyLength === 'chunked') head += 'Transfer-Encoding: chunked\r\n';
  else if (bodyLength > 0 || headers.get('content-length') !== undefined) head += `Content-Length: ${bodyLength}\r\n`;
  return `${head}\r\n`;
}
