import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { BystanderTask } from './bystander.ts';
import type { FloodTask } from './flood.ts';
import type { House } from './neighborhood.ts';

type Attack = Pick<FloodTask, 'request'> & Partial<Pick<FloodTask, 'port' | 'openings' | 'renews'>>;

/** A part of the server that a victim uses while hostile clients do. */
export interface Plane {
  name: string;
  /** The victim's request. */
  victim: (house: House) => BystanderTask | Promise<BystanderTask>;
  /** The name of each flood, and the requests of the hostile client. `connections`: how many there are. */
  floods: [string, (house: House, connections: number) => Attack | Promise<Attack>][];
}

const lines = (...all: string[]) => `${all.join('\r\n')}\r\n\r\n`;
const bearer = ({ key }: House) => `authorization: Bearer ${key}`;

function get(house: House, path: string, ...headers: string[]): Attack {
  return { request: lines(`GET ${path} HTTP/1.1`, 'host: a', bearer(house), ...headers) };
}
function post(house: House, path: string, body: string, method = 'POST'): Attack {
  const head = [bearer(house), 'content-type: application/json', `content-length: ${Buffer.byteLength(body)}`];
  return { request: `${lines(`${method} ${path} HTTP/1.1`, 'host: a', ...head)}${body}` };
}
/** Adds gzip'ed lines to a batch. */
function upload(house: House, packed: Buffer): Attack {
  const head = [
    ...['host: a', bearer(house), 'content-type: application/x-ndjson', 'content-encoding: gzip'],
    `content-length: ${packed.length}`,
  ];
  const path = `/v2/${house.queue}/batch/${house.batch}/requests`;
  return { request: `${lines(`POST ${path} HTTP/1.1`, ...head)}${packed.toString('latin1')}` };
}
const SMALL_REQUESTS = gzipSync('{"input":1}\n'.repeat(2_000));
const LINE_WITHOUT_END = gzipSync(Buffer.alloc(60 * 2 ** 20));
function ofWorker({ worker, ports }: House, operation: string, more = ''): Attack {
  const path = `${worker.path(operation)}${more}`;
  return { port: ports.workers, request: lines(`GET ${path} HTTP/1.1`, 'host: a', `authorization: ${worker.token}`) };
}
const ofPod = ({ podHost }: House, path: string): Attack => ({
  request: lines(`GET ${path} HTTP/1.1`, `host: ${podHost}`),
});

const asks = (house: House, path: string, more: Partial<BystanderTask> = {}): BystanderTask => ({
  url: `${house.url}${path}`,
  ...more,
  headers: { authorization: `Bearer ${house.key}`, ...more.headers },
});
const asksWith = (house: House, path: string, body: object): BystanderTask =>
  asks(house, path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

const QUERY = '{ myself { id email endpoints { id name } pods { id name } } }';

/** Opens so many terminals. `frame`: what each then sends all the time. */
async function terminals(house: House, count: number, command: string[], frame: Buffer): Promise<Attack> {
  const all = await Promise.all(Array.from({ length: count }, () => house.openTerminal(command)));
  const openings = all.map(({ url, protocols }) =>
    lines(
      ...[`GET ${new URL(url).pathname} HTTP/1.1`, `host: ${new URL(url).host}`, 'connection: Upgrade'],
      ...['upgrade: websocket', 'sec-websocket-version: 13', `sec-websocket-protocol: ${protocols.join(', ')}`],
      `sec-websocket-key: ${randomBytes(16).toString('base64')}`,
    ),
  );
  return { openings, request: frame.toString('latin1') };
}
/** A frame of a client, with a mask of zeros. */
function frame(opcode: number, payload: string): Buffer {
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | payload.length, 0, 0, 0, 0]), Buffer.from(payload)]);
}
const TEXT = 1;
const BINARY = 2;
const PING = 9;

