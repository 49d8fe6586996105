import fc from 'fast-check';
import { arbitraryRequest } from '../arbitrary-request.ts';
import type { Random } from '../chaos/random.ts';
import { mutate, NUMBERS, oddBody, TEXTS } from './hostile-values.ts';
import type { Manner } from './hostile-wire.ts';

export const PLANES = ['rest', 'graphql', 'queue', 'worker', 'pod', 'balanced'] as const;
export type Plane = (typeof PLANES)[number];

/** Records and addresses that requests name. All are the attacker's own, except `foreign`: ids of the neighbor. */
export interface Known {
  keys: readonly string[];
  /** Values of `@name` in requests of arbitrary-request.ts. */
  records: Readonly<Record<string, string>>;
  queue: string;
  balanced: string;
  /** `<pod>-<port>` names of ports that somebody listens on, and of others. */
  podNames: readonly string[];
  worker: { id: string; token: string };
  jobIds: readonly string[];
  foreign: { endpointId: string; jobId: string };
}

/** One request as bytes, and how they are sent. */
export interface HostileRequest {
  plane: Plane;
  bytes: Buffer;
  manner: Manner;
  /** When the client gives up; null: it must be answered. */
  patienceMs: number | null;
}

interface Draft {
  method: string;
  target: string;
  headers: [string, string][];
  body: Buffer | null;
  isHeld: boolean;
}

const SAMPLE = 200;
const FAULT_COUNTS = [0, 0, 0, 0, 1, 1, 1, 1, 2, 3];
const HELD = /\/(runsync|status-sync|stream|openai|job-take|job-take-batch|job-stop|live|logs)\b|\/events/;

/** Generates hostile requests: valid ones, in which up to three things are wrong. The same seed gives the same sequence. */
export class HostileRequests {
  readonly #random: Random;
  #samples: ReturnType<typeof fc.sample<RestSample>> = [];
  #seed: number;

  constructor(random: Random) {
    this.#random = random;
    this.#seed = random.seed;
  }

  next(known: Known): HostileRequest {
    const random = this.#random;
    const plane = random.pick(PLANES);
    const draft = this.#draft(plane, known);
    for (let i = random.pick(FAULT_COUNTS); i > 0; i--) random.pick(FAULTS)(random, draft, known);
    const once = serialize(random, draft);
    const bytes = random.next() < 0.03 ? pipelined(random, once) : once;
    return { plane, bytes, manner: mannerOf(random, bytes), patienceMs: this.#patience(draft) };
  }

  /** A held request is given up soon, but now and then its answer is awaited. */
  #patience({ isHeld, target }: Draft): number | null {
    if (!isHeld && !HELD.test(target)) return null;
    return this.#random.next() < 0.1 ? 2_500 : 200;
  }

  #draft(plane: Plane, known: Known): Draft {
    if (plane === 'rest') return restDraft(this.#sample(), this.#random, known);
    return DRAFTS[plane](this.#random, known);
  }

  #sample(): RestSample {
    if (this.#samples.length === 0) {
      this.#samples = fc.sample(arbitraryRequest, { seed: this.#seed++, numRuns: SAMPLE });
    }
    return this.#samples.pop()!;
  }
}

type RestSample = typeof arbitraryRequest extends fc.Arbitrary<infer T> ? T : never;

function restDraft(sample: RestSample, random: Random, known: Known): Draft {
  const fill = (text: string) => text.replaceAll(/@(\w+)/g, (whole, name: string) => known.records[name] ?? whole);
  const body =
    sample.body === undefined ? null : Buffer.from(typeof sample.body === 'string' ? fill(sample.body) : sample.body);
  const headers: [string, string][] = Object.entries(sample.headers);
  if (body && !headers.some(([name]) => name === 'content-type')) headers.push(['content-type', 'application/json']);
  headers.push(['authorization', `Bearer ${keyOf(random, known)}`]);
  return { method: sample.method, target: fill(sample.url), headers, body, isHeld: false };
}

const keyOf = (random: Random, known: Known) => (random.next() < 0.95 ? known.keys[0]! : random.pick(known.keys));
const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const anId = (random: Random, own: string, foreign: string) =>
  random.next() < 0.8 ? own : random.next() < 0.5 ? foreign : encodeURIComponent(random.pick(TEXTS).toWellFormed());

