import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NAME, ProxyFixture } from '../../../test/proxy.ts';

let proxy: ProxyFixture;
beforeEach(() => {
  proxy = new ProxyFixture();
});
afterEach(() => proxy.close());

describe('connections to an upstream', () => {
  it('that close when they are reused are retried for an idempotent request', async () => {
    const port = await proxy.rawUpstream((socket, count) => {
      let requests = 0;
      socket.on('data', () => {
        requests += 1;
        if (count === 1 && requests === 2) socket.destroy();
        else socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${count}`);
      });
    });
    const one = proxy.connect(await proxy.start(port));
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await one.until(/1$/);
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await one.until(/2$/);
  });

  it('that break during a request with a body are not retried', async () => {
    let requests = 0;
    const port = await proxy.rawUpstream((socket) => {
      socket.on('data', () => {
        requests += 1;
        if (requests === 2) socket.destroy();
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      });
    });
    const one = proxy.connect(await proxy.start(port));
    for (const status of [200, 502]) {
      one.received = '';
      one.write(`POST / HTTP/1.1\r\nHost: ${NAME}\r\nContent-Length: 1\r\n\r\nx`);
      await one.until(new RegExp(`^HTTP/1.1 ${status} [\\s\\S]*(ok|\\})$`));
    }
    expect(requests).toBe(2);
  });

  it('close with the upstream, busy ones after their response', async () => {
    let finish: (() => void) | undefined;
    const closed: Promise<unknown>[] = [];
    const port = await proxy.rawUpstream((socket) => {
      closed.push(once(socket, 'close'));
      socket.on('end', () => socket.end());
      socket.on('data', () => {
        finish = () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      });
    });
    const one = proxy.connect(await proxy.start(port));
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await expect.poll(() => finish).toBeDefined();
    proxy.upstream.close();
    finish!();
    await one.until(/ok$/);
    await Promise.all(closed);
  });
});

describe('closing the listener', () => {
  it('lets running responses end, with Connection: close', async () => {
    let finish: (() => void) | undefined;
    const port = await proxy.httpUpstream((_req, res) => {
      finish = () => res.end('done');
    });
    const frontPort = await proxy.start(port);
    const busy = proxy.connect(frontPort);
    const idle = proxy.connect(frontPort);
    await once(idle.socket, 'connect');
    busy.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await expect.poll(() => finish).toBeDefined();
    const closing = proxy.front.close();
    await idle.closed;
    finish!();
    await busy.until(/Connection: close\r\n.*done/s);
    busy.socket.end();
    await closing;
  });
});