export const PLANES: Plane[] = [
  {
    name: 'the worker API',
    victim: ({ url, worker, ports }) => ({
      url: `http://${new URL(url).hostname}:${ports.workers}${worker.path('ping')}`,
      headers: { authorization: worker.token },
    }),
    floods: [
      ['pings', (house) => ofWorker(house, 'ping')],
      ['takes', (house) => ofWorker(house, 'job-take', '?job_in_progress=0')],
      ['refused requests', (house) => ofWorker(house, 'nothing')],
    ],
  },
  {
    name: 'the queue',
    victim: (house) => asksWith(house, `/v2/${house.queue}/runsync`, { input: { echo: 1 } }),
    floods: [
      ['refused requests', (house) => get(house, '/v2/none/nope')],
      ['requests for health', (house) => get(house, `/v2/${house.queue}/health`)],
      ['requests for a job', (house) => get(house, `/v2/${house.queue}/status/${house.job}`)],
      ['jobs', (house) => post(house, `/v2/${house.queue}/run`, '{"input":{"echo":1}}')],
    ],
  },
  {
    name: 'batches',
    victim: (house) => asksWith(house, `/v2/${house.queue}/runsync`, { input: { echo: 1 } }),
    floods: [
      ['new batches', (house) => post(house, `/v2/${house.queue}/batch`, '[{"input":1},{"input":2}]')],
      ['uploads', (house) => upload(house, SMALL_REQUESTS)],
      ['gzip of a line without end', (house) => upload(house, LINE_WITHOUT_END)],
      ['lists of batches', (house) => get(house, `/v2/${house.queue}/batch`)],
    ],
  },
  {
    name: 'REST',
    victim: (house) => asks(house, `/v2/serverless/${house.queue}`),
    floods: [
      ['lists in the first revision', (house) => get(house, '/2026-07/v2/serverless')],
      ['lists in the second revision', (house) => get(house, '/2026-08/v2/serverless')],
      ['lists in v1', (house) => get(house, '/v1/endpoints')],
      ['refused requests', (house) => get(house, '/v2/pods/none')],
      ['changes of one record', (house) => post(house, `/v2/serverless/${house.queue}`, '{"timeout":60000}', 'PATCH')],
    ],
  },
  {
    name: 'load balancing',
    victim: (house) => asks(house, `/v2/${house.balanced}/lb/`),
    floods: [
      ['requests', (house) => get(house, `/v2/${house.balanced}/lb/`)],
      ['requests to no worker', (house) => get(house, `/v2/none/lb/`)],
    ],
  },
  {
    name: 'pods',
    victim: (house) => asks(house, '/', { headers: { host: house.podHost } }),
    floods: [
      ['requests', (house) => ofPod(house, '/')],
      ['large answers', (house) => ofPod(house, '/large')],
      ['answers without end', (house) => ofPod(house, '/stream')],
    ],
  },
  {
    name: 'GraphQL',
    victim: (house) => asksWith(house, '/graphql', { query: '{ myself { id } }' }),
    floods: [
      ['queries', (house) => post(house, '/graphql', JSON.stringify({ query: QUERY }))],
      ['refused queries', (house) => post(house, '/graphql', '{"query":"{ nothing }"}')],
    ],
  },
  {
    name: 'terminals',
    victim: async (house) => {
      const { url, protocols } = await house.openTerminal(['cat']);
      return { url, headers: {}, terminal: { protocols } };
    },
    floods: [
      ['input', (house, count) => terminals(house, count, ['cat'], frame(BINARY, `\0${'x'.repeat(100)}`))],
      ['pings', (house, count) => terminals(house, count, ['cat'], frame(PING, ''))],
      ['output', (house, count) => terminals(house, count, ['yes'], frame(TEXT, '{"type":"ack","bytes":65536}'))],
    ],
  },
  {
    name: 'logs',
    victim: (house) => asks(house, `/v2/pods/${house.pod}/log-lines?limit=50`),
    floods: [
      ['pages', (house) => get(house, `/v2/pods/${house.pod}/log-lines?limit=1000`)],
      ['searches', (house) => get(house, `/v2/pods/${house.pod}/log-lines?search=nothing&limit=1000`)],
      ['streams', (house) => get(house, `/v2/pods/${house.pod}/logs?tail=5000`)],
      ['downloads', (house) => get(house, `/v2/pods/${house.pod}/logs/download`)],
    ],
  },
  {
    name: 'event streams',
    victim: (house) => asks(house, `/v2/serverless/${house.queue}/live`, { isStream: true }),
    floods: [
      ['streams of an endpoint', (house) => ({ ...get(house, `/v2/serverless/${house.queue}/live`), renews: true })],
      ['streams of the account', (house) => ({ ...get(house, '/v2/account/live'), renews: true })],
      ['streams of pods', (house) => ({ ...get(house, '/v2/pods/live'), renews: true })],
    ],
  },
];
