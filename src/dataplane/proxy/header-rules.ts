import type { RawHeaders } from './client-exchange.ts';
import type { HeaderList } from './header-list.ts';
import { listItems } from './message-head.ts';

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

/** What the proxy knows of a request's client. */
export interface ClientFacts {
  remoteAddress: string;
  isSecure: boolean;
  /** A trusted proxy, whose forwarding headers are kept. */
  isTrusted: boolean;
}

/**
 * Returns the headers of a request for its upstream, as text, without those that frame the body. The result is cached in
 * the list, which comes from one client only.
 */
export function upstreamHeaders(headers: HeaderList, client: ClientFacts, withheld: ReadonlySet<string>): string {
  if (headers.made?.by === withheld) return headers.made.result as string;
  const result = makeUpstreamHeaders(headers, client, withheld);
  headers.made = { by: withheld, result };
  return result;
}

function makeUpstreamHeaders(headers: HeaderList, client: ClientFacts, withheld: ReadonlySet<string>): string {
  const { names, lowerNames, values } = headers;
  const named = namedByConnection(headers);
  let text = '';
  for (let i = 0; i < names.length; i++) {
    const name = lowerNames[i]!;
    if (HOP_BY_HOP.has(name) || isAboutClient(name) || isFramingInDisguise(name) || withheld.has(name)) continue;
    if (named?.has(name)) continue;
    text += `${names[i]}: ${values[i]}\r\n`;
  }
  if (listItems(headers.get('te')?.toLowerCase() ?? '').includes('trailers'))
    text += 'TE: trailers\r\nConnection: TE\r\n';
  return text + forwardedHeaders(headers, client);
}

/** Returns a response's headers for the client: no hop-by-hop fields, `replaced` instead of its own. Cached in the list. */
export function clientHeaders(headers: HeaderList, replaced: RawHeaders): RawHeaders {
  if (headers.made?.by === replaced) return headers.made.result as RawHeaders;
  const result = makeClientHeaders(headers, replaced);
  headers.made = { by: replaced, result };
  return result;
}

function makeClientHeaders(headers: HeaderList, replaced: RawHeaders): RawHeaders {
  const { names, lowerNames, values } = headers;
  const named = namedByConnection(headers);
  const kept: string[] = [];
  for (let i = 0; i < names.length; i++) {
    const name = lowerNames[i]!;
    if (HOP_BY_HOP.has(name) || named?.has(name)) continue;
    if (replaced.length > 0 && isAmong(name, replaced)) continue;
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

/** Sends `X-Forwarded-*` and `Forwarded`. The client's address is appended; the rest is what the first proxy saw. */
function forwardedHeaders(headers: HeaderList, { remoteAddress, isSecure, isTrusted }: ClientFacts): string {
  const host = headers.get('host') ?? '';
  const proto = isSecure ? 'https' : 'http';
  const said = (name: string): string | undefined => (isTrusted ? joinedValues(headers, name) : undefined);
  const before = said('x-forwarded-for');
  const forwarded = said('forwarded');
  const own = `for=${nodeName(remoteAddress)};host="${host.replace(/["\\]/g, '')}";proto=${proto}`;
  return (
    `X-Forwarded-For: ${before === undefined ? '' : `${before}, `}${remoteAddress}\r\n` +
    `X-Forwarded-Proto: ${said('x-forwarded-proto') ?? proto}\r\n` +
    `X-Forwarded-Host: ${said('x-forwarded-host') ?? host}\r\n` +
    `Forwarded: ${forwarded === undefined ? '' : `${forwarded}, `}${own}\r\n`
  );
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
