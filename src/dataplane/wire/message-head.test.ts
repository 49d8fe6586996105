import { describe, expect, it } from 'vitest';
import { BadHead, parseRequestHead, parseResponseHead } from './message-head.ts';

const request = (...lines: string[]) => parseRequestHead(`${lines.join('\r\n')}\r\n\r\n`);
const response = (...lines: string[]) => parseResponseHead(`${lines.join('\r\n')}\r\n\r\n`, false);

describe('the head of a request', () => {
  it('keeps header names as received', () => {
    const head = request('POST /a?b=c HTTP/1.1', 'Host: x', 'X-Thing:  spaced \t', 'Content-Length: 5');
    expect(head).toMatchObject({ method: 'POST', target: '/a?b=c', minorVersion: 1, host: 'x', bodyLength: 5 });
    expect(head.headers.names).toEqual(['Host', 'X-Thing', 'Content-Length']);
    expect(head.headers.get('x-thing')).toBe('spaced');
    expect(head.isPersistent).toBe(true);
  });

  it.each([
    ['two lengths', 'Content-Length: 5', 'Content-Length: 6'],
    ['the same length twice', 'Content-Length: 5', 'Content-Length: 5'],
    ['a list of lengths', 'Content-Length: 5, 5'],
    ['a signed length', 'Content-Length: +5'],
    ['a negative length', 'Content-Length: -1'],
    ['a hexadecimal length', 'Content-Length: 0x5'],
    ['an empty length', 'Content-Length: '],
    ['a length and chunks', 'Content-Length: 5', 'Transfer-Encoding: chunked'],
    ['chunks and a length', 'Transfer-Encoding: chunked', 'Content-Length: 5'],
    ['chunks twice', 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
    ['chunks in a list', 'Transfer-Encoding: chunked, chunked'],
    ['another coding before', 'Transfer-Encoding: gzip, chunked'],
    ['another coding after', 'Transfer-Encoding: chunked, identity'],
    ['an unknown coding', 'Transfer-Encoding: xchunked'],
    ['an empty coding', 'Transfer-Encoding: '],
    ['a control character in the coding', 'Transfer-Encoding: \x0bchunked'],
    ['a byte before the coding that only Unicode calls a space', 'Transfer-Encoding: \xa0chunked'],
    ['a byte after the coding that only Unicode calls a space', 'Transfer-Encoding: chunked\xa0'],
    ['a byte before the length that only Unicode calls a space', 'Content-Length: \xa05'],
    ['a byte in the coding of another case', 'Transfer-Encoding: \xa0 CHUNKED'],
    ['a space before the colon', 'Transfer-Encoding : chunked'],
    ['a tab before the colon', 'Content-Length\t: 5'],
    ['a folded line', 'X-A: b', ' Transfer-Encoding: chunked'],
    ['a folded first line', '\tX-A: b'],
    ['a line without a name', ': b'],
    ['a line without a colon', 'Transfer-Encoding'],
    ['a name with a space', 'X A: b'],
    ['a name with a control character', 'X\x01A: b'],
    ['a name with a byte above ASCII', 'X\xe9: b'],
    ['a bare LF in a value', 'X-A: b\nContent-Length: 5'],
    ['a bare CR in a value', 'X-A: b\rContent-Length: 5'],
    ['a NUL in a value', 'X-A: b\0c'],
    ['a second Host', 'Host: y'],
    ['a second Host in other case', 'hOST: x'],
  ])('is refused with %s', (_, ...lines) => {
    expect(() => request('POST / HTTP/1.1', 'Host: x', ...lines)).toThrow(BadHead);
  });

  it.each([
    ['no Host', 'GET / HTTP/1.1'],
    ['another version', 'GET / HTTP/2.0'],
    ['a version of one digit', 'GET / HTTP/1'],
    ['no version', 'GET /'],
    ['two spaces', 'GET  / HTTP/1.1'],
    ['a tab', 'GET\t/ HTTP/1.1'],
    ['a space in the target', 'GET /a b HTTP/1.1'],
    ['a space after the version', 'GET / HTTP/1.1 '],
    ['a fragment', 'GET /#x HTTP/1.1'],
    ['an invalid method', 'G(T / HTTP/1.1'],
    ['an authority for a target', 'CONNECT x:80 HTTP/1.1'],
    ['CONNECT', 'CONNECT / HTTP/1.1'],
    ['a target without a slash', 'GET x HTTP/1.1'],
    ['an asterisk for another method', 'GET * HTTP/1.1'],
    ['an absolute form with another host', 'GET http://y/ HTTP/1.1'],
    ['an absolute form with a user', 'GET http://y@x/ HTTP/1.1'],
    ['another scheme', 'GET ftp://x/ HTTP/1.1'],
  ])('is refused with %s', (_, line) => {
    const host = line === 'GET / HTTP/1.1' ? [] : ['Host: x'];
    expect(() => request(line, ...host)).toThrow(BadHead);
  });

  it('may have an absolute form with the same host', () => {
    expect(request('GET http://X:80/a?b HTTP/1.1', 'Host: x:80').target).toBe('/a?b');
    expect(request('GET http://x?b HTTP/1.1', 'Host: x').target).toBe('/?b');
  });

  it('rejects chunks in HTTP/1.0', () => {
    expect(() => request('POST / HTTP/1.0', 'Host: x', 'Transfer-Encoding: chunked')).toThrow(BadHead);
  });

  it('closes or keeps the connection as version and Connection say', () => {
    expect(request('GET / HTTP/1.1', 'Host: x', 'Connection: Close').isPersistent).toBe(false);
    expect(request('GET / HTTP/1.1', 'Host: x', 'Connection: x', 'Connection: a, close').isPersistent).toBe(false);
    expect(request('GET / HTTP/1.0', 'Host: x').isPersistent).toBe(false);
    expect(request('GET / HTTP/1.0', 'Host: x', 'Connection: Keep-Alive').isPersistent).toBe(true);
  });

  it('has no space but SP and HTAB around values and in lists', () => {
    const head = request('GET / HTTP/1.1', 'Host: x', 'X-A: \t \xa0a\xa0 \t', 'X-B: \t ', 'Connection: a,\xa0close');
    expect(head.headers.get('x-a')).toBe('\xa0a\xa0');
    expect(head.headers.get('x-b')).toBe('');
    expect(head.isPersistent).toBe(true);
    expect(request('GET / HTTP/1.1', 'Host: x', 'Connection: a,\t close \t').isPersistent).toBe(false);
  });

  it('is an upgrade only with both headers, without a body, and never to HTTP/2', () => {
    const upgrade = (...lines: string[]) => request('GET / HTTP/1.1', 'Host: x', ...lines).upgrade;
    expect(upgrade('Upgrade: websocket', 'Connection: keep-alive, Upgrade')).toBe('websocket');
    expect(upgrade('Upgrade: websocket')).toBeNull();
    expect(upgrade('Connection: Upgrade')).toBeNull();
    expect(upgrade('Upgrade: websocket', 'Connection: Upgrade', 'Content-Length: 5')).toBeNull();
    expect(upgrade('Upgrade: websocket', 'Connection: Upgrade', 'Transfer-Encoding: chunked')).toBeNull();
    expect(upgrade('Upgrade: websocket, h2c', 'Connection: Upgrade, HTTP2-Settings')).toBeNull();
  });

  it('may hold up to 200 headers', () => {
    const lines = Array.from({ length: 200 }, (_, i) => `X-${i}: y`);
    expect(() => request('GET / HTTP/1.1', 'Host: x', ...lines)).toThrow(BadHead);
  });
});

describe('the head of a response', () => {
  it('gives the length of the body', () => {
    expect(response('HTTP/1.1 200 OK', 'Content-Length: 5').bodyLength).toBe(5);
    expect(response('HTTP/1.1 200 OK', 'Transfer-Encoding: Chunked').bodyLength).toBe('chunked');
    expect(response('HTTP/1.1 200 OK')).toMatchObject({ bodyLength: 'untilClose', isPersistent: false });
    expect(response('HTTP/1.1 204 No Content').bodyLength).toBe(0);
    expect(response('HTTP/1.1 304', 'Content-Length: 5')).toMatchObject({
      bodyLength: 0,
      announcedLength: 5,
      reason: '',
    });
    expect(parseResponseHead('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', true).bodyLength).toBe(0);
  });

  it.each([
    ['two lengths', 'HTTP/1.1 200 OK', 'Content-Length: 5', 'Content-Length: 6'],
    ['a length and chunks', 'HTTP/1.1 200 OK', 'Content-Length: 5', 'Transfer-Encoding: chunked'],
    ['another coding', 'HTTP/1.1 200 OK', 'Transfer-Encoding: gzip, chunked'],
    ['a coding that begins with a byte 0xA0', 'HTTP/1.1 200 OK', 'Transfer-Encoding: \xa0chunked'],
    ['a length that ends with a byte 0xA0', 'HTTP/1.1 200 OK', 'Content-Length: 5\xa0'],
    ['chunks in HTTP/1.0', 'HTTP/1.0 200 OK', 'Transfer-Encoding: chunked'],
    ['a folded line', 'HTTP/1.1 200 OK', 'X-A: b', ' c'],
    ['a bare LF', 'HTTP/1.1 200 OK', 'X-A: b\nX-C: d'],
    ['no status', 'HTTP/1.1'],
    ['an invalid status', 'HTTP/1.1 099 x'],
    ['another protocol', 'ICY 200 OK'],
  ])('is refused with %s', (_, ...lines) => {
    expect(() => response(...lines)).toThrow(BadHead);
  });
});
