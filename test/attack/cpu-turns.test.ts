/** Requests that cost much CPU time take turns between users: docs/guide/security.md, "Floods". */
import { afterAll, beforeAll, describe, test } from 'vitest';
import { Api } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { expectUnharmed, type Scene } from './beside-flood.ts';
import { Bystander, quantile } from './bystander.ts';
import { createTenant } from './tenant.ts';

const MEASURE_MS = 2_500;
/** Times that a request waits for the machine: client, server, database, server, client. */
const TURNS = 4;

let server: ServerProcess;
let bystander: Bystander;
let scene: Scene;
let key: string;
let endpoint: string;

beforeAll(async () => {
  server = await ServerProcess.start({ runtime: 'simulated' });
  ({ key } = await createTenant(server, 'hostile'));
  endpoint = await new Api({ url: server.url, key }).createEndpoint({ workers: { min: 0, max: 1 } });
  const tenant = await createTenant(server, 'bystander');
  const own = await new Api({ url: server.url, key: tenant.key }).createEndpoint({ workers: { min: 0, max: 1 } });
  const url = `${server.url}/v2/${own}/health`;
  bystander = new Bystander({ url, headers: { authorization: `Bearer ${tenant.key}` } });
  await bystander.measure(500); // warms up
  await fetch(`${server.url}/graphql`, { method: 'POST' }); // loads what answers it
  const aloneMs = quantile((await bystander.measure(MEASURE_MS)).waits, 0.99);
  scene = { serverPid: server.pid, bystander, aloneMs, turns: TURNS, measureMs: MEASURE_MS };
});
afterAll(async () => {
  await bystander?.stop();
  await server?.dispose();
});

const many = (count: number, text: (i: number) => string) => Array.from({ length: count }, (_, i) => text(i)).join(' ');

/** A request of the hostile client. */
function post(path: string, body: string, ...headers: string[]): string {
  const lines = ['host: a', 'content-type: application/json', `content-length: ${Buffer.byteLength(body)}`, ...headers];
  return `POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}

const graphql = (query: string, ...headers: string[]) => post('/graphql', JSON.stringify({ query }), ...headers);
const authorization = () => `authorization: Bearer ${key}`;

const PRICES = `{ ${many(30, (i) => `a${i}: gpuTypes { lowestPrice { uninterruptablePrice stockStatus } }`)} }`;
const OTHER_PRICES = `{ gpuTypes { ${many(150, (i) => `a${i}: lowestPrice(input: {allowedCudaVersions: ["12.${i}"]}) { stockStatus }`)} } }`;
const LISTS = `{ dataCenters { ${many(160, (i) => `a${i}: gpuAvailability { id }`)} } }`;
const UNKNOWN_MEMBERS = `{${Array.from({ length: 70_000 }, (_, i) => `"m${i}":0`).join(',')}}`;
const ENV = `{"env":{${Array.from({ length: 70_000 }, (_, i) => `"m${i}":0`).join(',')}}}`;
const OBJECTS = `{"input":[${Array.from({ length: 75_000 }, (_, i) => `{"a":0,"m${i}":0}`).join(',')}`;
const QUOTES = `{"input":"${'\\"'.repeat(750_000)}"`;

/** [what it sends, the request] */
const COSTLY: [string, () => string][] = [
  ['GraphQL documents that ask for prices, without a key', () => graphql(PRICES)],
  ['GraphQL documents that ask for prices by many rules', () => graphql(OTHER_PRICES, authorization())],
  ['GraphQL documents that ask for many lists', () => graphql(LISTS, authorization())],
  ['REST bodies of many unknown members', () => post('/v2/templates', UNKNOWN_MEMBERS, authorization())],
  ['REST bodies of a large env', () => post('/v2/templates', ENV, authorization())],
  ['jobs of 1.5 MiB in small objects', () => post(`/v2/${endpoint}/run`, OBJECTS, authorization())],
  ['jobs of 1.5 MiB in escaped quotes', () => post(`/v2/${endpoint}/run`, QUOTES, authorization())],
];

describe.each([6, 100])('a request for /health beside %i connections that send', (connections) => {
  test.each(COSTLY)('%s', (_, request) => {
    const task = { port: Number(new URL(server.url).port), connections, reads: true, renews: false };
    return expectUnharmed(scene, { ...task, request: request() });
  });
});