const QUEUE_BODY = {
  input: { echo: 'hostile', delayMs: 5 },
  webhook: 'https://192.0.2.1/hook',
  policy: { executionTimeout: 5_000, ttl: 10_000, lowPriority: true },
  s3Config: { accessId: 'a' },
};
const QUEUE_OPERATIONS = [
  ...['run', 'run', 'run', 'runsync', 'health', 'metrics', 'requests', 'purge-queue', 'openai/v1/chat/completions'],
  ...['status', 'status-sync', 'stream', 'cancel', 'retry', 'nonsense'],
];
const DOCUMENTS = [
  '{ myself { id endpoints { id name templateId } pods { id } secrets { id name } } }',
  'mutation ($i: SaveTemplateInput) { saveTemplate(input: $i) { id name } }',
  'mutation { secretCreate(input: {name: "a", value: "b"}) { id } }',
  'mutation { deleteTemplate(templateName: "a") }',
  '{ pod(input: {podId: "a"}) { id desiredStatus } }',
  '{ __schema { types { name fields { name } } } }',
  'query A { __typename } query B { __typename }',
  '{ ...F } fragment F on Query { ...F }',
  `{ ${'a'.repeat(3_000)} }`,
  `{ ${Array.from({ length: 800 }, (_, i) => `a${i}: gpuTypes { id }`).join(' ')} }`,
  `${'{ myself '.repeat(2_000)}{ id }`,
  'mutation { podTerminate(input: {podId: "a"}) }',
  'subscription { a }',
];
const VARIABLES = {
  i: {
    name: 'hostile',
    imageName: 'a',
    containerDiskInGb: 5,
    volumeInGb: 0,
    env: [{ key: 'A', value: 'b' }],
    isServerless: true,
  },
};
const RESULTS: unknown[] = [
  { output: 1 },
  { output: { a: [1, null] } },
  { error: 'x' },
  { error: { a: 1 } },
  {},
  { status: 'IN_PROGRESS', output: 'p' },
  [],
  'bare',
];
const WORKER_OPERATIONS = [
  'job-take',
  'job-take-batch',
  'job-stop',
  'ping',
  'job-done',
  'job-done',
  'job-stream',
  'nonsense',
];

const DRAFTS: Record<Exclude<Plane, 'rest'>, (random: Random, known: Known) => Draft> = {
  graphql: (random, known) => {
    const value = { query: random.pick(DOCUMENTS), variables: VARIABLES, operationName: random.pick([null, 'A', 'C']) };
    const body = json(random.next() < 0.5 ? value : mutate(random, value));
    const key = keyOf(random, known);
    const inQuery = random.next() < 0.5;
    return {
      method: 'POST',
      target: `/graphql${inQuery ? `?api_key=${encodeURIComponent(key.toWellFormed())}` : ''}`,
      headers: [
        ['content-type', 'application/json'],
        ...(inQuery ? [] : [['authorization', `Bearer ${key}`] as [string, string]]),
      ],
      body,
      isHeld: false,
    };
  },
  queue: (random, known) => {
    const operation = random.pick(QUEUE_OPERATIONS);
    const needsJob = /status|stream|cancel|retry/.test(operation);
    const jobId = anId(random, random.pick(known.jobIds), known.foreign.jobId);
    const endpointId = anId(random, known.queue, known.foreign.endpointId);
    const query = random.next() < 0.2 ? `?wait=${random.pick([...NUMBERS, 'x', ''])}&explain=1` : '';
    const isOfModel = operation.startsWith('openai/') && random.next() < 0.7;
    const sample = isOfModel ? { ...QUEUE_BODY, model: endpointId, stream: random.next() < 0.5 } : QUEUE_BODY;
    return {
      method: random.next() < 0.9 ? (needsJob && random.next() < 0.5 ? 'GET' : 'POST') : 'GET',
      target: isOfModel ? `/${operation}` : `/v2/${endpointId}/${operation}${needsJob ? `/${jobId}` : ''}${query}`,
      headers: [
        ['authorization', `Bearer ${keyOf(random, known)}`],
        ['content-type', 'application/json'],
        ...(random.next() < 0.2
          ? [['idempotency-key', random.pick(['same', 'x'.repeat(300), 'é'])] as [string, string]]
          : []),
        ...(random.next() < 0.1
          ? [
              ['traceparent', random.pick(['00-0-0-0', `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`])] as [
                string,
                string,
              ],
            ]
          : []),
        ...(operation === 'stream' && random.next() < 0.5 ? [['accept', 'text/event-stream'] as [string, string]] : []),
      ],
      body: json(random.next() < 0.6 ? sample : mutate(random, sample)),
      isHeld: false,
    };
  },
  worker: (random, known) => {
    const operation = random.pick(WORKER_OPERATIONS);
    const hasBody = /done|stream/.test(operation);
    const jobId = anId(random, random.pick(known.jobIds), known.foreign.jobId);
    const token = random.next() < 0.8 ? known.worker.token : random.pick(['', 'x', ...known.keys]);
    const query = random.pick([
      '?job_in_progress=1',
      '?batch_size=99999999',
      '?batch_size=-1',
      '?status=unhealthy&check=%00&reason=%ff',
      '?job_id=a,b,%00&runpod_version=1',
      '',
    ]);
    return {
      method: hasBody ? 'POST' : 'GET',
      target: `/v2/${anId(random, known.queue, known.foreign.endpointId)}/${operation}/${anId(random, known.worker.id, 'nobody')}${hasBody ? `/${jobId}` : ''}${query}`,
      headers: [
        ['authorization', token],
        ['content-type', 'application/x-www-form-urlencoded'],
      ],
      body: hasBody ? json(mutate(random, random.pick(RESULTS))) : null,
      isHeld: true, // errors are delayed by a second
    };
  },
  pod: (random, known) => ({
    method: random.pick(['GET', 'POST', 'PUT', 'PROPFIND', 'OPTIONS']),
    target: `/${random.pick(['', 'a/b', '%00', '..%2f..%2f', '?x=%ff', 'v2/serverless', '%F0%9F%92%A9'])}`,
    headers: [
      ['host', `${random.pick(known.podNames)}.localhost`],
      ...(random.next() < 0.2
        ? ([
            ['connection', 'Upgrade'],
            ['upgrade', random.pick(['websocket', 'h2c', 'echo'])],
          ] as [string, string][])
        : []),
    ],
    body: random.next() < 0.5 ? oddBody(random) : null,
    isHeld: false,
  }),
  balanced: (random, known) => {
    const isByName = random.next() < 0.5;
    const id = anId(random, known.balanced, known.foreign.endpointId);
    return {
      method: random.pick(['GET', 'POST', 'PUT', 'OPTIONS']),
      target: `${isByName ? '' : `/v2/${id}/lb`}/${random.pick(['', 'events?count=3', 'a%2fb', 'socket', '%00'])}`,
      headers: [
        ...(isByName ? [['host', `${id}.localhost`] as [string, string]] : []),
        ['authorization', `Bearer ${keyOf(random, known)}`],
        ...(random.next() < 0.2
          ? [['x-runpod-worker-id', random.pick(['x', 'strict x', 'strict-resume', '\u00e9'])] as [string, string]]
          : []),
        ...(random.next() < 0.2
          ? ([
              ['connection', 'Upgrade'],
              ['upgrade', 'websocket'],
              ['sec-websocket-key', 'x'],
            ] as [string, string][])
          : []),
      ],
      body: random.next() < 0.4 ? oddBody(random) : null,
      isHeld: false,
    };
  },
};

