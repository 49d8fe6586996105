import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { ModelHub } from '../../../test/model-hub.ts';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { testTerminal } from '../../../test/test-terminal.ts';
import { REST_REVISIONS } from '../../core/rest-revisions.ts';
import { runCli } from '../run-cli.ts';

/** docs/guide/from-runpod.md: one Podyard server is the other side of another. */

let source: RestFixture;
let target: RestFixture;
let from: string;
let to: string;
let folder: string;
let hub: ModelHub;
const servers: Server[] = [];

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener); // no connection ends between two commands
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeAll(async () => {
  hub = await ModelHub.start(['org/model']);
  const capacity = { read: async () => ({ gpus: [], cpus: 8, memoryBytes: 2 ** 35 }) };
  [source, target] = await Promise.all([
    startRestApp({ capacity, hubUrl: hub.url }),
    startRestApp({ capacity, hubUrl: hub.url }),
  ]);
  from = await listen(source.handle);
  to = await listen(target.handle);
  folder = await mkdtemp(join(tmpdir(), 'podyard-import-'));
});
afterEach(() => {
  mine = undefined;
});
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  await Promise.all([source?.close(), target?.close(), hub?.close()]);
  await rm(folder, { recursive: true, force: true });
});

/** A person on each side, of this test alone. */
let mine: { there: Person; here: Person } | undefined;
async function people() {
  const name = `p${Math.random()}`;
  mine ??= { there: await source.addPerson(name), here: await target.addPerson(name) };
  return mine;
}
const unused = async (): Promise<never> => {
  throw new Error('this command must not use it');
};
const unusedNow = (): never => {
  throw new Error('this command must not use it');
};

interface Run {
  env?: Record<string, string>;
  input?: string;
  answers?: string[];
}

async function podyard(args: string[], run: Run = {}) {
  const { here, there } = await people();
  const printed: string[] = [];
  const noted: string[] = [];
  const env = { PODYARD_URL: to, PODYARD_API_KEY: here.key, PODYARD_IMPORT_KEY: there.key, HOME: folder, ...run.env };
  const pieces = {
    serve: unused,
    demo: unused,
    withServer: unused,
    prove: unused,
    copyModels: unused,
    serveFiles: unused,
    withDatabase: unused,
    doctor: unused,
    storage: unusedNow,
    systemdUnit: unused,
    openRuntime: unused,
    masterKeySource: unusedNow,
    allowsInsecureProcesses: unusedNow,
    terminal: testTerminal({ ...run, env }),
    print: (text: string) => printed.push(text),
    note: (text: string) => noted.push(text),
  };
  const status = await runCli(pieces, args);
  return { status, out: printed.join('\n'), err: noted.join('\n') };
}

const there = async (method: string, path: string, body?: unknown) => {
  const response = await source.call(method, path, {
    key: (await people()).there.key,
    ...(body !== undefined && { body }),
  });
  expect(response.statusCode, response.body).toBeLessThan(300);
  return response.json();
};
const here = async (path: string) => (await target.call('GET', path, { key: (await people()).here.key })).json();
const counts = async () => ({
  endpoints: (await here('/v2/serverless')).endpoints.length,
  templates: (await here('/v2/templates')).templates.length,
  volumes: (await here('/v2/network-volumes')).networkVolumes.length,
  registries: (await here('/v2/registries')).registries.length,
  secrets: (await here('/v2/account/secrets')).secrets.length,
});
const NOTHING = { endpoints: 0, templates: 0, volumes: 0, registries: 0, secrets: 0 };

