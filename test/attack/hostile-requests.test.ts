/**
 * Whatever a tenant sends to the REST and GraphQL interfaces, the queue plane, the worker API, pods and load-balancing
 * endpoints: the server answers it or refuses it, lives on within its memory, and the neighbor's jobs run as ever.
 *
 * PODYARD_ATTACK_SEED repeats a run, PODYARD_ATTACK_REQUESTS sets how many requests it sends.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { METHODS } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Random } from '../chaos/random.ts';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { freePort } from '../free-port.ts';
import { type HostileRequest, HostileRequests, type Known, PLANES, type Plane } from './hostile-request.ts';
import { sendRaw, type WireAnswer } from './hostile-wire.ts';
import { KEEP_RESULTS, Neighbor, workerApiUrl } from './neighbor.ts';
import { peakRssMb, resetPeakRss } from './peak-rss.ts';
import { createTenant, type Tenant } from './tenant.ts';

const isThorough = process.env.PODYARD_TEST_THOROUGH === 'true';
const REQUESTS = Number(process.env.PODYARD_ATTACK_REQUESTS ?? (isThorough ? 50_000 : 3_000));
const SEED = Number(process.env.PODYARD_ATTACK_SEED ?? (process.env.CI ? 20_261_122 : Date.now() % 2 ** 31));
/** Requests in flight, and how many may begin in a second: on two cores the neighbor would otherwise wait for the generator. */
const LANES = 32;
const PER_SECOND = 120;
/** After so many, records that were deleted are made again. */
const REFRESH_EVERY = 400;
const MAX_RSS_MB = 600;
const TIME_LIMIT_MS = 120_000 + REQUESTS * 30;
/** Part of every record of the neighbor, and of no request. */
const FOREIGN = 'neighbors-own-7f3a9c';
const INTERNAL = /node_modules|\.ts:\d+|\bat [\w.<>]+ \(|SQLSTATE|syntax error at/;
/** The OpenAI routes' answer when the job itself failed (docs/interface/queue.md, "Errors of OpenAI routes"). */
const FAILED_JOB = /"code":"(worker_error|job_cancelled)"/;

/** Answers any request, also one that it cannot read. */
const POD_PROGRAM = `
const { createServer } = require('node:http');
const server = createServer((req, res) => { req.resume().on('end', () => res.end('pod')); });
server.on('upgrade', (req, socket) => { socket.on('error', () => {}); socket.end('HTTP/1.1 400 Bad Request\\r\\n\\r\\n'); });
server.listen(Number(process.env.WEB_PORT), '0.0.0.0');
process.on('SIGTERM', () => process.exit(0));
`;

let server: ServerProcess;
let attacker: Tenant;
let api: Api;
let neighbor: Neighbor;
let known: Known;
let ports: Record<'public' | 'workers', number>;

beforeAll(async () => {
  server = await ServerProcess.start({ runtime: 'process', gpus: 'ADA_24:8', env: KEEP_RESULTS });
  attacker = await createTenant(server, 'attacker');
  api = new Api({ url: server.url, key: attacker.key });
  ports = { public: Number(new URL(server.url).port), workers: Number(new URL(await workerApiUrl(server)).port) };
  neighbor = await Neighbor.start(server, { name: FOREIGN });
  const foreign = await new Api({ url: server.url, key: neighbor.key }).runToEnd(neighbor.endpointId, {
    echo: FOREIGN,
  });
  const targets = await makeTargets();
  known = { ...targets, records: {}, foreign: { endpointId: neighbor.endpointId, jobId: foreign.id } };
  known = { ...known, records: await makeRecords() };
});
afterAll(async () => {
  await neighbor?.stop();
  await server?.dispose();
});

/** Makes the records of the whole run: endpoints with a worker each, and a pod that serves one of its two ports. */
async function makeTargets(): Promise<Omit<Known, 'records' | 'foreign'>> {
  const queue = await api.createEndpoint({ name: 'queue', workers: { min: 1, max: 1 }, timeout: 5_000 });
  const balanced = await api.createEndpoint({
    name: 'balanced',
    type: 'LOAD_BALANCING',
    image: 'podyard/web-js:dev',
    scaling: { type: 'REQUEST_COUNT', value: 100, idleTimeout: 60 },
    workers: { min: 1, max: 1 },
  });
  const [web, unused] = [await freePort(), await freePort()];
  const pod = await api.call<{ id: string }>('POST', '/v2/pods', {
    name: 'target',
    image: 'podyard/echo-js:dev',
    args: JSON.stringify({ entrypoint: ['node', '-e', POD_PROGRAM] }),
    ports: [`${web}/http`, `${unused}/http`],
    env: { WEB_PORT: String(web) },
    gpu: { id: 'NVIDIA GeForce RTX 4090' },
  });
  const jobIds = [(await api.runToEnd(queue, { echo: 'own' })).id, (await api.run(queue, { delayMs: 60_000 })).id];
  const worker = await until('the token of a worker is known', async () => {
    const [first] = await api.workers(queue);
    const token = first && tokenOf(first.id);
    return token ? { id: first.id, token } : undefined;
  });
  await until(
    'the pod answers',
    async () => (await rawStatus(`GET / HTTP/1.1\r\nhost: ${pod.id}-${web}.localhost\r\n\r\n`)) === 200,
  );
  const keys = [attacker.key, 'pyk_unknown', '', '\u00e9'];
  return {
    keys,
    queue,
    balanced,
    podNames: [`${pod.id}-${web}`, `${pod.id}-${unused}`, `${pod.id}-0`, 'nobody-80'],
    worker,
    jobIds,
  };
}

/** Reads it where the worker does: a tenant knows the tokens of their own workers. */
function tokenOf(workerId: string): string | undefined {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const env = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
      if (!env.includes(`RUNPOD_POD_ID=${workerId}`)) continue;
      return env.find((entry) => entry.startsWith('RUNPOD_AI_API_KEY='))?.slice('RUNPOD_AI_API_KEY='.length);
    } catch {
      // It has ended.
    }
  }
  return undefined;
}

