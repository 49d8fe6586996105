import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Front } from '../wire/front.ts';
import { TrustedProxies } from '../wire/trusted-proxies.ts';
import { type ForwardOptions, type ForwardOutcome, type ForwardSettings, forward } from './forward.ts';
import { answerOnSharedConnection } from './node-exchange.ts';
import { Upstream } from './upstream.ts';

/**
 * The proxy between raw sockets and real servers. Most tests run twice: on a connection that the proxy reads itself, and on
 * one that belongs to node's HTTP server because its first request was for another plane.
 */

const NAME = 'pod-80.localhost';
const open: { close(): unknown }[] = [];
let settings: ForwardSettings;
let options: ForwardOptions;
let outcomes: ForwardOutcome[];
let front: Front;
let upstream: Upstream;

beforeEach(() => {
  settings = { answerTimeoutMs: 0, maxBodyBytes: 0 };
  options = {};
  outcomes = [];
});

afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function listen<T extends Server | HttpServer>(server: T): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push({ close: () => server.close() });
  return (server.address() as AddressInfo).port;
}

/** A raw upstream, which passes every connection to `onSocket`. */
async function rawUpstream(onSocket: (socket: Socket, count: number) => void): Promise<number> {
  let count = 0;
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket.on('error', () => {}));
    onSocket(socket, ++count);
  });
  const port = await listen(server);
  open.push({
    close: () => {
      for (const socket of sockets) socket.destroy();
    },
  });
  return port;
}

/** An upstream that sends `answer` after each connection's first bytes. */
const answering = (answer: string) =>
  rawUpstream((socket) => {
    socket.once('data', () => socket.write(answer, 'latin1'));
  });

async function httpUpstream(onRequest: (req: IncomingMessage, res: ServerResponse) => void): Promise<number> {
  const server = createHttpServer(onRequest);
  open.push({ close: () => server.closeAllConnections() });
  return listen(server);
}

/** Answers with the request's body; ignores a body that breaks off. */
const echo = (req: IncomingMessage, res: ServerResponse): void => {
  text(req).then(
    (body) => res.end(body),
    () => {},
  );
};

/** A front that forwards requests for NAME to the port; node's server answers all others. */
async function startFront(upstreamPort: number): Promise<number> {
  const target = new Upstream({ address: '127.0.0.1', port: upstreamPort });
  upstream = target;
  const trustedProxies = new TrustedProxies([]);
  const handler = (exchange: Parameters<typeof forward>[2]) => {
    const onOutcome = (outcome: ForwardOutcome) => {
      outcomes.push(outcome);
      if (outcome.kind === 'notConnected') exchange.answer(502, 'Bad Gateway', [], outcome.reason);
    };
    forward({ onOutcome }, settings, exchange, target, options);
  };
  const isOurs = (host: string | undefined) => host === NAME;
  const http = createHttpServer();
  const onRequest = (req: IncomingMessage, res: ServerResponse) => {
    if (isOurs(req.headers.host)) answerOnSharedConnection(req, res, trustedProxies, handler);
    else res.end('not the proxy');
  };
  http.on('request', onRequest).on('checkContinue', onRequest);
  front = new Front({ tls: null, http, trustedProxies, dispatch: ({ host }) => (isOurs(host) ? handler : null) });
  front.server.listen(0, '127.0.0.1');
  await once(front.server, 'listening');
  const running = front;
  open.push({ close: () => running.close() }, { close: () => target.close() });
  return (running.server.address() as AddressInfo).port;
}

/** A client with a raw socket, which collects what it reads as one text. */
class Client {
  readonly socket: Socket;
  received = '';
  readonly closed: Promise<void>;
  #onData: () => void = () => {};

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    this.socket.setEncoding('latin1');
    this.socket.on('data', (piece: string) => {
      this.received += piece;
      this.#onData();
    });
    this.closed = new Promise((resolve) => {
      const done = () => resolve();
      this.socket.once('end', done).once('close', done).once('error', done);
    });
    open.push({ close: () => this.socket.destroy() });
  }

  send(...lines: string[]): void {
    this.socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  }

  write(bytes: string): void {
    this.socket.write(bytes, 'latin1');
  }

  /** Resolves when the received text matches; rejects when the connection closes first. */
  async until(pattern: RegExp): Promise<RegExpMatchArray> {
    for (;;) {
      const match = pattern.exec(this.received);
      if (match) return match;
      let isClosed = false;
      const more = new Promise<void>((resolve) => {
        this.#onData = resolve;
      });
      await Promise.race([more, this.closed.then(() => (isClosed = true))]);
      if (isClosed && !pattern.test(this.received)) throw new Error(`closed after: ${this.received}`);
    }
  }
}

