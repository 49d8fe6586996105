import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { hashSecret } from '../../src/domain/access/secret-hash.ts';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { freePort } from '../free-port.ts';
import { ModelHub } from '../model-hub.ts';
import { workerApiUrl } from './neighbor.ts';
import { createTenant, type Tenant } from './tenant.ts';

/** A model of the public hub, with a file `model.bin` of 4 MiB. */
const MODEL = 'acme/tiny';
const LARGE_BYTES = 4 * 2 ** 20;
const AUDIT_ENTRIES = 3_000;

/** Answers `/` with little, `/hub` with where its models are, and `/large` with 4 MiB, streams `/stream` for ever, and has logged some lines. */
const POD_PROGRAM = `
const large = Buffer.alloc(4 * 2 ** 20);
const tick = Buffer.alloc(65536);
for (let i = 0; i < 3000; i++) console.log('line ' + i + ' ' + 'x'.repeat(100));
require('node:http').createServer((req, res) => {
  if (req.url === '/stream') {
    const more = () => { while (res.write(tick)); };
    res.on('drain', more).on('close', () => res.off('drain', more));
    return more();
  }
  res.end(req.url === '/large' ? large : req.url === '/hub' ? process.env.HF_ENDPOINT : 'hello');
}).listen(Number(process.env.WEB_PORT), '0.0.0.0');
process.on('SIGTERM', () => process.exit(0));
`;

/** A worker that the test speaks for. */
interface OwnWorker {
  /** Where it calls, up to its id. */
  path: (operation: string) => string;
  token: string;
}

/** The records of a user on each plane. */
export interface House extends Tenant {
  url: string;
  /** The ports of the public listener and of the worker API. */
  ports: { public: number; workers: number };
  /** A queue endpoint with a worker, and a job of it that has ended. */
  queue: string;
  job: string;
  /** A draft of a batch there. */
  batch: string;
  worker: OwnWorker;
  balanced: string;
  pod: string;
  /** The name of its HTTP port. */
  podHost: string;
  /** The path of a bucket with the files `small` and `large`, and the id of a key for it. */
  bucket: string;
  s3Key: string;
  /** The path of the hub for the pod, at the port of the worker API, and of a large file below it. */
  hub: string;
  hubFile: string;
  /** Opens a terminal in the pod. */
  openTerminal: (command: string[]) => Promise<{ session: { id: string }; url: string; protocols: string[] }>;
  /** Resolves once each of these terminals has a connection. */
  untilOpened: (terminals: string[]) => Promise<void>;
}

/** A server whose two users have something on every plane. */
export class Neighborhood {
  readonly server: ServerProcess;
  readonly #hub: ModelHub;
  readonly hostile: House;
  readonly victim: House;

  static async start(): Promise<Neighborhood> {
    const hub = await ModelHub.start();
    hub.models.set(MODEL, { files: { 'model.bin': randomBytes(LARGE_BYTES) } });
    const server = await ServerProcess.start({
      runtime: 'process',
      gpus: 'ADA_24:12',
      env: {
        PODYARD_REST_V1: 'true',
        ...{ PODYARD_HUB_URL: hub.url, PODYARD_HUB_CACHE_GB: '1' },
        // As many as the clients have connections, and those that reconnect before their former sessions have ended.
        ...{ PODYARD_TERMINALS_PER_USER: '400', PODYARD_TERMINALS: '1000' },
      },
    });
    try {
      const ports = {
        public: Number(new URL(server.url).port),
        workers: Number(new URL(await workerApiUrl(server)).port),
      };
      const [hostile, victim] = await Promise.all(['hostile', 'victim'].map((name) => build(server, ports, name)));
      return new Neighborhood(server, hub, hostile!, victim!);
    } catch (error) {
      await server.dispose();
      await hub.close();
      throw error;
    }
  }

  private constructor(server: ServerProcess, hub: ModelHub, hostile: House, victim: House) {
    this.server = server;
    this.#hub = hub;
    this.hostile = hostile;
    this.victim = victim;
  }

  /** Resolves once no program of the hostile user's terminals is left. */
  async untilTerminalsEnded(): Promise<void> {
    const open = 'select from terminal_sessions where pod_id = $1 and opened_at is not null and ended_at is null';
    await until('its terminals have ended', async () => {
      return (await this.server.query(open, [this.hostile.pod])).length === 0;
    });
  }

  async dispose(): Promise<void> {
    await this.server.dispose();
    await this.#hub.close();
  }
}