/** Records for requests to read, change and delete; earlier ones are removed, so that lists do not grow. */
async function makeRecords(): Promise<Record<string, string>> {
  await removeRecords();
  const make = async (path: string, body: object) => (await api.call<{ id: string }>('POST', `/v2/${path}`, body)).id;
  const name = `own ${Math.random()}`;
  const image = 'podyard/no-such-image:v1';
  return {
    endpoint: await make('serverless', { name, image, gpu: { pools: ['ADA_24'] }, workers: { min: 0, max: 1 } }),
    template: await make('templates', { name, image, serverless: true }),
    volume: await make('network-volumes', { name, size: 10, dataCenter: 'LOCAL-1' }).catch(() => 'none'),
    registry: await make('registries', { name, username: 'a', password: 'b' }),
    apiKey: await make('account/api-keys', { name, scopes: ['read-only'] }),
    secret: await make('account/secrets', { name: `s${Math.random()}`.replace('.', ''), value: 'a' }),
    worker: known.worker.id,
    delegation: 'none',
    foreign: neighbor.endpointId,
  };
}

async function removeRecords(): Promise<void> {
  const own = attacker.userId;
  const kept = [known.queue, known.balanced];
  const rows = await server.query<{ id: string }>('select id from endpoints where user_id = $1 and id <> all($2)', [
    own,
    kept,
  ]);
  for (const { id } of rows) await api.call('DELETE', `/v2/serverless/${id}`).catch(() => {});
  const pods = await server.query<{ id: string }>("select id from pods where user_id = $1 and name <> 'target'", [own]);
  for (const { id } of pods) await api.call('DELETE', `/v2/pods/${id}`).catch(() => {});
  for (const table of ['templates', 'network_volumes', 'secrets']) {
    await server.query(`delete from ${table} where user_id = $1`, [own]).catch(() => {});
  }
}

async function rawStatus(text: string): Promise<number | undefined> {
  const manner = { cutAt: null, pieces: [], endsHalf: false };
  return (await sendRaw(ports.public, Buffer.from(text), manner, null)).statuses[0];
}

/**
 * A 502 by contract: nobody listens on the pod's port, or the program there cuts a connection with a method or a target that
 * it does not take.
 */