/** Makes one of everything on the other side. */
async function furnish() {
  const volume = await there('POST', '/v2/network-volumes', { name: 'models', size: 20, dataCenter: 'LOCAL-1' });
  const registry = await there('POST', '/v2/registries', { name: 'ghcr', username: 'u', password: 'p' });
  await there('POST', '/v2/account/secrets', { name: 'token', value: 'value-of-there' });
  const env = { A: '1', TOKEN: '{{ RUNPOD_SECRET_token }}' };
  const container = {
    image: 'ghcr.io/me/app:1',
    args: 'serve',
    disk: 7,
    ports: ['80/http'],
    env,
    registry: registry.id,
  };
  await there('POST', '/v2/templates', { ...container, name: 'app', serverless: true });
  await there('POST', '/v2/templates', { name: 'pod', image: 'i:1', mounts: { persistent: { size: 10, path: '/w' } } });
  const app = await there('POST', '/2026-07/v2/serverless', {
    ...container,
    name: 'app',
    gpu: { pools: ['ADA_24', 'AMPERE_80'], count: 2 },
    workers: { min: 1, max: 7 },
    scaling: { type: 'REQUEST_COUNT', value: 2, idleTimeout: 60 },
    networkVolumes: [volume.id],
    dataCenterIds: ['LOCAL-1'],
    timeout: 1000,
    flashboot: 'FLASHBOOT',
  });
  await there('PATCH', `/2026-08/v2/serverless/${app.id}`, { gpu: { minCudaVersion: '12.4' } });
  await there('POST', '/2026-07/v2/serverless', {
    name: 'web',
    type: 'LOAD_BALANCING',
    image: 'web:1',
    gpu: { pools: ['ADA_24'] },
    scaling: { type: 'REQUEST_COUNT', value: 3 },
  });
}

/** The other side as a server that knows one revision, at plain `/v2`. */
function speaking(revision: string): Promise<string> {
  return listen((req, res) => {
    if (!req.url!.startsWith('/v2/')) {
      res.writeHead(404).end('{"detail": "Path not found"}');
      return;
    }
    req.url = `/${revision}${req.url}`;
    source.handle(req, res);
  });
}

async function credentialsFile() {
  const file = join(folder, `secrets-${Math.random()}.json`);
  const value = { secrets: { token: 'typed-here' }, registries: { ghcr: { username: 'me', password: 'mine' } } };
  await writeFile(file, JSON.stringify(value), { mode: 0o600 });
  return file;
}

test.each([
  ['both revisions', REST_REVISIONS, async () => from],
  ['both revisions, with /2026-08/v2 in its URL', REST_REVISIONS, async () => `${from}/2026-08/v2`],
  ['the older revision', ['2026-07'], async () => `${from}/2026-07`],
  ['the newer revision alone, as the original does', ['2026-08'], async () => `${await speaking('2026-08')}/v2`],
  ['the older revision alone, as an older Podyard does', ['2026-07'], () => speaking('2026-07')],
] as const)(
  'everything is made here with the same names and references, from a server of %s',
  async (_, shapes, url) => {
    await furnish();
    const args = ['import', '--from', await url(), '--secrets', await credentialsFile()];
    const made = await podyard([...args, '--yes']);
    expect([made.status, made.err, made.out]).toEqual([
      0,
      expect.stringContaining('7 of 7 to make'),
      expect.anything(),
    ]);
    expect(await counts()).toEqual({ endpoints: 2, templates: 2, volumes: 1, registries: 1, secrets: 1 });
    const [volume] = (await here('/v2/network-volumes')).networkVolumes;
    const [registry] = (await here('/v2/registries')).registries;
    expect(volume).toMatchObject({ name: 'models', size: 20, dataCenter: 'LOCAL-1' });
    for (const shape of shapes) {
      const theirs = (await there('GET', `/${shape}/v2/serverless`)).endpoints;
      const ours = (await here(`/${shape}/v2/serverless`)).endpoints;
      const withoutIds = ({ id: _, createdAt: __, requestUrls: ___, ...rest }: Record<string, unknown>) => rest;
      expect(ours.map(withoutIds)).toEqual([
        { ...withoutIds(theirs[0]), networkVolumes: [volume.id], registry: registry.id },
        withoutIds(theirs[1]),
      ]);
    }
    const [app, pod] = (await here('/v2/templates')).templates;
    expect(app).toMatchObject({ name: 'app', serverless: true, registry: registry.id, disk: 7 });
    expect(pod).toMatchObject({ name: 'pod', mounts: { persistent: { size: 10, path: '/w' } } });
    expect(made.out).not.toContain('typed-here');

    const again = await podyard([...args, '--yes', '--json']);
    expect([again.status, again.err]).toEqual([0, expect.stringContaining('0 of 7 to make')]);
    expect(await counts()).toEqual({ endpoints: 2, templates: 2, volumes: 1, registries: 1, secrets: 1 });
  },
);

