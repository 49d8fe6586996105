import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Answer, exchange, exchangeByFetch, type Sent } from './exchange.ts';

let server: Server;
let url: string;
let respond: RequestListener;

beforeEach(async () => {
  server = createServer((request, response) => respond(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const signal = new AbortController().signal;
const plain: Sent = { method: 'GET', headers: {}, signal };

async function read({ ok, status, redirected, headers, ...answer }: Answer) {
  return { ok, status, redirected, url: answer.url, own: headers.get('x-own'), none: headers.get('x-none') };
}

test.each([
  ['a GET', plain],
  ['a text', { ...plain, method: 'POST', body: 'grün' }],
  ['bytes', { ...plain, method: 'PUT', body: new Uint8Array([1, 2, 255]) }],
] as const)('%s arrives as that of fetch, and its response too', async (_, sent) => {
  const arrived: unknown[] = [];
  respond = async (request, response) => {
    const { method, headers } = request;
    arrived.push([method, headers['content-length'], headers.authorization, await text(request)]);
    response.writeHead(201, { 'x-own': 'a' }).end('später');
  };
  const headers = { authorization: 'Bearer a' };
  const own = await exchange(`${url}/a?b=c`, { ...sent, headers });
  const fetched = await exchangeByFetch(`${url}/a?b=c`, { ...sent, headers });
  expect(arrived[0]).toEqual(arrived[1]);
  expect(await own.text()).toBe('später');
  expect(await read(own)).toEqual(await read(fetched));
});

test('a redirect is followed', async () => {
  respond = async (request, response) => {
    if (request.url === '/old') response.writeHead(308, { location: '/new' }).end();
    else response.end(`${request.method} ${request.url} ${await text(request)}`);
  };
  const answer = await exchange(`${url}/old`, { ...plain, method: 'POST', body: 'a' });
  expect(answer).toMatchObject({ ok: true, redirected: true, url: `${url}/new` });
  expect(await answer.text()).toBe('POST /new a');
});

test('a character is whole, also where a stream is cut within it', async () => {
  const bytes = Buffer.from('ü');
  respond = (_, response) => {
    response.write(bytes.subarray(0, 1), () => setImmediate(() => response.end(bytes.subarray(1))));
  };
  let all = '';
  for await (const part of (await exchange(url, plain)).texts()) all += part;
  expect(all).toBe('ü');
});

test('a stream that breaks is an error, not its end', async () => {
  respond = (_, response) => void response.write('a', () => response.destroy());
  await expect((await exchange(url, plain)).text()).rejects.toThrow();
});

test('an aborted request rejects with the reason of its signal', async () => {
  const reason = new Error('enough');
  await expect(exchange(url, { ...plain, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  const ended = new AbortController();
  respond = () => ended.abort(reason);
  await expect(exchange(url, { ...plain, signal: ended.signal })).rejects.toBe(reason);
});

test('a server that is not there, or changes the protocol, is an error', async () => {
  server.on('upgrade', () => {});
  respond = (request) =>
    request.socket.end('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: a\r\n\r\n');
  await expect(exchange(url, plain)).rejects.toThrow('it changed the protocol without being asked');
  server.close();
  server.closeAllConnections();
  await expect(exchange(url, plain)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});
