import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { Attack as WholeAttack } from './beside-flood.ts';
import type { BystanderTask } from './bystander.ts';
import type { House } from './neighborhood.ts';

type Attack = Pick<WholeAttack, 'request'> & Partial<Pick<WholeAttack, 'port' | 'openings' | 'renews' | 'untilBegun'>>;

/** A part of the server that a victim uses while hostile clients do. */
export interface Plane {
  name: string;
  /** Times that the victim's request waits for the machine: client, server, database or upstream, server, client; each operation on files is one more. Default: 4. */
  turns?: number;
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
/** Requests one after the other on the same connection. */
const several = (...all: Attack[]): Attack => ({ ...all[0]!, request: all.map(({ request }) => request).join('') });
/** The first part of a body that never ends. */
function stalled(house: House, method: string, path: string, ...headers: string[]): Attack {
  const head = [bearer(house), 'content-type: application/octet-stream', ...headers];
  return { request: `${lines(`${method} ${path} HTTP/1.1`, 'host: a', ...head)}${'x'.repeat(60_000)}`, renews: true };
}
/** To S3, with a key that is there and a signature that is wrong, of now; or without `isForged`, with an API key. */
function s3(house: House, method: string, path: string, { isForged = false, body = '' } = {}): Attack {
  const date = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const scope = `${house.s3Key}/${date.slice(0, 8)}/us-east-1/s3/aws4_request`;
  const names = 'host;x-amz-content-sha256;x-amz-date';
  const forged = `AWS4-HMAC-SHA256 Credential=${scope},SignedHeaders=${names},Signature=${'0'.repeat(64)}`;
  const head = [isForged ? `authorization: ${forged}` : bearer(house), `x-amz-date: ${date}`];
  const rest = ['x-amz-content-sha256: UNSIGNED-PAYLOAD', `content-length: ${body.length}`];
  return { request: `${lines(`${method} ${house.bucket}${path} HTTP/1.1`, 'host: a', ...head, ...rest)}${body}` };
}
const onFiles = (house: House, isForged: boolean): Attack =>
  several(
    s3(house, 'PUT', '/other', { isForged, body: 'x'.repeat(1_000) }),
    s3(house, 'GET', '?list-type=2', { isForged }),
    s3(house, 'DELETE', '/other', { isForged }),
    s3(house, 'GET', '/small', { isForged }),
  );
const fromHub = ({ ports }: House, path: string): Attack => ({
  port: ports.workers,
  request: lines(`GET ${path} HTTP/1.1`, 'host: a'),
});

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

const DIGEST = '0'.repeat(64);
const RANGE = ['content-length: 400000000', 'content-range: bytes 0-399999999/400000000'];
const RESOLVED = JSON.stringify({ models: [{ source: 'acme/tiny' }] });
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
  // The kernel, not the server, divides the processors among 200 programs that start at once: that is no p99 of half a second.
  return {
    openings,
    request: frame.toString('latin1'),
    untilBegun: () => house.untilOpened(all.map(({ session }) => session.id)),
  };
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
  {
    name: 'files, models and records',
    turns: 12,
    victim: (house) => asks(house, `${house.bucket}/small`),
    floods: [
      ['S3 with wrong signatures', (house) => onFiles(house, true)],
      ['S3 puts, lists, deletes and gets', (house) => onFiles(house, false)],
      ['S3 gets of a large file', (house) => s3(house, 'GET', '/large')],
      [
        'a hub of another workload',
        (house) => fromHub(house, `${house.hub.slice(0, -9)}AAAAAAAAA/api/models/acme/tiny`),
      ],
      ['a hub of its own', (house) => fromHub(house, house.hubFile)],
      [
        'missing files of a hub',
        (house) => several(...Array.from({ length: 50 }, (_, i) => fromHub(house, `${house.hubFile}.${i}`))),
      ],
      ['packs without end', (house) => stalled(house, 'POST', '/v2/builds/files', 'content-length: 4000000')],
      ['files without end', (house) => stalled(house, 'PUT', `/v2/builds/files/${DIGEST}`, ...RANGE)],
      [
        'lists of models',
        (house) => several(get(house, '/v2/models'), get(house, `/v2/serverless/${house.queue}/models`)),
      ],
      ['models that are to be resolved', (house) => post(house, '/v2/models/resolve', RESOLVED)],
      ['lists of the audit log', (house) => get(house, '/v2/audit?limit=500')],
      ['exports of the audit log', (house) => get(house, '/v2/audit/export')],
      ['documentation', () => ({ request: lines('GET /docs/ HTTP/1.1', 'host: a') })],
    ],
  },
];