test('a dry run, a refusal at the prompt and a pipe make nothing', async () => {
  await furnish();
  const args = ['import', '--from', from];
  const dry = await podyard([...args, '--dry-run', '--yes']);
  expect(dry.status).toBe(0);
  expect(dry.out).toMatch(/^KIND\s+NAME\s+PLAN\s+NOTE\nvolume\s+models\s+create\s+empty: its files are not copied$/m);
  expect(dry.out).toMatch(/^secret\s+token\s+create\s+its value is not copied: it is asked for$/m);
  expect((await podyard(args, { answers: ['n'] })).err).toContain('Nothing was made.');
  expect((await podyard(args)).err).toContain('run it again with --yes');
  expect(await counts()).toEqual(NOTHING);
});

test('on a terminal it asks, then for values; an empty answer skips, and what needs it is skipped too', async () => {
  await furnish();
  const run = await podyard(['import', '--from', from], { answers: ['y', '', 'typed'] });
  expect(run.status).toBe(0);
  expect(run.out).toMatch(/^registry\s+ghcr\s+skipped\s+-\s+it has no credentials: see --secrets$/m);
  expect(run.out).toMatch(/^endpoint\s+app\s+skipped\s+-\s+its registry is missing here: make that first$/m);
  expect(run.out).toMatch(/^endpoint\s+web\s+created\s+\w+$/m);
  expect(await counts()).toEqual({ endpoints: 1, templates: 1, volumes: 1, registries: 0, secrets: 1 });
  const rest = await podyard(['import', '--from', from, '--secrets', await credentialsFile(), '--yes']);
  expect(rest.err).toContain('3 of 7 to make');
  expect(await counts()).toEqual({ endpoints: 2, templates: 2, volumes: 1, registries: 1, secrets: 1 });
});

test('what exists with other settings stays, and is named as different', async () => {
  await furnish();
  const { here: me } = await people();
  const body = { name: 'web', image: 'web:2', gpu: { pools: ['ADA_24'] } };
  await target.call('POST', '/2026-07/v2/serverless', { key: me.key, body });
  const run = await podyard(['import', '--from', `${from}/2026-07`, '--only', 'endpoint', '--dry-run', '--json']);
  const [app, web] = JSON.parse(run.out);
  expect(app).toMatchObject({ name: 'app', action: 'CREATE', hereId: null });
  expect(web).toMatchObject({
    name: 'web',
    action: 'DIFFERS',
    note: 'type, scaling, image; the one here stays as it is',
  });
  expect(run.out).not.toContain('RUNPOD_SECRET');
});

test('endpoints of one name are paired in order; a kind alone finds what it needs among what is here', async () => {
  for (const image of ['i:1', 'i:2']) {
    await there('POST', '/2026-07/v2/serverless', { name: 'twin', image, gpu: { pools: ['ADA_24'] } });
  }
  await podyard(['import', '--from', from, '--yes']);
  expect((await here('/v2/serverless')).endpoints.map(({ image }: { image: string }) => image)).toEqual(['i:1', 'i:2']);
  expect((await podyard(['import', '--from', from, '--yes'])).err).toContain('0 of 2 to make');
  const volume = await there('POST', '/v2/network-volumes', { name: 'v', size: 10, dataCenter: 'LOCAL-1' });
  const body = { name: 'late', image: 'i', gpu: { pools: ['ADA_24'] }, networkVolumes: [volume.id] };
  await there('POST', '/2026-07/v2/serverless', body);
  const alone = await podyard(['import', '--from', from, '--yes', '--only', 'endpoint']);
  expect(alone.out).toMatch(/^endpoint\s+late\s+skipped\s+-\s+its network volume is missing here: make that first$/m);
  await podyard(['import', '--from', from, '--yes', '--only', 'volume']);
  expect((await podyard(['import', '--from', from, '--yes', '--only', 'endpoint'])).out).toMatch(/late\s+created/);
});

test('--data-center moves everything; a pool or place that this side has not is said', async () => {
  await there('POST', '/v2/network-volumes', { name: 'far', size: 10, dataCenter: 'EU-RO-1' });
  const body = { name: 'far', image: 'i', gpu: { pools: ['ADA_24'] }, dataCenterIds: ['EU-RO-1'] };
  await there('POST', '/2026-07/v2/serverless', body);
  const args = ['import', '--from', from];
  const plan = await podyard([...args, '--dry-run']);
  expect(plan.out).toContain('nothing runs in EU-RO-1 here: see --data-center');
  await podyard([...args, '--data-center', 'LOCAL-1', '--yes']);
  expect((await here('/v2/network-volumes')).networkVolumes[0].dataCenter).toBe('LOCAL-1');
  expect((await here('/2026-07/v2/serverless')).endpoints[0].dataCenterIds).toEqual(['LOCAL-1']);
  expect((await podyard([...args, '--data-center', 'LOCAL-1', '--dry-run'])).err).toContain('0 of 2 to make');
});

