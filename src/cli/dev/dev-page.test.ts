import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type DevEndpoint, type DevPage, openDevPage } from './dev-page.ts';

let upstream: Server;
let page: DevPage | undefined;
/** The requests that have reached the API. */
let reached: string[];

beforeEach(async () => {
  reached = [];
  upstream = createServer(async (asked, answer) => {
    const { method, url, headers } = asked;
    reached.push(`${method} ${url} ${headers.authorization} ${headers.cookie ?? ''}${await text(asked)}`);
    answer.writeHead(url!.includes('fails') ? 500 : 200, { 'Content-Type': 'application/json' });
    answer.end('{"id": "j1"}');
  });
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
});
afterEach(() => {
  page?.close();
  upstream.close();
});

async function open(type: DevEndpoint['type'] = 'QUEUE'): Promise<{ port: number; token: string }> {
  const { port } = upstream.address() as AddressInfo;
  const target = { url: `http://127.0.0.1:${port}`, key: 'pyk_secret' };
  page = await openDevPage(target, { id: 'e1', name: '<b>app</b>', type });
  const url = new URL(page.url);
  return { port: Number(url.port), token: url.hash.slice(1) };
}

async function ask(
  { port, token }: { port: number; token: string },
  path: string,
  {
    method = 'GET',
    body = '',
    headers = {},
  }: { method?: string; body?: string; headers?: Record<string, string> } = {},
): Promise<{ status: number; text: string; headers: IncomingMessage['headers'] }> {
  const all = { authorization: `Bearer ${token}`, cookie: 'a=b', ...headers };
  const sent = request({ host: '127.0.0.1', port, path, method, headers: all });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: answer.statusCode!, text: await text(answer), headers: answer.headers };
}

test('it passes jobs on with the key, which is in nothing that the browser gets', async () => {
  const at = await open();
  expect(await ask(at, '/job/run', { method: 'POST', body: '{"input": 1}' })).toMatchObject({
    status: 200,
    text: '{"id": "j1"}',
  });
  await ask(at, '/job/stream/j1-e1');
  await ask(at, '/job/cancel/j1-e1', { method: 'POST' });
  await ask(at, '/log');
  expect(reached).toEqual([
    'POST /v2/e1/run Bearer pyk_secret {"input": 1}',
    'GET /v2/e1/stream/j1-e1 Bearer pyk_secret ',
    'POST /v2/e1/cancel/j1-e1 Bearer pyk_secret ',
    'GET /v2/serverless/e1/logs?tail=100 Bearer pyk_secret ',
  ]);
  const html = await ask(at, '/', { headers: { authorization: '' } });
  expect(html.text + JSON.stringify(html.headers)).not.toMatch(/pyk_secret|<b>app/);
  expect(html.text).not.toContain(at.token);
  expect(JSON.parse((await ask(at, '/about')).text)).toEqual({ name: '<b>app</b>', type: 'QUEUE' });
});

test('its script runs, and no other', async () => {
  const { headers, text: html } = await ask(await open(), '/');
  expect(headers['content-security-policy']).toMatch(
    /default-src 'none'; script-src 'sha256-\S{44}'; style-src 'sha256/,
  );
  expect(html.match(/<script/g)).toHaveLength(1);
  expect(html).not.toMatch(/\son\w+=|innerHTML|https?:\/\//);
});

test.each([
  ['another Host, as after a rebound name', { host: 'evil.example' }],
  ['another Origin', { origin: 'https://evil.example' }],
  ['the Origin of a frame without one', { origin: 'null' }],
  ['no token', { authorization: '' }],
  ['a wrong token', { authorization: 'Bearer nothing' }],
])('%s is refused, and nothing reaches the API', async (_, headers) => {
  const answer = await ask(await open(), '/job/run', { method: 'POST', body: '{}', headers });
  expect(answer.status).toBe(403);
  expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  expect(reached).toEqual([]);
});

test.each([
  ['GET', '/job/run'],
  ['POST', '/job/run?x=1'],
  ['GET', '/job/stream/..%2f..%2fserverless'],
  ['GET', '/job/stream/../../serverless'],
  ['DELETE', '/log'],
  ['GET', '/v2/serverless'],
  ['POST', '/lb/predict'],
])('%s %s is no path of it', async (method, path) => {
  expect((await ask(await open(), path, { method })).status).toBe(404);
  expect(reached).toEqual([]);
});

test('with load balancing, requests go to the server, and to nothing beside it', async () => {
  const at = await open('LOAD_BALANCING');
  expect(await ask(at, '/lb/fails?a=1', { method: 'PUT', body: 'hello' })).toMatchObject({ status: 500 });
  expect(reached).toEqual(['PUT /v2/e1/lb/fails?a=1 Bearer pyk_secret hello']);
  for (const path of ['/lb/../../serverless', '/lb/%2e%2e/%2E./serverless', '/job/run', '/lb']) {
    expect((await ask(at, path)).status).toBe(404);
  }
  expect(reached).toHaveLength(1);
});

test('a server that is gone is told', async () => {
  const at = await open();
  upstream.close();
  upstream.closeAllConnections();
  await once(upstream, 'close');
  const { status, text: said } = await ask(at, '/log');
  expect([status, said]).toEqual([502, expect.stringContaining('cannot be reached')]);
});
