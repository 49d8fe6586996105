import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NAME, ProxyFixture, type RawClient } from '../../../test/proxy.ts';

let proxy: ProxyFixture;
beforeEach(() => {
  proxy = new ProxyFixture();
});
afterEach(() => proxy.close());

describe('an upgrade', () => {
  const ask = (one: RawClient, ...lines: string[]) =>
    one.send('GET /chat HTTP/1.1', `Host: ${NAME}`, 'Connection: Upgrade', 'Upgrade: echo', ...lines);

  it('joins both sides, with bytes sent ahead, until both have closed', async () => {
    let seen = '';
    const port = await proxy.rawUpstream((socket) => {
      socket.once('data', (head: Buffer) => {
        seen = head.toString('latin1');
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nwelcome ');
        socket.on('data', (piece) => socket.write(piece)).on('end', () => socket.end(' bye'));
      });
    });
    const one = proxy.connect(await proxy.start(port));
    ask(one);
    await one.until(/^HTTP\/1.1 101 .*Upgrade: echo\r\n\r\nwelcome $/s);
    expect(seen).toMatch(/Connection: Upgrade\r\nUpgrade: echo\r\n/);
    one.write('\0\xff\r\n\r\n');
    await one.until(/\0\xff\r\n\r\n$/);
    one.socket.end();
    await one.until(/ bye$/);
    await expect.poll(() => proxy.outcomes).toEqual([{ kind: 'done', status: 101 }]);
  });

  it('that is not granted is a plain request, and the next one may follow', async () => {
    const requests: string[] = [];
    const port = await proxy.httpUpstream((req, res) => {
      requests.push(`${req.method} ${req.url}`);
      res.end(`plain ${req.url}`);
    });
    const one = proxy.connect(await proxy.start(port));
    ask(one);
    one.send('GET /next HTTP/1.1', `Host: ${NAME}`);
    await one.until(/plain \/chat.*plain \/next$/s);
    expect(requests).toEqual(['GET /chat', 'GET /next']);
  });

  it('is requested even after the same headers were a plain HTTP/1.0 request', async () => {
    const port = await proxy.rawUpstream((socket) => {
      socket.on('data', (head: Buffer) => {
        const isAsked = head.includes('Upgrade: echo\r\n');
        socket.write(`HTTP/1.1 ${isAsked ? '426 Upgrade Required' : '200 OK'}\r\nContent-Length: 0\r\n\r\n`);
      });
    });
    const one = proxy.connect(await proxy.start(port));
    for (const [version, status] of [
      ['1.0', 200],
      ['1.1', 426],
      ['1.0', 200],
    ] as const) {
      one.received = '';
      one.send(`GET / HTTP/${version}`, `Host: ${NAME}`, 'Connection: upgrade, keep-alive', 'Upgrade: echo');
      await one.until(new RegExp(`^HTTP/1.1 ${status} [\\s\\S]*\r\n\r\n$`));
    }
  });

  it('sends nothing before the upstream’s consent', async () => {
    let isGranted = false;
    let early = '';
    const port = await proxy.rawUpstream((socket) => {
      socket.once('data', () => {
        socket.on('data', (piece) => {
          if (isGranted) socket.write(piece);
          else early += piece;
        });
        setTimeout(() => {
          isGranted = true;
          socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
        }, 100);
      });
    });
    const one = proxy.connect(await proxy.start(port));
    ask(one);
    one.write('ahead');
    await one.until(/\r\n\r\nahead$/);
    expect(early).toBe('');
  });

  it('to HTTP/2 is not forwarded', async () => {
    const port = await proxy.httpUpstream((req, res) => res.end(`upgrade: ${req.headers.upgrade}`));
    const one = proxy.connect(await proxy.start(port));
    one.send(
      'GET / HTTP/1.1',
      `Host: ${NAME}`,
      'Connection: Upgrade, HTTP2-Settings',
      'Upgrade: h2c',
      'HTTP2-Settings: x',
    );
    await one.until(/upgrade: undefined$/);
  });

  it('ends on one side when the other is cut', async () => {
    const ended: Promise<unknown>[] = [];
    const port = await proxy.rawUpstream((socket) => {
      ended.push(once(socket, 'close'));
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n'),
      );
      socket.on('end', () => socket.end());
    });
    const one = proxy.connect(await proxy.start(port));
    ask(one);
    await one.until(/101/);
    one.socket.resetAndDestroy();
    await Promise.all(ended);
    await expect.poll(() => proxy.outcomes).toEqual([{ kind: 'done', status: 101 }]);
  });
});
