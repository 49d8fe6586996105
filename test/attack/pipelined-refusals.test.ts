/** One client must not starve the others: docs/guide/security.md, "Floods". */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Api } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { expectUnharmed, leastOver, limitMs } from './beside-flood.ts';
import { Bystander, quantile } from './bystander.ts';
import { Flood, type FloodTask } from './flood.ts';
import { createTenant } from './tenant.ts';

const MEASURE_MS = 1_200;
/** Times that a request waits for the machine: client, server, database, server, client. */
const TURNS = 4;
const PROXY = '127.0.0.3';

let server: ServerProcess;
let bystander: Bystander;
let key: string;
let endpoint: string;
let bystanderHeaders: Record<string, string>;
let aloneMs: number;

beforeAll(async () => {
  server = await ServerProcess.start({
    runtime: 'simulated',
    env: { PODYARD_TRUSTED_PROXIES: PROXY, PODYARD_REST_V1: 'true' },
  });
  ({ key } = await createTenant(server, 'hostile'));
  const tenant = await createTenant(server, 'bystander');
  endpoint = await new Api({ url: server.url, key: tenant.key }).createEndpoint({ workers: { min: 0, max: 1 } });
  const url = `${server.url}/v2/${endpoint}/health`;
  bystanderHeaders = { authorization: `Bearer ${tenant.key}` };
  bystander = new Bystander({ url, headers: bystanderHeaders });
  await bystander.measure(500); // warms up
  aloneMs = quantile((await bystander.measure(2 * MEASURE_MS)).waits, 0.99);
});
afterAll(async () => {
  await bystander?.stop();
  await server?.dispose();
});

/** A request of the hostile client. */
const get = (path: string, ...headers: string[]) =>
  `GET ${path} HTTP/1.1\r\nhost: a\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n`;

const scene = () => ({ serverPid: server.pid, bystander, aloneMs, turns: TURNS, measureMs: MEASURE_MS });
const unharmedBy = (task: Partial<FloodTask> & { request: string }) =>
  expectUnharmed(scene(), () => ({
    ...{ port: Number(new URL(server.url).port), connections: 1, reads: true, renews: false },
    ...task,
  }));

/** [what it asks for, the request] */
const REFUSED: [string, () => string][] = [
  ['the queue API, without a key', () => get('/v2/none/nope')],
  ['the queue API, with a key', () => get('/v2/none/nope', `authorization: Bearer ${key}`)],
  ['REST, without a key', () => get('/v2/pods')],
  ['REST, with a key', () => get('/v2/pods/none', `authorization: Bearer ${key}`)],
];

describe.each([1, 4, 100])('a request for /health beside %i connections of refused requests', (connections) => {
  test.each(REFUSED)('of %s', (_, request) => unharmedBy({ request: request(), connections }));
});

describe('a request for /health beside 100 connections', () => {
  test.each(REFUSED)('whose client reads no answer, of %s', (_, request) =>
    unharmedBy({ request: request(), connections: 100, reads: false }),
  );

  test.each([...REFUSED, ['what is not HTTP', () => 'GET nothing\r\n\r\n'] as const])(
    'that are new for each request, of %s',
    (_, request) => unharmedBy({ request: request(), connections: 100, renews: true }),
  );

  test.each([
    ['the queue API and REST in turn', () => get('/v2/none/nope') + get('/v2/pods')],
    ['GraphQL', () => 'POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}'],
    ['REST v1', () => get('/v1/pods')],
    ['the queue API, with a body', () => 'POST /v2/none/run HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}'],
    ['a pod that is not there', () => 'GET / HTTP/1.1\r\nhost: none-80.localhost\r\n\r\n'],
    ['the queue API, through a trusted proxy', () => get('/v2/none/nope', 'x-forwarded-for: 192.0.2.1')],
    ['REST, through a trusted proxy', () => get('/v2/pods', 'x-forwarded-for: 192.0.2.1')],
  ])('of %s', (what, request) => {
    const from = what.endsWith('proxy') ? { from: PROXY } : {};
    return unharmedBy({ request: request(), connections: 100, ...from });
  });

  test.each([
    ['preflights of browsers', () => 'OPTIONS /v2/none/run HTTP/1.1\r\nhost: a\r\norigin: b\r\n\r\n'],
    ['the console', () => get('/')],
  ])('of %s, which are answered', (_, request) => unharmedBy({ request: request(), connections: 100 }));
});

test('clients of a proxy are not kept waiting by a flood of another client of it', async () => {
  const ask = (client: string) => ({
    ...{ port: Number(new URL(server.url).port), from: PROXY, reads: true, renews: false },
    request: get(`/v2/${endpoint}/nope`, `x-forwarded-for: ${client}`),
  });
  const flood = await Flood.start({ ...ask('192.0.2.1'), connections: 20 });
  const other = new Bystander({
    url: `${server.url}/v2/${endpoint}/health`,
    headers: { ...bystanderHeaders, 'x-forwarded-for': '192.0.2.2' },
    from: PROXY,
  });
  const measure = async () => {
    const { waits, late, faults } = await other.measure(MEASURE_MS);
    expect(faults).toEqual([]);
    return quantile(waits, 0.99) - limitMs(scene(), late);
  };
  const overMs = await leastOver(measure);
  await Promise.all([flood.stop(), other.stop()]);
  expect(overMs).toBeLessThanOrEqual(0);
});
