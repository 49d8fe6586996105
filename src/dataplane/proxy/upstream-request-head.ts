import type { ClientExchange } from '../wire/client-exchange.ts';
import { flatText } from '../wire/flat-text.ts';
import { upstreamHeaders } from './header-rules.ts';

/**
 * Returns the head of a request for its upstream, the empty line included. That of a request without a body is kept with
 * its list of headers, since clients often repeat a request on the same connection.
 */
export function upstreamRequestHead(exchange: ClientExchange, target: string, withheld: ReadonlySet<string>): string {
  const { method, headers, bodyLength, upgrade } = exchange;
  if (bodyLength !== 0 || upgrade !== null) return makeHead(exchange, target, withheld);
  const { sent } = headers;
  if (sent === null || sent.withheld !== withheld || sent.method !== method || sent.target !== target) {
    const text = makeHead(exchange, target, withheld);
    headers.sent = { withheld, method, target, text, isFlat: false };
    return text;
  }
  if (!sent.isFlat) {
    sent.text = flatText(sent.text);
    sent.isFlat = true;
  }
  return sent.text;
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