async function build(server: ServerProcess, ports: House['ports'], name: string): Promise<House> {
  const tenant = await createTenant(server, name);
  const api = new Api({ url: server.url, key: tenant.key });
  const one = { workers: { min: 1, max: 1 } };
  const [queue, spoken, balanced, port] = await Promise.all([
    api.createEndpoint({ name: 'queue', ...one }),
    api.createEndpoint({ name: 'spoken', ...one, args: JSON.stringify({ entrypoint: ['sleep', '3600'] }) }),
    api.createEndpoint({
      ...{ name: 'web', ...one, type: 'LOAD_BALANCING', image: 'podyard/web-js:dev' },
      scaling: { type: 'REQUEST_COUNT', value: 100, idleTimeout: 600 },
    }),
    freePort(),
  ]);
  const { id: pod } = await api.call<{ id: string }>('POST', '/v2/pods', {
    ...{ name: 'pod', image: 'podyard/echo-js:dev', gpu: { id: 'NVIDIA GeForce RTX 4090' } },
    args: JSON.stringify({ entrypoint: ['node', '-e', POD_PROGRAM] }),
    ports: [`${port}/http`],
    env: { WEB_PORT: String(port) },
  });
  const podHost = `${pod}-${port}.localhost`;
  const [worker, job, batch] = await Promise.all([
    ownWorker(server, spoken, name),
    api.runToEnd(queue, { echo: name }),
    api.call<{ id: string }>('POST', `/v2/${queue}/batch`, []),
  ]);
  await until('its worker answers', async () => {
    const headers = { authorization: `Bearer ${tenant.key}` };
    return (await fetch(`${server.url}/v2/${balanced}/lb/`, { headers })).ok;
  });
  await until('its pod answers', async () => {
    const [answer] = await once(get(server.url, { headers: { host: podHost } }), 'response'); // `fetch` sets no Host
    answer.resume();
    return answer.statusCode === 200;
  });
  const [files, hub] = await Promise.all([addFiles(api, server.url, tenant.key), hubOf(server.url, podHost)]);
  await server.query(
    `insert into audit_entries (operation, record_id, owner_id, actor_kind, actor_id, interface, outcome, changes)
     select 'endpoint.update', $2, $1, 'person', $1, 'REST', 'done', '{"name":["before","after"]}'
     from generate_series(1, ${AUDIT_ENTRIES})`,
    [tenant.userId, queue],
  );
  return {
    ...{ ...tenant, ...files, hub, hubFile: `${hub}/${MODEL}/resolve/main/model.bin` },
    ...{ url: server.url, ports, queue, job: job.id, batch: batch.id, worker, balanced, pod, podHost },
    openTerminal: (command) =>
      api.call('POST', `/v2/pods/${pod}/terminals`, { command, terminal: null }, { timeoutMs: 30_000 }),
    untilOpened: async (terminals) => {
      const unopened = 'select from terminal_sessions where id = any($1) and opened_at is null';
      await until('its terminals are open', async () => (await server.query(unopened, [terminals])).length === 0);
    },
  };
}

/** Adds a volume with files, and an S3 key. */
async function addFiles(api: Api, url: string, key: string): Promise<Pick<House, 'bucket' | 's3Key'>> {
  const { id } = await api.call<{ id: string }>('POST', '/v2/network-volumes', {
    ...{ name: 'files', size: 10, dataCenter: 'LOCAL-1' },
  });
  const { accessKeyId } = await api.call<{ accessKeyId: string }>('POST', '/v2/account/s3-keys', {
    ...{ name: 'files', scopes: ['files:write'] },
  });
  const bucket = `/s3/${id}`;
  for (const [name, bytes] of [
    ['small', 1_000],
    ['large', LARGE_BYTES],
  ] as const) {
    const headers = { authorization: `Bearer ${key}` };
    const { status } = await fetch(`${url}${bucket}/${name}`, { method: 'PUT', headers, body: Buffer.alloc(bytes) });
    if (status !== 200) throw new Error(`a put was answered with ${status}`);
  }
  return { bucket, s3Key: accessKeyId };
}

async function hubOf(url: string, podHost: string): Promise<string> {
  const [answer] = await once(get(`${url}/hub`, { headers: { host: podHost } }), 'response');
  return new URL(await text(answer)).pathname;
}

/** Gives the worker, whose program does nothing, a token that is known here. */
async function ownWorker(server: ServerProcess, endpoint: string, name: string): Promise<OwnWorker> {
  const id = await until('its worker runs', async () => {
    const running = "select id from workers where endpoint_id = $1 and phase = 'RUNNING'";
    return (await server.query<{ id: string }>(running, [endpoint]))[0]?.id;
  });
  const token = `pyw_${name}`;
  await server.query('update workers set token_hash = $2 where id = $1', [id, hashSecret(token)]);
  await server.query("select pg_notify('podyard', $1)", [JSON.stringify(['test', 'worker', id])]);
  const base = await workerApiUrl(server);
  const path = (operation: string) => `/v2/${endpoint}/${operation}/${id}`;
  await until('its token is known', async () => {
    return (await fetch(`${base}${path('ping')}`, { headers: { authorization: token } })).ok;
  });
  return { path, token };
}
