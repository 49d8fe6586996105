import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NAME, ProxyFixture } from '../../../test/proxy.ts';

/** Most tests run twice: on a connection that the proxy reads itself, and on one that belongs to node's HTTP server. */

let proxy: ProxyFixture;
beforeEach(() => {
  proxy = new ProxyFixture();
});
afterEach(() => proxy.close());

/** Answers with the request's body; ignores a body that breaks off. */
const echo = (req: IncomingMessage, res: ServerResponse): void => {
  text(req).then(
    (body) => res.end(body),
    () => {},
  );
};

const kinds = ['own', 'shared'] as const;

describe.each(kinds)('on a connection that is %s, the proxy', (kind) => {
  it('forwards requests with bodies and their responses, one after another on one connection each way', async () => {
    let connections = 0;
    const server = createHttpServer(async (req, res) => {
      res.setHeader('X-Seen', `${req.method} ${req.url} ${req.headers.host} ${req.headers['x-forwarded-for']}`);
      res.end(`<${await text(req)}>`);
    });
    server.on('connection', () => {
      connections += 1;
    });
    const one = await proxy.client(await proxy.start(await proxy.listen(server)), kind);
    for (let i = 0; i < 3; i++) {
      one.received = '';
      one.write(`POST /a?${i} HTTP/1.1\r\nHost: ${NAME}\r\nContent-Length: 5\r\n\r\nhello`);
      await one.until(/<hello>$/);
      expect(one.received).toContain(`X-Seen: POST /a?${i} ${NAME} 127.0.0.1\r\n`);
    }
    expect(connections).toBe(1);
    expect(proxy.outcomes).toEqual([1, 2, 3].map(() => ({ kind: 'done', status: 200 })));
  });

  it('streams chunks both ways, and trailers', async () => {
    const port = await proxy.httpUpstream(async (req, res) => {
      res.writeHead(200, { Trailer: 'X-Sum' });
      for await (const piece of req) res.write(`<${piece}>`);
      res.addTrailers({ 'X-Sum': `${req.trailers['x-in']}!` });
      res.end();
    });
    const one = await proxy.client(await proxy.start(port), kind);
    one.send('POST / HTTP/1.1', `Host: ${NAME}`, 'Transfer-Encoding: chunked');
    one.write('3\r\none\r\n');
    await one.until(/<one>/); // before the request has ended
    one.write('3\r\ntwo\r\n0\r\nX-In: 7\r\n\r\n');
    await one.until(/<two>.*\r\n0\r\nX-Sum: 7!\r\n\r\n$/s);
  });

  it('forwards every event of a stream at once', async () => {
    let send: ServerResponse | undefined;
    const port = await proxy.httpUpstream((_req, res) => {
      res.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
      send = res;
    });
    const one = await proxy.client(await proxy.start(port), kind);
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await one.until(/text\/event-stream\r\n.*\r\n\r\n/s);
    for (const event of ['data: 1\n\n', 'data: 2\n\n']) {
      send!.write(event);
      await one.until(new RegExp(`${event.trim()}\n\n`));
    }
    send!.end();
    await one.until(/0\r\n\r\n$/);
  });

  it('removes the chunked framing for an HTTP/1.0 client, whose body ends with the connection', async () => {
    const port = await proxy.httpUpstream((_req, res) => {
      res.write('one ');
      res.end('two');
    });
    const one = await proxy.client(await proxy.start(port), kind);
    one.send('GET / HTTP/1.0', `Host: ${NAME}`);
    await one.closed;
    expect(one.received).toMatch(/^HTTP\/1.1 200 .*\r\n\r\none two$/s);
    expect(one.received).not.toMatch(/chunked/i);
  });

  it('answers any number of pipelined requests in order', async () => {
    const port = await proxy.httpUpstream((req, res) => res.end(`<${req.url}>`));
    const one = await proxy.client(await proxy.start(port), kind);
    const count = 500;
    one.write(Array.from({ length: count }, (_, i) => `GET /${i} HTTP/1.1\r\nHost: ${NAME}\r\n\r\n`).join(''));
    await one.until(new RegExp(`</${count - 1}>$`));
    const order = [...one.received.matchAll(/<\/(\d+)>/g)].map((match) => Number(match[1]));
    expect(order).toEqual(Array.from({ length: count }, (_, i) => i));
  });

  it('distinguishes a repeated request from one that only begins like it', async () => {
    const port = await proxy.httpUpstream(async (req, res) => {
      res.end(`<${req.method} ${req.url} ${req.headers['x-a'] ?? 'none'} ${await text(req)}>`);
    });
    const one = await proxy.client(await proxy.start(port), kind);
    const again = `GET /a HTTP/1.1\r\nHost: ${NAME}\r\n\r\n`;
    const longer = `GET /a HTTP/1.1\r\nHost: ${NAME}\r\nX-A: b\r\n\r\n`;
    const withBody = `POST /a HTTP/1.1\r\nHost: ${NAME}\r\nContent-Length: 3\r\n\r\n`;
    const ask = async (expected: string, ...pieces: string[]) => {
      one.received = '';
      for (const piece of pieces) {
        one.write(piece);
        await setImmediate(); // so that the pieces may be read separately
      }
      await one.until(new RegExp(`${expected}$`));
    };
    for (let i = 0; i < 3; i++) await ask('<GET /a none >', again);
    await ask('<GET /a none >', again.slice(0, 20), again.slice(20));
    await ask('<GET /a b >', longer);
    await ask('<GET /a none >', again);
    for (const body of ['one', 'two', 'six']) await ask(`<POST /a none ${body}>`, withBody, body);
    for (const method of ['PUT', 'GET', 'GET'])
      await ask(`<${method} /b none >`, again.replace('GET /a', `${method} /b`));
    await ask('<GET /a none >[^]*<GET /a b >[^]*<GET /a none >', again + longer + again);
    if (kind === 'shared') return; // there node's parser decides what is valid
    one.write(`${again}GET /a HTTP/1.1\r\nHost : ${NAME}\r\n\r\n`);
    await one.until(/<GET \/a none >HTTP\/1.1 400 /);
  });

  it('distinguishes a repeated response head from one that only begins like it, or answers HEAD', async () => {
    const head = 'HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 3\r\n';
    const early = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
    const answers: [method: string, answer: string[]][] = [
      ...['one', 'two', 'six'].map((body): [string, string[]] => ['GET', [`${head}\r\n${body}`]]),
      ['HEAD', [`${head}\r\n`]],
      ['GET', [`${head}\r\nt`, 'en']],
      ['GET', [head, '\r\nten']],
      ['GET', [`${head}X-C: d\r\n\r\n101`]],
      ['HEAD', [`${head}\r\n`]],
      ['HEAD', [`${head}\r\n`]],
      ['GET', [`${head}\r\n102`]],
      ['GET', [`${early}${early}${early}${head}\r\n103`]],
      ['GET', [`${early}${head}\r\n104`]],
    ];
    let count = 0;
    let connections = 0;
    const port = await proxy.rawUpstream((socket) => {
      connections += 1;
      socket.setNoDelay().on('data', async () => {
        const [first, ...rest] = answers[count++]![1];
        socket.write(first!);
        for (const piece of rest) {
          await setImmediate();
          socket.write(piece);
        }
      });
    });
    const one = await proxy.client(await proxy.start(port), kind);
    for (const [method, answer] of answers) {
      one.received = '';
      one.send(`${method} / HTTP/1.1`, `Host: ${NAME}`);
      const body = method === 'HEAD' ? '' : answer.join('').slice(-3);
      const [, fields] = await one.until(new RegExp(`HTTP/1.1 200 OK\r\n(.*?)\r\n\r\n${body}$`, 's'));
      expect(fields).toContain('X-A: b\r\n');
      expect(fields!.includes('X-C: d')).toBe(answer[0]!.includes('X-C: d'));
    }
    expect(connections).toBe(1);
  });

  it('passes on interim responses, and ends an exchange that has too many of them', async () => {
    const interim = 'HTTP/1.1 102 Processing\r\n\r\n';
    const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
    let count = 1_000;
    const port = await proxy.rawUpstream((socket) => {
      socket.on('data', () => socket.write(interim.repeat(count) + answer));
    });
    const one = await proxy.client(await proxy.start(port), kind);
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await one.until(/HTTP\/1.1 200 OK[\s\S]*ok$/);
    if (kind !== 'shared') expect(one.received.split('102 Processing')).toHaveLength(1_001);
    one.received = '';
    count += 1;
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await one.until(/HTTP\/1.1 502 [\s\S]*it sent more than 1000 interim responses \(1xx\)/);
  });

  it('gives an upstream the whole time again after an interim response, and no more', async () => {
    proxy.settings.answerTimeoutMs = 1_500;
    const port = await proxy.rawUpstream((socket) => {
      socket.on('data', () => socket.write('HTTP/1.1 102 Processing\r\n\r\n'));
    });
    const one = await proxy.client(await proxy.start(port), kind);
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await one.until(/HTTP\/1.1 504 /);
  });

  it('reads no more interim responses than its client does', async () => {
    const interim = `HTTP/1.1 103 Early Hints\r\nLink: <${'a'.repeat(60_000)}>\r\n\r\n`;
    const written: number[] = [];
    const port = await proxy.rawUpstream((socket) => {
      const send = () => {
        while (written.length < 900 && socket.writable) {
          written.push(interim.length);
          if (!socket.write(interim)) break;
        }
      };
      socket.once('data', send).on('drain', send);
    });
    const one = await proxy.client(await proxy.start(port), kind);
    if (kind === 'shared') return; // node's server sends none but 100
    one.socket.pause();
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    let before = -1;
    while (written.length !== before) {
      before = written.length;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(600); // what the kernel's buffers hold
    one.socket.resume();
    await expect.poll(() => written.length).toBe(900);
  });

  it('sends no body for HEAD, 204 and 304, and answers the next request on the same connection', async () => {
    const port = await proxy.httpUpstream((req, res) => {
      res.statusCode = Number(req.url!.slice(1));
      if (req.method === 'HEAD' || res.statusCode !== 200) res.setHeader('Content-Length', '1000');
      res.end();
    });
    const one = await proxy.client(await proxy.start(port), kind);
    for (const [method, status] of [
      ['HEAD', 200],
      ['GET', 204],
      ['GET', 304],
      ['HEAD', 404],
    ] as const) {
      one.received = '';
      one.send(`${method} /${status} HTTP/1.1`, `Host: ${NAME}`);
      await one.until(new RegExp(`^HTTP/1.1 ${status} [\\s\\S]*\r\n\r\n$`));
      // RFC 9110, section 8.6: never with 204, and with 304 it is the length that a 200 would have
      expect(/^Content-Length: 1000\r$/im.test(one.received)).toBe(status !== 204);
    }
  });

  it('lets the upstream decide whether a client with Expect: 100-continue sends its body', async () => {
    const server = createHttpServer();
    server.on('checkContinue', async (req, res) => {
      if (req.url === '/no') {
        res.writeHead(417, { 'Content-Length': 0 }).end();
        return;
      }
      res.writeContinue();
      res.end(await text(req));
    });
    const port = await proxy.start(await proxy.listen(server));
    const yes = await proxy.client(port, kind);
    yes.send('POST /yes HTTP/1.1', `Host: ${NAME}`, 'Content-Length: 5', 'Expect: 100-continue');
    await yes.until(/^HTTP\/1.1 100 Continue\r\n\r\n$/);
    yes.write('hello');
    await yes.until(/hello$/);
    const no = await proxy.client(port, kind);
    no.send('POST /no HTTP/1.1', `Host: ${NAME}`, 'Content-Length: 5', 'Expect: 100-continue');
    await no.until(/^HTTP\/1.1 417 .*\r\n\r\n$/s);
  });

  it('forwards a response that precedes the end of the request, and closes the connection', async () => {
    const port = await proxy.answering('HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nno!');
    const one = await proxy.client(await proxy.start(port), kind);
    one.send('POST / HTTP/1.1', `Host: ${NAME}`, 'Content-Length: 1000000');
    one.write('some');
    await one.until(/^HTTP\/1.1 413 .*no!$/s);
    expect(one.received).toMatch(/Connection: close/i);
    await one.closed;
  });

  it('closes the upstream connection when the client disconnects', async () => {
    let gone: Promise<unknown> | undefined;
    const port = await proxy.httpUpstream((req, res) => {
      gone = once(res, 'close');
      res.write('begun');
      req.resume();
    });
    const one = await proxy.client(await proxy.start(port), kind);
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await one.until(/begun/);
    one.socket.destroy();
    await gone;
    await expect.poll(() => proxy.outcomes).toEqual([{ kind: 'clientGone' }]);
  });

  it('cuts the client’s connection when a response breaks off', async () => {
    for (const head of ['Content-Length: 100', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello']) {
      const port = await proxy.rawUpstream((socket) => {
        socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`));
      });
      const one = await proxy.client(await proxy.start(port), kind);
      one.send('GET / HTTP/1.1', `Host: ${NAME}`);
      await one.closed;
      expect(one.received).not.toMatch(/\r\n0\r\n\r\n$/);
    }
    await expect.poll(() => proxy.outcomes.map(({ kind }) => kind)).toEqual(['failed', 'failed']);
  });

  it.each([
    ['closes at once', ''],
    ['answers with half a head', 'HTTP/1.1 200 OK\r\nX-A:'],
    ['sends garbage', '\0\x01garbage\r\n\r\n'],
    ['sends another protocol', 'SSH-2.0-x\r\n\r\n'],
    ['has two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    ['has a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['has a chunk without a size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello'.concat('\r\n\r\n')],
    ['has a folded header', 'HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\n\r\n'],
    ['switches protocols without being asked', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n'],
  ])('answers 502 for an upstream that %s', async (_, answer) => {
    const port = await proxy.rawUpstream((socket) => {
      socket.once('data', () => socket.end(answer, 'latin1'));
    });
    const one = await proxy.client(await proxy.start(port), kind);
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await one.until(/^HTTP\/1.1 502 Bad Gateway\r\n.*"title":"Bad Gateway".*\}$/s);
    await expect.poll(() => proxy.outcomes.map(({ kind }) => kind)).toEqual(['failed']);
  });

  it('answers 504 for an upstream that never responds', async () => {
    proxy.settings = { answerTimeoutMs: 100, maxBodyBytes: 0 };
    const one = await proxy.client(await proxy.start(await proxy.rawUpstream(() => {})), kind);
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await one.until(/^HTTP\/1.1 504 Gateway Timeout\r\n.*\}$/s);
  });

  it('has no timeout for a response that has started', async () => {
    proxy.settings = { answerTimeoutMs: 1500, maxBodyBytes: 0 };
    const port = await proxy.httpUpstream((_req, res) => {
      res.write('begun');
      setTimeout(() => res.end('ended'), 2600);
    });
    const one = await proxy.client(await proxy.start(port), kind);
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await one.until(/begun.*ended/s);
  });

  it('reports that no connection could be opened, with nothing read or answered', async () => {
    const server = createServer();
    const port = await proxy.listen(server);
    server.close();
    await once(server, 'close');
    const one = await proxy.client(await proxy.start(port), kind);
    one.send('POST / HTTP/1.1', `Host: ${NAME}`, 'Content-Length: 5');
    await one.until(/^HTTP\/1.1 502 .*refused$/s);
    expect(proxy.outcomes).toEqual([{ kind: 'notConnected', reason: 'refused' }]);
  });

  it('refuses a body over the limit, announced or not', async () => {
    proxy.settings = { answerTimeoutMs: 0, maxBodyBytes: 10 };
    const port = await proxy.start(await proxy.httpUpstream(echo));
    const said = await proxy.client(port, kind);
    said.send('POST / HTTP/1.1', `Host: ${NAME}`, 'Content-Length: 11');
    await said.until(/^HTTP\/1.1 413 .*larger than the limit of 10 bytes.*\}$/s);
    const chunked = await proxy.client(port, kind);
    chunked.send('POST / HTTP/1.1', `Host: ${NAME}`, 'Transfer-Encoding: chunked');
    chunked.write('8\r\n12345678\r\n8\r\n12345678\r\n0\r\n\r\n');
    await chunked.until(/^HTTP\/1.1 413 /);
    const small = await proxy.client(port, kind);
    small.write(`POST / HTTP/1.1\r\nHost: ${NAME}\r\nContent-Length: 10\r\n\r\n1234567890`);
    await small.until(/1234567890$/);
  });

  it('forwards megabytes both ways unchanged', async () => {
    const port = await proxy.httpUpstream((req, res) => void req.pipe(res));
    const body = randomBytes(3_000_000);
    const one = await proxy.client(await proxy.start(port), kind);
    one.send('POST / HTTP/1.1', `Host: ${NAME}`, `Content-Length: ${body.length}`, 'Connection: close');
    one.socket.write(body);
    await one.closed;
    const payload = one.received.slice(one.received.indexOf('\r\n\r\n') + 4);
    const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
    expect(digest(Buffer.from(unchunked(payload), 'latin1'))).toBe(digest(body));
  });

  it('applies backpressure from a client that does not read', async () => {
    let written = 0;
    let isFull = false;
    const port = await proxy.httpUpstream((_req, res) => {
      const piece = Buffer.alloc(65_536);
      const push = () => {
        while (written < 200e6 && res.write(piece)) written += piece.length;
        isFull = true;
        res.once('drain', push);
      };
      push();
    });
    const one = await proxy.client(await proxy.start(port), kind);
    one.socket.pause();
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await expect.poll(() => isFull).toBe(true);
    let before = -1;
    const isStill = () => {
      const last = before;
      before = written;
      return last === written;
    };
    await expect.poll(isStill, { interval: 300, timeout: 20_000 }).toBe(true);
    expect(written).toBeLessThan(50e6); // the kernel's buffers of both connections
  });
});

/** The content of a chunked body. */
function unchunked(body: string): string {
  let content = '';
  for (let at = 0; ; ) {
    const end = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.slice(at, end), 16);
    if (size === 0 || Number.isNaN(size)) return content;
    content += body.slice(end + 2, end + 2 + size);
    at = end + 4 + size;
  }
}