function mayFailUpstream({ plane, bytes }: HostileRequest): boolean {
  if (plane !== 'pod' && plane !== 'balanced') return false;
  const line = bytes.toString('latin1', 0, bytes.indexOf('\n'));
  const isOdd = !METHODS.includes(line.split(' ')[0]!) || /[^ -~\r]/.test(line);
  return isOdd || known.podNames.slice(1).some((name) => bytes.includes(name));
}

/** Returns the fault of an answer, or null. */
function faultOf(request: HostileRequest, { statuses, text }: WireAnswer): string | null {
  const { bytes } = request;
  const isOwnFault = (status: number) =>
    status >= 500 &&
    status !== 503 &&
    !(status === 502 && mayFailUpstream(request)) &&
    !(status === 500 && FAILED_JOB.test(text));
  if (statuses.some(isOwnFault)) return `it was answered ${statuses}`;
  if (text.includes(FOREIGN)) return 'the answer shows data of the neighbor';
  const isQuoted = bytes.includes('node_modules');
  if (statuses.some((status) => status >= 400) && INTERNAL.test(text) && !isQuoted) return 'the answer shows internals';
  return null;
}

type Counts = Record<Plane, Map<number | 'none', number>>;

/** Sends requests over all lanes, at the bounded rate. Returns the faults, and counts the statuses. */
async function attack(requests: HostileRequests, counts: Counts): Promise<string[]> {
  const faults: string[] = [];
  const startedAt = performance.now();
  let sent = 0;
  const lane = async () => {
    while (sent < REQUESTS && faults.length < 20 && server.isRunning) {
      const n = sent++;
      if (n > 0 && n % REFRESH_EVERY === 0) known = { ...known, records: await makeRecords() };
      const aheadMs = startedAt + (n * 1_000) / PER_SECOND - performance.now();
      if (aheadMs > 0) await sleep(aheadMs);
      const request = requests.next(known);
      const port = request.plane === 'worker' ? ports.workers : ports.public;
      const answer = await sendRaw(port, request.bytes, request.manner, request.patienceMs);
      for (const status of answer.statuses.length > 0 ? answer.statuses : (['none'] as const)) {
        counts[request.plane].set(status, (counts[request.plane].get(status) ?? 0) + 1);
      }
      const fault = faultOf(request, answer);
      if (fault !== null) faults.push(`request ${n}: ${fault}\n${shown(request)}\n→ ${answer.text.slice(0, 600)}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  const seconds = (performance.now() - startedAt) / 1_000;
  console.log(`${sent} hostile requests in ${seconds.toFixed(0)} s (PODYARD_ATTACK_SEED=${SEED})`);
  return faults;
}

const shown = ({ plane, bytes, manner }: HostileRequest) =>
  `${plane} ${JSON.stringify(bytes.toString('latin1', 0, 800))} (${bytes.length} bytes, ${JSON.stringify(manner)})`;

test(
  `${REQUESTS} hostile requests: no answer is a server's fault, its memory stays bounded, and the neighbor notices nothing (seed ${SEED})`,
  async () => {
    const { pid } = server;
    const counts = Object.fromEntries(PLANES.map((plane) => [plane, new Map()])) as Counts;
    resetPeakRss(pid);
    const faults = await attack(new HostileRequests(new Random(SEED)), counts);
    expect(server.isRunning, server.stderr.slice(-5_000)).toBe(true);
    const peakMb = peakRssMb(pid);
    console.log(`peak RSS ${peakMb.toFixed(0)} MB`);
    for (const plane of PLANES) console.log(plane, Object.fromEntries([...counts[plane]].toSorted()));
    await neighbor.expectUnharmed(`${REQUESTS} hostile requests`);
    expect(faults, faults.join('\n\n')).toEqual([]);
    expect(server.stderr.split('\n').filter((line) => line.includes('"level":50'))).toEqual([]);
    expect(peakMb).toBeLessThanOrEqual(MAX_RSS_MB);
    for (const plane of PLANES) {
      const answered = [...counts[plane].keys()].map((status) => Math.floor(Number(status) / 100));
      expect(answered, `${plane}: the requests are not varied enough`).toEqual(expect.arrayContaining([2, 4]));
    }
  },
  TIME_LIMIT_MS,
);
