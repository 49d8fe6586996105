import { describe, expect, it } from 'vitest';
import { HeaderList } from '../wire/header-list.ts';
import type { ConnectionClient } from '../wire/wire-exchange.ts';
import { clientHeaders, upstreamHeaders } from './header-rules.ts';

const CLIENT: ConnectionClient = { remoteAddress: '192.0.2.7', isSecure: false, isTrusted: false };

function list(...headers: [string, string][]): HeaderList {
  const all = new HeaderList();
  for (const [name, value] of headers) all.add(name, value);
  return all;
}

const sent = (headers: HeaderList, client: Partial<ConnectionClient> = {}, withheld: string[] = []) =>
  upstreamHeaders(headers, { ...CLIENT, ...client }, new Set(withheld))
    .split('\r\n')
    .slice(0, -1);

describe('the headers that an upstream gets', () => {
  it('are those of the request, Host included, and the client’s address', () => {
    expect(sent(list(['Host', 'a-80.localhost'], ['X-Thing', 'y'], ['Cookie', 'a=b']))).toEqual([
      'Host: a-80.localhost',
      'X-Thing: y',
      'Cookie: a=b',
      'X-Forwarded-For: 192.0.2.7',
      'X-Forwarded-Proto: http',
      'X-Forwarded-Host: a-80.localhost',
      'Forwarded: for=192.0.2.7;host="a-80.localhost";proto=http',
    ]);
  });

  it('are without hop-by-hop headers, also those that Connection names', () => {
    const headers = list(
      ['Host', 'x'],
      ['Connection', 'keep-alive, X-Own'],
      ['Connection', 'Host'],
      ['Keep-Alive', 'timeout=5'],
      ['Proxy-Connection', 'keep-alive'],
      ['Proxy-Authorization', 'Basic x'],
      ['Transfer-Encoding', 'chunked'],
      ['Transfer_Encoding', 'chunked'],
      ['Upgrade', 'x'],
      ['X-Own', 'y'],
      ['TE', 'gzip'],
    );
    expect(sent(headers).filter((line) => !/^(X-)?Forwarded/.test(line))).toEqual(['Host: x']);
  });

  it('offer trailers when the client does', () => {
    expect(sent(list(['TE', 'trailers, deflate']))).toEqual(expect.arrayContaining(['TE: trailers', 'Connection: TE']));
  });

  it('do not repeat what a client claims about itself, in any spelling', () => {
    const headers = list(
      ['X-Forwarded-For', '1.1.1.1'],
      ['x_forwarded_for', '1.1.1.1'],
      ['X-Forwarded_Proto', 'https'],
      ['X-Forwarded-Port', '1'],
      ['X-Real-IP', '1.1.1.1'],
      ['Forwarded', 'for=1.1.1.1'],
    );
    expect(sent(headers).join('\n')).not.toMatch(/1\.1\.1\.1|https|Port/);
  });

  it('extend those of a trusted proxy', () => {
    const headers = list(
      ['Host', 'a-80.localhost'],
      ['X-Forwarded-For', '198.51.100.1'],
      ['X-Forwarded-For', '198.51.100.2'],
      ['X-Forwarded-Proto', 'https'],
      ['X-Forwarded-Host', 'public.example.com'],
      ['Forwarded', 'for=198.51.100.1'],
    );
    expect(sent(headers, { isTrusted: true, remoteAddress: '2001:db8::1' })).toEqual([
      'Host: a-80.localhost',
      'X-Forwarded-For: 198.51.100.1, 198.51.100.2, 2001:db8::1',
      'X-Forwarded-Proto: https',
      'X-Forwarded-Host: public.example.com',
      'Forwarded: for=198.51.100.1, for="[2001:db8::1]";host="a-80.localhost";proto=http',
    ]);
  });

  it('have the first client in Forwarded, where a trusted proxy names it only in X-Forwarded-*', () => {
    const from = (client: string) =>
      list(
        ['Host', 'a-80.localhost'],
        ['X-Forwarded-For', client],
        ['X-Forwarded-Proto', 'https'],
        ['X-Forwarded-Host', 'a-80.pods.example.com'],
      );
    const forwarded = (client: string, facts: object) => sent(from(client), facts).at(-1);
    const own = 'for=192.0.2.7;host="a-80.localhost";proto=http';
    expect(forwarded('198.51.100.1, 10.0.0.1', { isTrusted: true })).toBe(
      `Forwarded: for=198.51.100.1;host="a-80.pods.example.com";proto=https, ${own}`,
    );
    expect(forwarded('2001:db8::5', { isTrusted: true })).toContain('for="[2001:db8::5]";host=');
    expect(forwarded('unknown", for=1.2.3.4', { isTrusted: true })).toBe(`Forwarded: ${own}`);
    expect(forwarded('198.51.100.1', { isTrusted: false })).toBe(`Forwarded: ${own}`);
  });

  it('are without withheld headers', () => {
    expect(sent(list(['Authorization', 'Bearer x']), {}, ['authorization']).join()).not.toContain('Bearer');
  });
});

describe('the headers that a client gets', () => {
  it('are those of the response without hop-by-hop headers, each cookie separate', () => {
    const headers = list(
      ['Set-Cookie', 'a=b'],
      ['Set-Cookie', 'c=d'],
      ['Connection', 'close, X-Own'],
      ['X-Own', 'y'],
      ['Content-Length', '5'],
      ['Keep-Alive', 'timeout=5'],
    );
    expect(clientHeaders(headers, [])).toEqual(['Set-Cookie', 'a=b', 'Set-Cookie', 'c=d']);
  });

  it('are replaced where the proxy has its own', () => {
    expect(clientHeaders(list(['X-Worker', 'theirs'], ['X-A', 'b']), ['x-worker', 'ours'])).toEqual([
      ...['X-A', 'b', 'x-worker', 'ours'],
    ]);
  });
});
