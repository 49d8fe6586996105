/** Requests that cost much CPU time take turns between users: docs/guide/security.md, "Floods". */
import { afterAll, beforeAll, describe, test } from 'vitest';
import { createPool } from '../../src/db/pool.ts';
import { appendLogLines } from '../../src/domain/logs/append-log-lines.ts';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { expectUnharmed, type Scene } from './beside-flood.ts';
import { Bystander, quantile } from './bystander.ts';
import { createTenant } from './tenant.ts';

const MEASURE_MS = 2_500;
/**
 * The largest answers of GraphQL, 16 MiB each, four at a time: about 100 MB are alive. On a machine with memory to spare V8 lets its
 * heap grow to several times that before it collects; with a limit it collects in time, and a server that held more would crash.
 */
const MAX_HEAP_MB = 400;
const MAX_RSS_MB = 700;
/** Times that a request waits for the machine: client, server, database, server, client. */
const TURNS = 4;

const many = (count: number, text: (i: number) => string) => Array.from({ length: count }, (_, i) => text(i)).join(' ');

/** A request of the hostile client. */
function post(path: string, body: string, ...headers: string[]): string {
  const lines = ['host: a', 'content-type: application/json', `content-length: ${Buffer.byteLength(body)}`, ...headers];
  return `POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
}

const graphql = (query: string, ...headers: string[]) => post('/graphql', JSON.stringify({ query }), ...headers);
const PRICES = `{ ${many(30, (i) => `a${i}: gpuTypes { lowestPrice { uninterruptablePrice stockStatus } }`)} }`;
const OTHER_PRICES = `{ gpuTypes { ${many(150, (i) => `a${i}: lowestPrice(input: {allowedCudaVersions: ["12.${i}"]}) { stockStatus }`)} } }`;
const LISTS = `{ dataCenters { ${many(160, (i) => `a${i}: gpuAvailability { id }`)} } }`;
const UNKNOWN_MEMBERS = `{${Array.from({ length: 70_000 }, (_, i) => `"m${i}":0`).join(',')}}`;
const ENV = `{"env":{${Array.from({ length: 70_000 }, (_, i) => `"m${i}":0`).join(',')}}}`;
const OBJECTS = `{"input":[${Array.from({ length: 75_000 }, (_, i) => `{"a":0,"m${i}":0}`).join(',')}`;
const QUOTES = `{"input":"${'\\"'.repeat(750_000)}"`;

/** A client that may do anything of its own user's. */
interface Hostile {
  authorization: string;
  endpoint: string;
}

/** The requests that it sends. Each kind has a server of its own, because V8 does not give memory back at once. */
const COSTLY: Record<string, Record<string, (hostile: Hostile) => string>> = {
  'GraphQL documents': {
    'that ask for prices, without a key': () => graphql(PRICES),
    'that ask for prices by many rules': ({ authorization }) => graphql(OTHER_PRICES, authorization),
    'that ask for many lists': ({ authorization }) => graphql(LISTS, authorization),
  },
  'bodies of REST': {
    'of unknown members': ({ authorization }) => post('/v2/templates', UNKNOWN_MEMBERS, authorization),
    'of a large env': ({ authorization }) => post('/v2/templates', ENV, authorization),
  },
  'jobs of 1.5 MiB': {
    'of small objects': ({ authorization, endpoint }) => post(`/v2/${endpoint}/run`, OBJECTS, authorization),
    'of escaped quotes': ({ authorization, endpoint }) => post(`/v2/${endpoint}/run`, QUOTES, authorization),
  },
  'searches of logs': {
    'that find nothing': ({ authorization, endpoint }) =>
      `GET /v2/serverless/${endpoint}/log-lines?search=nothing HTTP/1.1\r\nhost: a\r\n${authorization}\r\n\r\n`,
  },
};

describe.each(Object.entries(COSTLY))('a request for /health beside %s', (kind, requests) => {
  let server: ServerProcess;
  let bystander: Bystander;
  let scene: Scene;
  let hostile: Hostile;

  beforeAll(async () => {
    const env = { NODE_OPTIONS: `--max-old-space-size=${MAX_HEAP_MB}` };
    server = await ServerProcess.start({ runtime: 'simulated', env });
    const { key } = await createTenant(server, 'hostile');
    const endpoint = await new Api({ url: server.url, key }).createEndpoint({ workers: { min: 1, max: 1 } });
    hostile = { authorization: `authorization: Bearer ${key}`, endpoint };
    if (kind === 'searches of logs') await writeLog(server, endpoint);
    const tenant = await createTenant(server, 'bystander');
    const own = await new Api({ url: server.url, key: tenant.key }).createEndpoint({ workers: { min: 0, max: 1 } });
    const url = `${server.url}/v2/${own}/health`;
    bystander = new Bystander({ url, headers: { authorization: `Bearer ${tenant.key}` } });
    await bystander.measure(500); // warms up
    await fetch(`${server.url}/graphql`, { method: 'POST' }); // loads what answers it
    const aloneMs = quantile((await bystander.measure(MEASURE_MS)).waits, 0.99);
    scene = { serverPid: server.pid, bystander, aloneMs, turns: TURNS, measureMs: MEASURE_MS, maxRssMb: MAX_RSS_MB };
  });
  afterAll(async () => {
    await bystander?.stop();
    await server?.dispose();
  });

  describe.each(Object.entries(requests))('%s', (_, request) => {
    test.each([6, 100])('on %i connections', (connections) => {
      const task = { port: Number(new URL(server.url).port), connections, reads: true, renews: false };
      return expectUnharmed(scene, () => ({ ...task, request: request(hostile) }));
    });
  });
});

/** Gives a worker of the endpoint more lines than a search reads. */
async function writeLog(server: ServerProcess, endpoint: string): Promise<void> {
  const workloadId = await until('the endpoint has a worker', async () => {
    const found = await server.query<{ id: string }>('select id from workers where endpoint_id = $1', [endpoint]);
    return found[0]?.id;
  });
  const pool = createPool({ databaseUrl: await server.databaseUrl(), applicationName: 'test', maxConnections: 1 });
  const line = { workloadId, ts: new Date(), source: 'container', line: 'x'.repeat(200) } as const;
  try {
    for (let portion = 0; portion < 10; portion++)
      await appendLogLines(
        pool,
        Array.from({ length: 15_000 }, () => line),
      );
  } finally {
    await pool.end();
  }
}