/** A connection read by the proxy (`own`), or by node's HTTP server (`shared`). */
async function client(port: number, kind: 'own' | 'shared'): Promise<Client> {
  const one = new Client(port);
  if (kind === 'shared') {
    one.send('GET / HTTP/1.1', 'Host: localhost');
    await one.until(/not the proxy$/);
    one.received = '';
  }
  return one;
}

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
    const one = await client(await startFront(await listen(server)), kind);
    for (let i = 0; i < 3; i++) {
      one.received = '';
      one.write(`POST /a?${i} HTTP/1.1\r\nHost: ${NAME}\r\nContent-Length: 5\r\n\r\nhello`);
      await one.until(/<hello>$/);
      expect(one.received).toContain(`X-Seen: POST /a?${i} ${NAME} 127.0.0.1\r\n`);
    }
    expect(connections).toBe(1);
    expect(outcomes).toEqual([1, 2, 3].map(() => ({ kind: 'done', status: 200 })));
  });

  it('streams chunks both ways, and trailers', async () => {
    const port = await httpUpstream(async (req, res) => {
      res.writeHead(200, { Trailer: 'X-Sum' });
      for await (const piece of req) res.write(`<${piece}>`);
      res.addTrailers({ 'X-Sum': `${req.trailers['x-in']}!` });
      res.end();
    });
    const one = await client(await startFront(port), kind);
    one.send('POST / HTTP/1.1', `Host: ${NAME}`, 'Transfer-Encoding: chunked');
    one.write('3\r\none\r\n');
    await one.until(/<one>/); // before the request has ended
    one.write('3\r\ntwo\r\n0\r\nX-In: 7\r\n\r\n');
    await one.until(/<two>.*\r\n0\r\nX-Sum: 7!\r\n\r\n$/s);
  });

  it('forwards every event of a stream at once', async () => {
    let send: ServerResponse | undefined;
    const port = await httpUpstream((_req, res) => {
      res.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
      send = res;
    });
    const one = await client(await startFront(port), kind);
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
    const port = await httpUpstream((_req, res) => {
      res.write('one ');
      res.end('two');
    });
    const one = await client(await startFront(port), kind);
    one.send('GET / HTTP/1.0', `Host: ${NAME}`);
    await one.closed;
    expect(one.received).toMatch(/^HTTP\/1.1 200 .*\r\n\r\none two$/s);
    expect(one.received).not.toMatch(/chunked/i);
  });

  it('answers any number of pipelined requests in order', async () => {
    const port = await httpUpstream((req, res) => res.end(`<${req.url}>`));
    const one = await client(await startFront(port), kind);
    const count = 500;
    one.write(Array.from({ length: count }, (_, i) => `GET /${i} HTTP/1.1\r\nHost: ${NAME}\r\n\r\n`).join(''));
    await one.until(new RegExp(`</${count - 1}>$`));
    const order = [...one.received.matchAll(/<\/(\d+)>/g)].map((match) => Number(match[1]));
    expect(order).toEqual(Array.from({ length: count }, (_, i) => i));
  });

  it('distinguishes a repeated request from one that only begins like it', async () => {
    const port = await httpUpstream(async (req, res) => {
      res.end(`<${req.method} ${req.url} ${req.headers['x-a'] ?? 'none'} ${await text(req)}>`);
    });
    const one = await client(await startFront(port), kind);
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
    const port = await rawUpstream((socket) => {
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
    const one = await client(await startFront(port), kind);
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

  it('sends no body for HEAD, 204 and 304, and answers the next request on the same connection', async () => {
    const port = await httpUpstream((req, res) => {
      res.statusCode = Number(req.url!.slice(1));
      if (req.method === 'HEAD' || res.statusCode !== 200) res.setHeader('Content-Length', '1000');
      res.end();
    });
    const one = await client(await startFront(port), kind);
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
    const port = await startFront(await listen(server));
    const yes = await client(port, kind);
    yes.send('POST /yes HTTP/1.1', `Host: ${NAME}`, 'Content-Length: 5', 'Expect: 100-continue');
    await yes.until(/^HTTP\/1.1 100 Continue\r\n\r\n$/);
    yes.write('hello');
    await yes.until(/hello$/);
    const no = await client(port, kind);
    no.send('POST /no HTTP/1.1', `Host: ${NAME}`, 'Content-Length: 5', 'Expect: 100-continue');
    await no.until(/^HTTP\/1.1 417 .*\r\n\r\n$/s);
  });

  it('forwards a response that precedes the end of the request, and closes the connection', async () => {
    const port = await answering('HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nno!');
    const one = await client(await startFront(port), kind);
    one.send('POST / HTTP/1.1', `Host: ${NAME}`, 'Content-Length: 1000000');
    one.write('some');
    await one.until(/^HTTP\/1.1 413 .*no!$/s);
    expect(one.received).toMatch(/Connection: close/i);
    await one.closed;
  });

  it('closes the upstream connection when the client disconnects', async () => {
    let gone: Promise<unknown> | undefined;
    const port = await httpUpstream((req, res) => {
      gone = once(res, 'close');
      res.write('begun');
      req.resume();
    });
    const one = await client(await startFront(port), kind);
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await one.until(/begun/);
    one.socket.destroy();
    await gone;
    await expect.poll(() => outcomes).toEqual([{ kind: 'clientGone' }]);
  });

  it('cuts the client’s connection when a response breaks off', async () => {
    for (const head of ['Content-Length: 100', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello']) {
      const port = await rawUpstream((socket) => {
        socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`));
      });
      const one = await client(await startFront(port), kind);
      one.send('GET / HTTP/1.1', `Host: ${NAME}`);
      await one.closed;
      expect(one.received).not.toMatch(/\r\n0\r\n\r\n$/);
    }
    await expect.poll(() => outcomes.map(({ kind }) => kind)).toEqual(['failed', 'failed']);
  });

  it.each([
    ['closes at once', ''],
    ['answers with half a head', 'HTTP/1.1 200 OK\r\nX-A:'],
    ['sends garbage', '\0\x01garbage\r\n\r\n'],
    ['sends another protocol', 'SSH-2.0-x\r\n\r\n'],
    ['has two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    ['has a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['has a folded header', 'HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\n\r\n'],
    ['switches protocols without being asked', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n'],
  ])('answers 502 for an upstream that %s', async (_, answer) => {
    const port = await rawUpstream((socket) => {
      socket.once('data', () => socket.end(answer, 'latin1'));
    });
    const one = await client(await startFront(port), kind);
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await one.until(/^HTTP\/1.1 502 Bad Gateway\r\n.*"title":"Bad Gateway".*\}$/s);
    await expect.poll(() => outcomes.map(({ kind }) => kind)).toEqual(['failed']);
  });

  it('answers 504 for an upstream that never responds', async () => {
    settings = { answerTimeoutMs: 100, maxBodyBytes: 0 };
    const one = await client(await startFront(await rawUpstream(() => {})), kind);
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await one.until(/^HTTP\/1.1 504 Gateway Timeout\r\n.*\}$/s);
  });

  it('has no timeout for a response that has started', async () => {
    settings = { answerTimeoutMs: 1500, maxBodyBytes: 0 };
    const port = await httpUpstream((_req, res) => {
      res.write('begun');
      setTimeout(() => res.end('ended'), 2600);
    });
    const one = await client(await startFront(port), kind);
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await one.until(/begun.*ended/s);
  });

  it('reports that no connection could be opened, with nothing read or answered', async () => {
    const server = createServer();
    const port = await listen(server);
    server.close();
    await once(server, 'close');
    const one = await client(await startFront(port), kind);
    one.send('POST / HTTP/1.1', `Host: ${NAME}`, 'Content-Length: 5');
    await one.until(/^HTTP\/1.1 502 .*refused$/s);
    expect(outcomes).toEqual([{ kind: 'notConnected', reason: 'refused' }]);
  });

  it('refuses a body over the limit, announced or not', async () => {
    settings = { answerTimeoutMs: 0, maxBodyBytes: 10 };
    const port = await startFront(await httpUpstream(echo));
    const said = await client(port, kind);
    said.send('POST / HTTP/1.1', `Host: ${NAME}`, 'Content-Length: 11');
    await said.until(/^HTTP\/1.1 413 .*larger than the limit of 10 bytes.*\}$/s);
    const chunked = await client(port, kind);
    chunked.send('POST / HTTP/1.1', `Host: ${NAME}`, 'Transfer-Encoding: chunked');
    chunked.write('8\r\n12345678\r\n8\r\n12345678\r\n0\r\n\r\n');
    await chunked.until(/^HTTP\/1.1 413 /);
    const small = await client(port, kind);
    small.write(`POST / HTTP/1.1\r\nHost: ${NAME}\r\nContent-Length: 10\r\n\r\n1234567890`);
    await small.until(/1234567890$/);
  });

  it('forwards megabytes both ways unchanged', async () => {
    const port = await httpUpstream((req, res) => void req.pipe(res));
    const body = randomBytes(3_000_000);
    const one = await client(await startFront(port), kind);
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
    const port = await httpUpstream((_req, res) => {
      const piece = Buffer.alloc(65_536);
      const push = () => {
        while (written < 200e6 && res.write(piece)) written += piece.length;
        isFull = true;
        res.once('drain', push);
      };
      push();
    });
    const one = await client(await startFront(port), kind);
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

describe('an upgrade', () => {
  const ask = (one: Client, ...lines: string[]) =>
    one.send('GET /chat HTTP/1.1', `Host: ${NAME}`, 'Connection: Upgrade', 'Upgrade: echo', ...lines);

  it('joins both sides, with bytes sent ahead, until both have closed', async () => {
    let seen = '';
    const port = await rawUpstream((socket) => {
      socket.once('data', (head: Buffer) => {
        seen = head.toString('latin1');
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nwelcome ');
        socket.on('data', (piece) => socket.write(piece)).on('end', () => socket.end(' bye'));
      });
    });
    const one = new Client(await startFront(port));
    ask(one);
    await one.until(/^HTTP\/1.1 101 .*Upgrade: echo\r\n\r\nwelcome $/s);
    expect(seen).toMatch(/Connection: Upgrade\r\nUpgrade: echo\r\n/);
    one.write('\0\xff\r\n\r\n');
    await one.until(/\0\xff\r\n\r\n$/);
    one.socket.end();
    await one.until(/ bye$/);
    await expect.poll(() => outcomes).toEqual([{ kind: 'done', status: 101 }]);
  });

  it('that is not granted is a plain request, and the next one may follow', async () => {
    const requests: string[] = [];
    const port = await httpUpstream((req, res) => {
      requests.push(`${req.method} ${req.url}`);
      res.end(`plain ${req.url}`);
    });
    const one = new Client(await startFront(port));
    ask(one);
    one.send('GET /next HTTP/1.1', `Host: ${NAME}`);
    await one.until(/plain \/chat.*plain \/next$/s);
    expect(requests).toEqual(['GET /chat', 'GET /next']);
  });

  it('is requested even after the same headers were a plain HTTP/1.0 request', async () => {
    const port = await rawUpstream((socket) => {
      socket.on('data', (head: Buffer) => {
        const isAsked = head.includes('Upgrade: echo\r\n');
        socket.write(`HTTP/1.1 ${isAsked ? '426 Upgrade Required' : '200 OK'}\r\nContent-Length: 0\r\n\r\n`);
      });
    });
    const one = new Client(await startFront(port));
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
    const port = await rawUpstream((socket) => {
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
    const one = new Client(await startFront(port));
    ask(one);
    one.write('ahead');
    await one.until(/\r\n\r\nahead$/);
    expect(early).toBe('');
  });

  it('to HTTP/2 is not forwarded', async () => {
    const port = await httpUpstream((req, res) => res.end(`upgrade: ${req.headers.upgrade}`));
    const one = new Client(await startFront(port));
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
    const port = await rawUpstream((socket) => {
      ended.push(once(socket, 'close'));
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n'),
      );
      socket.on('end', () => socket.end());
    });
    const one = new Client(await startFront(port));
    ask(one);
    await one.until(/101/);
    one.socket.resetAndDestroy();
    await Promise.all(ended);
    await expect.poll(() => outcomes).toEqual([{ kind: 'done', status: 101 }]);
  });
});

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
    const port = await rawUpstream(() => {
      requests += 1;
    });
    const one = new Client(await startFront(port));
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
    const port = await rawUpstream((socket) => {
      closed.push(once(socket, 'close'));
      socket.on('data', (piece) => {
        seen += piece;
      });
      socket.on('end', () => socket.end());
    });
    const one = new Client(await startFront(port));
    one.write(`${begin}Transfer-Encoding: chunked\r\n\r\n${chunks}`);
    await one.closed;
    await Promise.all(closed);
    expect(one.received).toMatch(/^HTTP\/1.1 400 /);
    expect(seen).not.toMatch(/0\r\n\r\n$|GET \/x/);
  });

  it('reads two requests as two, and frames each anew', async () => {
    const bodies: string[] = [];
    const port = await httpUpstream(async (req, res) => {
      bodies.push(
        `${req.method} ${req.headers['content-length'] ?? req.headers['transfer-encoding']} ${await text(req)}`,
      );
      res.end('x');
    });
    const one = new Client(await startFront(port));
    one.write(
      `${begin}Transfer-Encoding: Chunked\r\n\r\n00005;ext=1\r\nhello\r\n0\r\n\r\n\r\n${begin}Content-Length: 5\r\n\r\nGET /`,
    );
    await one.until(/^HTTP\/1.1 200.*HTTP\/1.1 200.*x/s);
    await expect.poll(() => bodies).toEqual(['POST chunked hello', 'POST 5 GET /']);
  });

  it('by a response longer than announced does not reach the next client', async () => {
    let connections = 0;
    const port = await rawUpstream((socket) => {
      connections += 1;
      socket.on('data', () =>
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'),
      );
    });
    const one = new Client(await startFront(port));
    for (let i = 1; i <= 2; i++) {
      one.received = '';
      one.send('GET / HTTP/1.1', `Host: ${NAME}`);
      await one.until(/ok$/);
      expect(connections).toBe(i);
    }
  });

  it('in headers that are too large or never end is refused', async () => {
    const one = new Client(await startFront(await rawUpstream(() => {})));
    one.write(`GET / HTTP/1.1\r\nHost: ${NAME}\r\nX-A: ${'a'.repeat(40_000)}`);
    await one.closed;
    expect(one.received).toMatch(/^HTTP\/1.1 431 /);
  });
});

describe('connections to an upstream', () => {
  it('that close when they are reused are retried for an idempotent request', async () => {
    const port = await rawUpstream((socket, count) => {
      let requests = 0;
      socket.on('data', () => {
        requests += 1;
        if (count === 1 && requests === 2) socket.destroy();
        else socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${count}`);
      });
    });
    const one = new Client(await startFront(port));
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await one.until(/1$/);
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await one.until(/2$/);
  });

  it('that break during a request with a body are not retried', async () => {
    let requests = 0;
    const port = await rawUpstream((socket) => {
      socket.on('data', () => {
        requests += 1;
        if (requests === 2) socket.destroy();
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      });
    });
    const one = new Client(await startFront(port));
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
    const port = await rawUpstream((socket) => {
      closed.push(once(socket, 'close'));
      socket.on('end', () => socket.end());
      socket.on('data', () => {
        finish = () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      });
    });
    const one = new Client(await startFront(port));
    one.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await expect.poll(() => finish).toBeDefined();
    upstream.close();
    finish!();
    await one.until(/ok$/);
    await Promise.all(closed);
  });
});

describe('closing the listener', () => {
  it('lets running responses end, with Connection: close', async () => {
    let finish: (() => void) | undefined;
    const port = await httpUpstream((_req, res) => {
      finish = () => res.end('done');
    });
    const frontPort = await startFront(port);
    const busy = new Client(frontPort);
    const idle = new Client(frontPort);
    await once(idle.socket, 'connect');
    busy.send('GET / HTTP/1.1', `Host: ${NAME}`);
    await expect.poll(() => finish).toBeDefined();
    const closing = front.close();
    await idle.closed;
    finish!();
    await busy.until(/Connection: close\r\n.*done/s);
    busy.socket.end();
    await closing;
  });
});