type Fault = (random: Random, draft: Draft, known: Known) => void;

const PATHS = [
  '//',
  '/../..',
  '/%2e%2e/',
  '/%',
  '/%zz',
  '/%00',
  '/;a=b',
  '/*',
  '/\u00e9',
  '/%ed%a0%80',
  `/${'x'.repeat(3_000)}`,
];

const FAULTS: readonly Fault[] = [
  (random, draft) => {
    draft.body = oddBody(random);
  },
  (random, draft) => {
    draft.body = oddBody(random);
  },
  (random, draft) => {
    if (draft.body) draft.body = draft.body.subarray(0, random.between(0, draft.body.length));
  },
  (random, draft) => {
    draft.target += random.pick(PATHS);
  },
  (random, draft) => {
    draft.target = random.pick([
      `http://evil.test${draft.target}`,
      '*',
      'localhost:80',
      `//${draft.target}`,
      draft.target.toUpperCase(),
      `${draft.target}?${'a=b&'.repeat(2_000)}`,
      `/${'x'.repeat(40_000)}`,
    ]);
  },
  (random, draft) => {
    draft.method = random.pick([
      'get',
      'TRACE',
      'CONNECT',
      'PROPFIND',
      'M-SEARCH',
      'X'.repeat(100),
      'GE T',
      'PRI',
      'DELETE',
      'HEAD',
    ]);
  },
  (random, draft) => {
    setHeader(
      draft,
      'content-type',
      random.pick([
        'text/plain',
        '',
        'application/json; charset=utf-16',
        'application/jsonx',
        'multipart/form-data',
        ';;;',
        'a'.repeat(2_000),
      ]),
    );
  },
  (random, draft) => {
    setHeader(draft, 'content-encoding', random.pick(['gzip', 'br', 'deflate', 'identity', 'gzip, gzip', 'x']));
  },
  (random, draft) => {
    draft.headers.push(...random.pick<[string, string][]>(SMUGGLING));
  },
  (random, draft) => {
    draft.headers.push([random.pick(['x\0y', 'x y', '', 'x:y', 'é', 'X'.repeat(9_000)]), 'v']);
  },
  (random, draft) => {
    draft.headers.push(['x-odd', random.pick(['a\r\n b', 'a\nb', 'a\0b', '\u00ff', 'v'.repeat(40_000)])]);
  },
  (_random, draft) => {
    for (let i = 0; i < 250; i++) draft.headers.push([`x-${i}`, `${i}`]);
  },
  (random, draft) => {
    setHeader(
      draft,
      'authorization',
      random.pick([
        '',
        'Bearer',
        'Bearer ',
        'Basic YTpi',
        `Bearer ${'k'.repeat(9_000)}`,
        'Bearer \u00e9',
        'Bearer a b',
        'bearer\tx',
      ]),
    );
  },
  (random, draft) => {
    setHeader(
      draft,
      'host',
      random.pick(['', 'evil.test', '[::1', 'a..localhost', '%00', `${'a'.repeat(300)}.localhost`, '-80.localhost']),
    );
  },
  (random, draft) => {
    setHeader(
      draft,
      random.pick([
        'expect',
        'range',
        'if-none-match',
        'accept',
        'accept-encoding',
        'te',
        'cookie',
        'forwarded',
        'x-forwarded-for',
        'last-event-id',
        'x-request-id',
      ]),
      random.pick([
        '100-continue',
        '200-maybe',
        'bytes=0-,-1',
        '*',
        'gzip;q=0',
        '\u00ff',
        'x'.repeat(2_000),
        '127.0.0.1, , evil',
      ]),
    );
  },
];

