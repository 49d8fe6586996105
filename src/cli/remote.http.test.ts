import { rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CliFixture, startCliFixture } from '../../test/cli-fixture.ts';
import type { RestFixture } from '../../test/rest-app.ts';
import type { PodId } from '../core/ids.ts';
import { makeJupyterPassword } from '../domain/pods/jupyter-password.ts';

const GPU = 'NVIDIA GeForce RTX 4090';

let cli: CliFixture;
let rest: RestFixture;
let url: string;
let home: string;

beforeAll(async () => {
  const gpus = [{ pool: 'ADA_24', gpuTypeId: GPU, dataCenterId: 'LOCAL-1', total: 8, free: 8 }];
  cli = await startCliFixture({ capacity: { read: async () => ({ gpus, cpus: 8, memoryBytes: 2 ** 35 }) } });
  ({ rest, url, home } = cli);
});
afterAll(() => cli.close());

const podyard: CliFixture['podyard'] = (...args) => cli.podyard(...args);
const json: CliFixture['json'] = (args) => cli.json(args);

test('an endpoint that fails says so in the list; its ended workers are listed with the reason, and the last one is logged', async () => {
  const { id } = await json(['endpoints', 'create', '--name', 'broken', '--image', 'i:1', '--pool', 'ADA_24']);
  await rest.database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, is_lost, exit_code, exited_at, phase_reason)
     values ('wbroken', $1, $2, 1, '', '{}', 'EXITED', true, 1, now(), $3)`,
    [
      id,
      rest.alice.userId,
      'it exited with code 1:\nTraceback (most recent call last):\nValueError: \u001b[31mno model',
    ],
  );
  const end = 'it exited with code 1: ValueError: no model';
  expect((await podyard(['endpoints'])).out).toContain(`failing  the last start failed: ${end}`);
  expect(await json(['endpoints'])).toContainEqual(
    expect.objectContaining({ id, state: expect.objectContaining({ state: 'FAILING' }) }),
  );
  expect((await podyard(['endpoints', 'get', 'broken'])).out).toMatch(
    /^state\.reason +the last start failed: it exited with code 1/m,
  );
  expect((await podyard(['workers', 'broken'])).err).toContain('No worker runs');
  expect((await podyard(['workers', 'broken', '--ended'])).out).toMatch(
    /^ID.*WHY\nwbroken .* 1 +yes +it exited with code 1: V/,
  );
  const logs = await podyard(['logs', 'broken']);
  expect(logs).toMatchObject({ status: 0, err: expect.stringContaining(`Worker wbroken ended at`) });
  expect(logs.err).toContain(end);
  await podyard(['endpoints', 'delete', 'broken', '--yes']);
});

test('limits shows what the account may have, and has', async () => {
  expect((await podyard(['limits'])).out).toMatch(/^workers +1000 +\d+ +- +all users$/m);
  expect(await json(['limits'])).toMatchObject({ userId: rest.alice.userId, limits: { workers: 1000 } });
});

test('without any worker there is no log to show', async () => {
  await podyard(['endpoints', 'create', '--name', 'silent', '--image', 'i:1', '--pool', 'ADA_24']);
  expect(await podyard(['logs', 'silent'])).toMatchObject({
    status: 1,
    err: expect.stringContaining('no worker is running, and none has ended within 24 hours'),
  });
  await podyard(['endpoints', 'delete', 'silent', '--yes']);
});

describe('endpoints', () => {
  test('run on CPUs with --cpu, and are updated like others', async () => {
    const cpu = ['--cpu', 'cpu3c:4', 'cpu3g'];
    const made = await json([
      'endpoints',
      'create',
      '--name',
      'small',
      '--image',
      'i:1',
      ...cpu,
      '--idle-timeout',
      '7',
    ]);
    expect(made).toMatchObject({
      cpu: [
        { id: 'cpu3c', vcpuCount: 4, memory: 8 },
        { id: 'cpu3g', vcpuCount: 2 },
      ],
    });
    expect((await podyard(['endpoints'])).out).toMatch(/ i:1 +0-3 +cpu3c with 4 vCPU /);
    await podyard(['endpoints', 'update', 'small', '--image', 'i:2', '--scaler-value', '9', '--cpu', 'cpu5c:2']);
    expect(await json(['endpoints', 'get', 'small'])).toMatchObject({
      image: 'i:2',
      cpu: { id: 'cpu5c', vcpuCount: 2 },
      scaling: { type: 'QUEUE_DELAY', value: 9, idleTimeout: 7 },
    });
    const wrong = ['endpoints', 'update', 'small', '--pool', 'ADA_24'];
    expect((await podyard(wrong)).err).toContain('gpu: this is a CPU endpoint, and stays one');
    expect((await podyard(['endpoints', 'create', '--name', 'x', '--image', 'i', '--cpu', 'a:b'])).err).toContain(
      "--cpu: 'a:b' is not a flavor and its vCPUs, like cpu3c:4",
    );
    await podyard(['endpoints', 'delete', 'small', '--yes']);
  });

  test('are created, listed, found by name, partially updated and deleted', async () => {
    const made = await json([
      ...['endpoints', 'create', '--name', 'echo', '--image', 'i:1', '--pool', 'ADA_24', '--env', 'A=1', 'B=x=y'],
      ...['--workers-max', '5', '--port', '80/http', '--flashboot', 'FLASHBOOT'],
    ]);
    expect(made).toMatchObject({ env: { A: '1', B: 'x=y' }, workers: { min: 0, max: 5 }, flashboot: 'FLASHBOOT' });
    expect((await podyard(['endpoints'])).out).toMatch(/^ID +NAME .*\n\w+ +echo +queue +i:1 +0-5/);
    expect((await podyard(['endpoints', 'update', 'echo', '--workers-min', '1'])).status).toBe(0);
    expect(await json(['endpoints', 'get', made.id])).toMatchObject({ workers: { min: 1, max: 5 }, image: 'i:1' });
    expect((await podyard(['workers', 'echo'])).err).toContain('No worker runs');
    await podyard(['endpoints', 'update', 'echo', '--image', 'i:2']);
    expect((await json(['releases', 'echo'])).map((release: { version: number }) => release.version)).toEqual([2, 1]);
    expect((await podyard(['rollback', 'echo', '--no-wait'])).err).toContain(
      'Version 3 has the settings of version 1.',
    );
    expect(await podyard(['rollback', 'echo', '--to', '9', '--no-wait'])).toMatchObject({
      status: 1,
      err: 'podyard: there is no version 9, but: 3, 2, 1',
    });
    expect(await json(['decisions', 'echo'])).toEqual([]);
    expect(await json(['jobs', 'echo', '--status', 'FAILED', 'TIMED_OUT', '--since', '2h', '--limit', '300'])).toEqual(
      [],
    );
    const floors = ['--floor', 'daily 00:00-24:00 2', 'mon-fri 08:00-18:00 3'];
    expect(await json(['endpoints', 'schedule', 'echo', '--time-zone', 'UTC', ...floors])).toMatchObject({
      timeZone: 'UTC',
      floors: [{ until: '24:00', workersMin: 2 }, { days: ['MON', 'TUE', 'WED', 'THU', 'FRI'] }],
    });
    const shown = await podyard(['endpoints', 'schedule', 'echo']);
    expect(shown.out).toMatch(/^DAYS +FROM +UNTIL +WORKERS\nMON TUE WED THU FRI SAT SUN +00:00 +24:00 +2\n/);
    expect(shown.err).toMatch(/^Times are of UTC\. The floor is [23] now, until /);
    expect((await podyard(['endpoints', 'schedule', 'echo', '--floor', 'mon 08:00-18:00 1'])).err).toBe(
      'podyard: --floor needs --time-zone, such as Europe/Berlin',
    );
    expect(await json(['endpoints', 'schedule', 'echo', '--clear'])).toMatchObject({ floors: [] });
    const rule = await json(['endpoints', 'gpu-rule', 'echo', '--cuda', '12.4', '12.8', '--min-cuda', '12.4']);
    expect(rule).toEqual({ excludedGpuTypes: [], allowedCudaVersions: ['12.4', '12.8'], minCudaVersion: '12.4' });
    expect((await podyard(['endpoints', 'gpu-rule', 'echo', '--min-cuda', '12.8'])).out).toMatch(
      /^EXCLUDED +CUDA +MIN CUDA\n +12\.4, 12\.8 +12\.8$/,
    );
    expect(await json(['endpoints', 'gpu-rule', 'echo', '--clear'])).toMatchObject({ minCudaVersion: null });
    expect(await json(['history', 'echo', '--range', '24h', '--step', '300'])).toEqual([]);
    expect(await podyard(['history', 'echo', '--pool', 'ADA_24'])).toMatchObject({
      status: 2,
      err: 'podyard: --pool is for all endpoints: name no endpoint',
    });
    expect((await podyard(['history', '--pool', 'ADA_24'])).status).toBe(3); // only for the operator
    expect((await podyard(['history', 'echo', '--range', '7d', '--step', '60'])).status).toBe(5);
    expect(await podyard(['jobs', 'echo', '--since', 'yesterday'])).toMatchObject({
      status: 2,
      err: "podyard: 'yesterday' is neither a time such as 2026-11-20T10:00:00Z nor an age such as 15m",
    });
    expect((await podyard(['endpoints', 'delete', 'echo', '--yes'])).err).toBe(`echo (${made.id}) is deleted.`);
    expect(await json(['endpoints'])).toEqual([]);
  });

  test('an ambiguous name is rejected with the remedy', async () => {
    for (let i = 0; i < 2; i++)
      await podyard(['endpoints', 'create', '--name', 'twin', '--image', 'i', '--pool', 'ADA_24']);
    expect(await podyard(['endpoints', 'get', 'twin'])).toMatchObject({
      status: 1,
      err: expect.stringMatching(
        /^podyard: 2 endpoints are named 'twin': use an id, one of [a-z0-9]{14}, [a-z0-9]{14}$/,
      ),
    });
  });
});

describe('pods', () => {
  test('are updated, and made private and public', async () => {
    const made = await json([
      ...['pods', 'create', '--name', 'site', '--image', 'i:1', '--cpu', 'cpu3c', '--port', '80/http', '--private'],
    ]);
    const access = () => rest.call('GET', `/v2/pods/${made.id}/access`, { key: rest.alice.key });
    expect((await access()).json()).toEqual({ private: true });
    expect(await json(['pods', 'update', 'site', '--public', '--image', 'i:2'])).toMatchObject({ image: 'i:2' });
    expect((await access()).json()).toEqual({ private: false });
    expect(await podyard(['pods', 'update', made.id, '--private'])).toMatchObject({ status: 0 });
    expect((await access()).json()).toEqual({ private: true });
    const both = await podyard(['pods', 'update', made.id, '--private', '--public']);
    expect(both).toMatchObject({ status: 2, err: expect.stringContaining('exclude each other') });
    expect((await podyard(['pods', 'update', 'nosuch', '--private'])).status).not.toBe(0);
  });

  test('have times at which they are stopped and terminated', async () => {
    const made = await json([
      ...[
        'pods',
        'create',
        '--name',
        'brief',
        '--image',
        'i:1',
        '--cpu',
        'cpu3c',
        '--stop-after',
        '2099-01-31T12:00:00Z',
      ],
    ]);
    const never = { terminateAfter: null };
    expect(await json(['pods', 'lifetime', 'brief'])).toEqual({ stopAfter: '2099-01-31T12:00:00.000Z', ...never });
    const changed = await podyard(['pods', 'lifetime', made.id, '--stop-after', 'never', '--terminate-after', '2h']);
    expect(changed.out).toMatch(/^STOPS +TERMINATES\nnever +20/);
    const { terminateAfter } = await json(['pods', 'lifetime', 'brief']);
    expect(Date.parse(terminateAfter) - Date.now()).toBeGreaterThan(7_000_000);
    expect((await podyard(['pods', 'lifetime', 'brief', '--stop-after', '2001-01-01T00:00:00Z'])).err).toContain(
      'is over',
    );
    expect((await podyard(['pods', 'lifetime', 'brief', '--stop-after', 'soon'])).err).toContain(
      "'soon' is neither a time",
    );
  });
});

describe('clusters', () => {
  test('are created, listed, renamed and deleted; their pods are listed by rank', async () => {
    const made = await json([
      ...['clusters', 'create', '--name', 'ring', '--image', 'i:1', '--gpu', GPU, '--pods', '3', '--type', 'RAY'],
    ]);
    expect(made).toMatchObject({
      name: 'ring',
      type: 'RAY',
      compute: { gpuTypeId: GPU, gpuCountPerPod: 1, podCount: 3 },
    });
    const list = await podyard(['clusters']);
    expect(list.out).toMatch(/^ID +NAME +TYPE +PODS +EACH +NETWORK +WHY\n/);
    expect(list.out).toMatch(/ring +RAY +3 provisioning +1 x NVIDIA GeForce RTX 4090 +- +-/);
    expect(await json(['clusters', 'rename', 'ring', 'circle'])).toMatchObject({ name: 'circle' });
    expect(await json(['clusters', 'get', made.id])).toMatchObject({ name: 'circle' });
    const pods = await podyard(['clusters', 'pods', 'circle']);
    expect(pods.out).toMatch(/^RANK +ID +STATUS +ADDRESS +USD\/H +WHY\n0 /);
    expect(pods.out.split('\n')).toHaveLength(4);
    expect((await podyard(['pods'])).out).not.toContain(made.primary.podId);
    expect(await podyard(['clusters', 'delete', 'circle', '--yes'])).toMatchObject({ status: 0 });
    expect(await podyard(['clusters', 'pods', made.id])).toMatchObject({ status: 4 });
    expect(await podyard(['clusters', 'create', '--name', 'x', '--gpu', GPU])).toMatchObject({ status: 2 });
  });
});

describe('the other records', () => {
  test('templates, volumes, registries and secrets are created and listed; secrets are read from stdin', async () => {
    expect((await podyard(['templates', 'create', '--name', 't', '--image', 'i', '--serverless'])).status).toBe(0);
    const [center] = await json(['catalog', 'datacenters']);
    expect((await podyard(['volumes', 'create', 'models', '--size', '10', '--data-center', center.id])).status).toBe(0);
    expect((await podyard(['volumes', 'update', 'models', '--size', '20'])).status).toBe(0);
    expect((await podyard(['registries', 'create', 'mine', '--username', 'me'], { input: 'password\n' })).status).toBe(
      0,
    );
    expect((await podyard(['secrets', 'create', 'TOKEN'], { input: 'value\n' })).status).toBe(0);
    expect((await podyard(['secrets', 'update', 'TOKEN'], { input: 'other' })).status).toBe(0);
    expect(await podyard(['secrets', 'create', 'EMPTY'])).toMatchObject({ status: 1 });
    for (const area of ['templates', 'volumes', 'registries', 'secrets']) expect(await json([area])).toHaveLength(1);
    expect((await podyard(['secrets', 'list'])).out).toMatch(/^ID +NAME +USED BY +CHANGED\n\w+ +TOKEN +- /);
    for (const [area, name] of [
      ['secrets', 'TOKEN'],
      ['registries', 'mine'],
      ['volumes', 'models'],
      ['templates', 't'],
    ]) {
      expect((await podyard([area!, 'delete', name!, '--yes'])).status).toBe(0);
    }
    expect((await podyard(['catalog', 'gpus'])).out).toMatch(/^ID +POOL +GB +USD\/H +FREE/);
    expect((await podyard(['billing', '--by', 'hour', '--last', '3'])).status).toBe(0);
  });
});

describe('SSH keys', () => {
  test('are added from a file, listed and removed; a private key is never sent', async () => {
    const file = join(home, 'id.pub');
    await writeFile(file, '# mine\nssh-ed25519 AAAA alice@laptop\n');
    expect((await podyard(['ssh-keys'])).err).toContain('You have no SSH keys');
    for (let i = 0; i < 2; i++) {
      expect(await json(['ssh-keys', 'add', file])).toEqual(['ssh-ed25519 AAAA alice@laptop']);
    }
    expect((await podyard(['ssh-keys', 'list'])).out).toBe('ssh-ed25519 AAAA alice@laptop');
    expect(await podyard(['ssh-keys', 'remove', 'bob@', '--yes'])).toMatchObject({
      status: 1,
      err: "podyard: no key contains 'bob@'",
    });
    expect(await json(['ssh-keys', 'remove', 'alice@laptop', '--yes'])).toEqual([]);
    await writeFile(file, '-----BEGIN OPENSSH PRIVATE KEY-----\n');
    expect((await podyard(['ssh-keys', 'add', file])).err).toContain('is a private key: give its .pub file');
    await writeFile(file, 'command="id" ssh-ed25519 AAAA\n');
    expect((await podyard(['ssh-keys', 'add', file])).status).not.toBe(0);
  });
});

describe('access to pods', () => {
  test('SSH and Jupyter are started with their ports, and their command and password are printed', async () => {
    const create = ['pods', 'create', '--image', 'i:1', '--cpu', 'cpu3c', '--ssh', '--jupyter'];
    const made = await json([...create, '--name', 'lab', '--port', '80/http']);
    expect(made.ports).toEqual(['80/http', '22/tcp', '8888/http']);
    expect(await podyard(['pods', 'ssh', 'lab'])).toMatchObject({
      status: 1,
      err: expect.stringContaining('it is PROVISIONING'),
    });
    expect(await podyard(['pods', 'jupyter', 'lab'])).toMatchObject({
      status: 1,
      err: expect.stringContaining('never started'),
    });
    const { pool } = rest.database;
    const port = '[{"private": 22, "public": 30022, "type": "tcp", "ip": "192.0.2.1"}]';
    const text = "update pods set phase = 'RUNNING', phase_revision = revision, published_ports = $2 where id = $1";
    await pool.query(text, [made.id, port]);
    expect(await podyard(['pods', 'ssh', 'lab'])).toMatchObject({ status: 0, out: 'ssh root@192.0.2.1 -p 30022' });
    const password = await makeJupyterPassword({ pool, secretBox: rest.secretBox }, { id: made.id as PodId });
    expect(await podyard(['pods', 'jupyter', 'lab'])).toMatchObject({ status: 0, out: password });
  });

  test('a template says what its pods start; a pod takes one later; public ones are listed', async () => {
    const create = [
      'templates',
      'create',
      '--name',
      'lab',
      '--image',
      'lab:1',
      '--public',
      '--jupyter',
      '--cuda',
      '12.8',
    ];
    const template = await json(create);
    expect(template).toMatchObject({ startJupyter: true, allowedCudaVersions: ['12.8'], public: true });
    const pod = await json(['pods', 'create', '--name', 'taker', '--image', 'i:1', '--cpu', 'cpu3c']);
    expect(await json(['pods', 'update', pod.id, '--template', template.id])).toMatchObject({ image: 'lab:1' });
    const ids = async (...more: string[]) =>
      (await json(['templates', 'public', ...more])).map((one: { id: string }) => one.id);
    expect(await ids('--source', 'community')).toEqual([template.id]);
    expect(await ids('--source', 'official', 'verified')).not.toContain(template.id);
    expect(await podyard(['templates', 'mark', template.id, 'best'])).toMatchObject({ status: 2 });
  });
});

describe('signing in', () => {
  test('a key is checked and saved for its owner alone; contexts are listed, selected and removed', async () => {
    const env = { PODYARD_API_KEY: '' };
    const anonymous = await podyard(['endpoints'], { env });
    expect(anonymous).toMatchObject({ status: 3, err: expect.stringContaining('podyard login') });
    expect(await podyard(['login', url], { env, input: 'pyk_wrong' })).toMatchObject({ status: 3 });
    expect(await podyard(['login', `${url}/`, '--name', 'mine'], { env, input: `${rest.bob.key}\n` })).toMatchObject({
      status: 0,
      err: expect.stringContaining('as bob'),
    });
    const file = join(home, '.config/podyard/contexts.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await podyard(['templates', '--json'], { env })).out).toBe('[]');
    expect((await podyard(['contexts'], { env })).out).toContain(`*  mine  ${url}`);
    expect(await podyard(['contexts', 'use', 'other'], { env })).toMatchObject({ status: 1 });
    expect((await podyard(['open'], { env })).out).toBe(`${url}/#/`);
    expect((await podyard(['contexts', 'remove', 'mine', '--yes'], { env })).status).toBe(0);
    expect((await podyard(['contexts'], { env })).err).toContain('There are none');
    for (const name of ['constructor', '__proto__']) {
      expect((await podyard(['contexts', 'use', name], { env })).err).toContain(`there is no context '${name}'`);
    }
    for (const text of ['', '[]', 'null', '{"contexts": 1}']) {
      await writeFile(file, text);
      expect(await podyard(['endpoints'], { env })).toMatchObject({
        status: 1,
        err: expect.stringContaining('contexts.json does not hold contexts'),
      });
    }
    await rm(file);
  });
});