test('a record that this side refuses is reported, and the others are made', async () => {
  await there('POST', '/v2/templates', { name: 'good', image: 'i:1' });
  await there('POST', '/v2/network-volumes', { name: 'v', size: 10, dataCenter: 'LOCAL-1' });
  const args = ['import', '--from', from, '--yes', '--data-center', 'NOWHERE-1'];
  const run = await podyard(args);
  expect([run.status, run.err]).toEqual([1, expect.stringContaining('1 of 2 could not be made')]);
  expect(run.out).toMatch(/^volume\s+v\s+failed\s+-\s+dataCenter: there is no data center 'NOWHERE-1'$/m);
  expect(await counts()).toEqual({ ...NOTHING, templates: 1 });
});

test('an import that is cut off is completed by running it again', async () => {
  for (const name of ['a', 'b', 'c']) await there('POST', '/v2/templates', { name, image: 'i:1' });
  let made = 0;
  const failing = await listen((req, res) => {
    if (req.method === 'POST' && ++made > 1) res.destroy();
    else target.handle(req, res);
  });
  const args = ['import', '--from', from, '--yes'];
  const cut = await podyard(args, { env: { PODYARD_URL: failing } });
  expect([cut.status, cut.err]).toEqual([6, expect.stringContaining('cannot be reached')]);
  expect(cut.out).toMatch(/^template\s+a\s+created/m);
  expect((await podyard(args)).err).toContain('2 of 3 to make');
  expect((await counts()).templates).toBe(3);
});

test('the key of the other side comes from the environment, stdin or a prompt; a key as an argument is warned of', async () => {
  const { there: other } = await people();
  const env = { PODYARD_IMPORT_KEY: '' };
  const args = ['import', '--from', from, '--dry-run'];
  expect((await podyard([...args, '--key', '-'], { env, input: `${other.key}\n` })).status).toBe(0);
  expect((await podyard(args, { env, answers: [other.key] })).status).toBe(0);
  const argued = await podyard([...args, '--key', other.key], { env });
  expect([argued.status, argued.err]).toEqual([0, expect.stringContaining('prefer --key - or PODYARD_IMPORT_KEY')]);
  const wrong = await podyard(args, { env: { PODYARD_IMPORT_KEY: 'pyk_wrong' } });
  expect([wrong.status, wrong.err]).toEqual([3, expect.stringContaining('invalid bearer token')]);
  expect(wrong.err).not.toContain('pyk_wrong');
});

test('what is no server of REST v2, no URL or no file of secrets is said', async () => {
  const at = (listener: RequestListener) => listen(listener);
  const html = await at((_req, res) => res.end('<html>'));
  const other = await at((_req, res) => res.end('{"endpoints": [{"nameless": true}]}'));
  const gone = 'http://127.0.0.1:1';
  const cases = [
    [html, 1, /did not answer with JSON: --from must be a server of REST v2/],
    [other, 1, /did not answer with a list of endpoints/],
    [gone, 6, /cannot be reached/],
    ['ftp://x', 2, /--from has 'ftp:\/\/x'/],
    ['http://user:secret@x', 2, /--from must have no user name or password/],
    ['nonsense', 2, /must be the URL of a server/],
  ] as const;
  for (const [url, status, text] of cases) {
    const run = await podyard(['import', '--from', url]);
    expect([url, run.status, run.err]).toEqual([url, status, expect.stringMatching(text)]);
    expect(run.err).not.toContain('secret@');
  }
  expect((await podyard(['import'])).status).toBe(2);
  for (const text of ['{', '{"secrets": {"a": 1}}', '{"registries": {"a": {"username": "u"}}}']) {
    const file = join(folder, 'bad.json');
    await writeFile(file, text);
    expect((await podyard(['import', '--from', from, '--secrets', file])).status).toBe(1);
  }
});

test('secrets that the other side does not list are found in what references them', async () => {
  await furnish();
  const listless = await listen((req, res) => {
    if (req.url!.includes('/account/secrets')) res.writeHead(404).end('{"detail": "Path not found"}');
    else source.handle(req, res);
  });
  const run = await podyard(['import', '--from', listless, '--dry-run']);
  expect(run.err).toContain('The other side lists no secrets');
  expect(run.out).toMatch(/^secret\s+token\s+create/m);
});

