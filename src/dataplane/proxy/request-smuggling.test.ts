import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NAME, ProxyFixture } from '../../../test/proxy.ts';

let proxy: ProxyFixture;
beforeEach(() => {
  proxy = new ProxyFixture();
});
afterEach(() => proxy.close());

describe('request smuggling', () => {
  const begin = `POST / HTTP/1.1\r\nHost: ${NAME}\r\n`;

  it.each([
    ['two lengths', 'Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!'],
    ['a length and chunks', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n'],
    ['an unknown coding', 'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n'],
    ['a coding behind a tab', 'Transfer-Encoding:\tchunked, identity\r\n\r\n0\r\n\r\n'],
    ['a space before the colon', 'Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n'],
    ['obsolete folding', 'X-A: b\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a bare LF', 'X-A: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['bare LFs throughout', 'X-A: b\n\nGET /x HTTP/1.1\n'],
    ['a bare CR', 'X-A: b\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a NUL', 'X-A: b\0\r\n\r\n'],
    ['a second Host', 'Host: other\r\n\r\n'],
  ])('with %s never reaches the upstream', async (_, rest) => {
    let requests = 0;
    const port = await proxy.rawUpstream(() => {
      requests += 1;
    });
    const one = proxy.connect(await proxy.start(port));
    one.write(begin + rest);
    await one.closed;
    expect(one.received).toMatch(/^HTTP\/1.1 400 Bad Request\r\n.*Connection: close\r\n.*not valid HTTP/s);
    expect(requests).toBe(0);
  });

  it.each([
    ['an invalid size', 'x\r\nhello\r\n0\r\n\r\n'],
    ['a size too small', '3\r\nhello\r\n0\r\n\r\n'],
    ['a bare LF', '5\nhello\r\n0\r\n\r\n'],
    ['a request for a trailer', '5\r\nhello\r\n0\r\nGET /x HTTP/1.1\r\n\r\n'],
  ])('with a chunk that has %s ends the request on both sides', async (_, chunks) => {
    let seen = '';
    const closed: Promise<unknown>[] = [];
    const port = await proxy.rawUpstream((socket) => {
      closed.push(once(socket, 'close'));
      socket.on('data', (piece) => {
        seen += piece;
      });
      socket.on('end', () => socket.end());
    });
    const one = proxy.connect(await proxy.start(port));
    one.write(`${begin}Transfer-Encoding: chunked\r\n\r\n${chunks}`);
    await one.closed;
    await Promise.all(closed);
    expect(one.received).toMatch(/^HTTP\/1.1 400 /);
    expect(seen).not.toMatch(/0\r\n\r\n$|GET \/x/);
  });

  it('reads two requests as two, and frames each anew', async () => {
    const bodies: string[] = [];
    const port = await proxy.httpUpstream(async (req, res) => {
      bodies.push(
        `${req.method} ${req.headers['content-length'] ?? req.headers['transfer-encoding']} ${await text(req)}`,
      );
      res.end('x');
    });
    const one = proxy.connect(await proxy.start(port));
    one.write(
      `${begin}Transfer-Encoding: Chunked\r\n\r\n00005;ext=1\r\nhello\r\n0\r\n\r\n\r\n${begin}Content-Length: 5\r\n\r\nGET /`,
    );
    await one.until(/^HTTP\/1.1 200.*HTTP\/1.1 200.*x/s);
    await expect.poll(() => bodies).toEqual(['POST chunked hello', 'POST 5 GET /']);
  });

  it('by a response longer than announced does not reach the next client', async () => {
    let connections = 0;
    const port = await proxy.rawUpstream((socket) => {
      connections += 1;
      socket.on('data', () =>
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'),
      );
    });
    const one = proxy.connect(await proxy.start(port));
    for (let i = 1; i <= 2; i++) {
      one.received = '';
      one.send('GET / HTTP/1.1', `Host: ${NAME}`);
      await one.until(/ok$/);
      expect(connections).toBe(i);
    }
  });

  it('in headers that are too large or never end is refused', async () => {
    const one = proxy.connect(await proxy.start(await proxy.rawUpstream(() => {})));
    one.write(`GET / HTTP/1.1\r\nHost: ${NAME}\r\nX-A: ${'a'.repeat(40_000)}`);
    await one.closed;
    expect(one.received).toMatch(/^HTTP\/1.1 431 /);
  });
});