describe('without a server at hand', () => {
  const listen = async (answer: (response: ServerResponse) => void) => {
    const foreign = createServer((_request, response) => answer(response));
    await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve));
    const close = () => {
      foreign.closeAllConnections();
      foreign.close();
    };
    return { at: `http://127.0.0.1:${(foreign.address() as AddressInfo).port}`, close };
  };

  test('a command says how to get one', async () => {
    const env = { PODYARD_URL: '', PODYARD_API_KEY: '', HOME: join(home, 'nobody') };
    for (const args of [['endpoints'], ['run', 'x'], ['pods', 'list', '--json'], ['open']]) {
      const { status, out, err } = await podyard(args, { env });
      expect([status, out]).toEqual([3, '']);
      expect(err).toMatch(/^podyard: you are not signed in to a server\. .*`npx podyard`.*`podyard login <url>`/);
    }
  });

  test('the key of a context is never sent to another server', async () => {
    const env = { PODYARD_API_KEY: '', HOME: join(home, 'other') };
    await podyard(['login', url], { env, input: rest.alice.key });
    expect((await podyard(['endpoints', '--json'], { env })).status).toBe(0);
    const { at, close } = await listen((response) => response.end('{}'));
    const elsewhere = await podyard(['endpoints'], { env: { ...env, PODYARD_URL: at } });
    expect(elsewhere).toMatchObject({
      status: 3,
      err: `podyard: you are not signed in to ${at}: run \`podyard login ${at}\`, or set PODYARD_API_KEY to one of its keys`,
    });
    close();
  });

  test.each([
    [200, 'text/html', 1, /is not a Podyard server, or something in between answers: it sent text\/html/],
    [407, 'text/html', 6, /cannot be reached: a proxy in between refused it, or asks for a user name and password/],
    [502, 'text/html', 6, /a proxy in front of \S+ responded with 502: the server behind it may be down/],
    [403, 'text/html', 3, /responded with 403, and not as a Podyard server does/],
  ])('a foreign answer (%i) has its own words', async (code, type, status, words) => {
    const { at, close } = await listen((response) => response.writeHead(code, { 'content-type': type }).end('<html>'));
    expect(await podyard(['endpoints'], { env: { PODYARD_URL: at } })).toMatchObject({
      status,
      err: expect.stringMatching(words),
    });
    close();
  });
});

describe('the exit status tells scripts what went wrong', () => {
  test.each([
    [3, ['endpoints'], { PODYARD_API_KEY: 'pyk_wrong' }, 'invalid bearer token'],
    [4, ['endpoints', 'get', 'nothing'], {}, 'Endpoint not found'],
    [5, ['endpoints', 'create', '--name', 'x', '--image', 'i', '--pool', 'NOWHERE'], {}, 'NOWHERE'],
    [5, ['endpoints', 'create', '--name', 'x', '--image', 'i'], {}, 'GPU is required'],
    [6, ['endpoints'], { PODYARD_URL: 'http://127.0.0.1:9' }, 'cannot be reached'],
    [2, ['endpoints', 'create', '--workers-max', 'many'], {}, 'whole number'],
    [2, ['endpoint'], {}, ''],
    [1, ['endpoints', 'update', 'x', '--env', 'novalue'], {}, ''],
  ])('status %i for %j', async (status, args, env, words) => {
    const result = await podyard(args, { env });
    expect(result.err).toContain(words);
    if (status !== 1) expect(result.status).toBe(status);
    else expect(result.status).not.toBe(0);
  });
});