/** Framing that two parsers may read differently. */
const SMUGGLING: readonly [string, string][][] = [
  [
    ['content-length', '5'],
    ['content-length', '6'],
  ],
  [
    ['content-length', '0'],
    ['transfer-encoding', 'chunked'],
  ],
  [['transfer-encoding', 'xchunked']],
  [['transfer-encoding', 'chunked, identity']],
  [
    ['transfer-encoding', 'chunked'],
    ['transfer-encoding', 'chunked'],
  ],
  [['content-length', '-1']],
  [['content-length', '1e3']],
  [['content-length', '99999999999999999999']],
  [['content-length', '+5']],
  [
    ['host', 'a'],
    ['host', 'b'],
  ],
  [['connection', 'content-length']],
  [['connection', 'close, authorization']],
];

function setHeader(draft: Draft, name: string, value: string): void {
  draft.headers = [...draft.headers.filter(([known]) => known !== name), [name, value]];
}

function serialize(random: Random, draft: Draft): Buffer {
  const { method, target, headers, body } = draft;
  const names = new Set(headers.map(([name]) => name.toLowerCase()));
  const lines = [`${method} ${target} HTTP/1.${random.next() < 0.97 ? 1 : random.between(0, 9)}`];
  if (!names.has('host')) lines.push('host: 127.0.0.1');
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  const isChunked = body !== null && random.next() < 0.15;
  const isFramed = names.has('content-length') || names.has('transfer-encoding');
  if (body !== null && !isFramed)
    lines.push(isChunked ? 'transfer-encoding: chunked' : `content-length: ${announced(random, body)}`);
  const head = Buffer.from(
    `${lines.join(random.next() < 0.99 ? '\r\n' : '\n')}\r\n\r\n`,
    random.next() < 0.9 ? 'latin1' : 'utf8',
  );
  if (body === null) return head;
  return Buffer.concat([head, ...(isChunked ? chunked(random, body) : [body])]);
}

function announced(random: Random, body: Buffer): number {
  return random.next() < 0.97 ? body.length : Math.max(0, body.length + random.between(-5, 5));
}

function chunked(random: Random, body: Buffer): Buffer[] {
  const size = random.pick([1, 10, 70_000]);
  const parts: Buffer[] = [];
  for (let at = 0; at < Math.min(body.length, size * 500); at += size) {
    const part = body.subarray(at, at + size);
    parts.push(
      Buffer.from(`${part.length.toString(16)}${random.next() < 0.05 ? ';ext="x"' : ''}\r\n`),
      part,
      Buffer.from('\r\n'),
    );
  }
  const last = random.pick([
    '0\r\n\r\n',
    '0\r\n\r\n',
    '0\r\n\r\n',
    '0\r\nhost: evil\r\n\r\n',
    'ffffffffffffff\r\n',
    'x\r\n',
    '',
  ]);
  return [...parts, Buffer.from(last)];
}

/** The request several times at once, some with the start of another one behind. */
function pipelined(random: Random, bytes: Buffer): Buffer {
  if (bytes.length > 100_000) return bytes;
  const many = Array.from({ length: random.between(2, 20) }, () => bytes);
  return Buffer.concat([
    ...many,
    Buffer.from(random.pick(['', 'GET / HT', 'POST /v2/x/run HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n'])),
  ]);
}

function mannerOf(random: Random, bytes: Buffer): Manner {
  const kind = random.next();
  return {
    cutAt: kind < 0.1 ? random.between(0, bytes.length) : null,
    pieces: kind > 0.9 ? Array.from({ length: random.between(1, 20) }, () => random.between(1, 50)) : [],
    endsHalf: kind > 0.85 && kind < 0.9,
  };
}