test('endpoints with pools and types that this side has not, and records of another shape, are dealt with one by one', async () => {
  const gpu = { pools: ['ADA_24', 'AMPERE_24', 'TPU_9000'], count: 1, excludedTypes: ['NVIDIA L4', 'NVIDIA Unheard'] };
  const shared = {
    type: 'QUEUE',
    image: 'i',
    workers: { min: 0, max: 1 },
    scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
  };
  const endpoints = [
    { id: 'e1', name: 'some', ...shared, gpu },
    { id: 'e2', name: 'none', ...shared, gpu: { pools: ['TPU_9000'], count: 1 } },
    { id: 'e3', name: 'broken', ...shared, gpu: { pools: 'ADA_24' } },
    { id: 'e5', name: 'volumes', ...shared, gpu: { pools: ['ADA_24'], count: 1 }, networkVolumes: 'v1' },
    { id: 'e6', name: 'login', ...shared, gpu: { pools: ['ADA_24'], count: 1 }, registry: { id: 'r1' } },
    { id: 'e4', name: '\u001b[31mred\nline', ...shared, gpu: { pools: ['ADA_24'], count: 1 }, env: 7 },
  ];
  const odd = await listen((req, res) => {
    const path = req.url!.replace('/v2/', '');
    const lists: Record<string, object> = {
      serverless: { endpoints },
      templates: { templates: [] },
      'network-volumes': { networkVolumes: [] },
      registries: { registries: [] },
      'account/secrets': { secrets: [] },
    };
    res.writeHead(path in lists ? 200 : 404).end(JSON.stringify(lists[path] ?? {}));
  });
  const run = await podyard(['import', '--from', odd, '--yes']);
  expect([run.status, run.err]).toEqual([1, expect.stringContaining('1 of 6 could not be made')]);
  const types = 'this side has no GPU pool TPU_9000 and no excluded GPU type NVIDIA Unheard';
  expect(run.out).toMatch(new RegExp(`^endpoint\\s+some\\s+created\\s+\\w+\\s+${types}$`, 'm'));
  expect(run.out).toMatch(/^endpoint\s+none\s+skipped\s+-\s+this side has no GPU pool TPU_9000$/m);
  for (const name of ['broken', 'volumes', 'login']) {
    expect(run.out).toMatch(
      new RegExp(`^endpoint\\s+${name}\\s+skipped\\s+-\\s+it is not what REST v2 describes$`, 'm'),
    );
  }
  expect(run.out).toMatch(/^endpoint\s+red line\s+failed\s+-\s+Request validation failed/m);
  expect(run.out).not.toContain('\u001b');
  const { endpoints: made } = await here('/2026-08/v2/serverless');
  expect(made[0].gpu).toMatchObject({ pools: ['ADA_24', 'AMPERE_24'], excludedTypes: ['NVIDIA L4'] });
});

test('an endpoint comes with its models, at the commits that they have there', async () => {
  const models = [{ source: 'hf:org/model', include: ['*.json'] }];
  const commit = hub.commitOf('org/model');
  await there('POST', '/v2/serverless', { name: 'chat', image: 'i:1', gpu: { pools: ['ADA_24'] }, models });
  hub.models.set('org/model', { files: { 'config.json': { size: 9 } }, revisions: { [commit]: commit } });
  const first = await podyard(['import', '--from', from, '--yes']);
  expect([first.status, first.out]).toEqual([0, expect.stringMatching(/endpoint +chat +created/)]);
  const [{ id }] = (await here('/v2/serverless')).endpoints;
  expect((await here(`/v2/serverless/${id}/models`)).models).toMatchObject([
    { name: 'org/model', commit, include: ['*.json'] },
  ]);
  expect((await here(`/v2/serverless/${id}/releases`)).releases).toHaveLength(1);
  const again = await podyard(['import', '--from', from, '--dry-run']);
  expect(again.out).toMatch(/endpoint +chat +exists/);
  hub.models.clear();
  await there('POST', '/v2/serverless', { name: 'plain', image: 'i:1', gpu: { pools: ['ADA_24'] } });
  expect((await podyard(['import', '--from', from, '--yes'])).out).toMatch(/endpoint +plain +created/);
});
