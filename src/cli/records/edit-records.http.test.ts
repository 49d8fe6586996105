import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CliFixture, startCliFixture } from '../../../test/cli-fixture.ts';

let cli: CliFixture;
let number = 0;
beforeAll(async () => {
  const gpus = [{ pool: 'ADA_24', gpuTypeId: 'NVIDIA GeForce RTX 4090', dataCenterId: 'LOCAL-1', total: 8, free: 8 }];
  cli = await startCliFixture({ capacity: { read: async () => ({ gpus, cpus: 64, memoryBytes: 2 ** 36 }) } });
});
afterAll(() => cli.close());

const podyard: CliFixture['podyard'] = (...args) => cli.podyard(...args);
const HARDWARE = { endpoints: ['--pool', 'ADA_24'], pods: ['--cpu', 'cpu3c'], templates: [] } as const;
type Kind = keyof typeof HARDWARE;

async function create(kind: Kind, ...more: string[]): Promise<{ id: string; name: string }> {
  const name = `${kind}-${number++}`;
  return cli.json([kind, 'create', '--name', name, '--image', 'i:1', ...HARDWARE[kind], ...more]);
}

describe.each(['endpoints', 'pods', 'templates'] as const)('variables of %s', (kind) => {
  const envOf = async (id: string) => (await cli.json([kind, 'get', id])).env;

  test('--env adds to those that are there', async () => {
    const { name, id } = await create(kind, '--env', 'A=1', 'B=2');
    expect((await podyard([kind, 'update', name, '--env', 'C=3', 'B=x=y'])).status).toBe(0);
    expect(await envOf(id)).toEqual({ A: '1', B: 'x=y', C: '3' });
    expect(await podyard([kind, 'update', name, '--env', 'constructor=1'])).toMatchObject({ status: 0, err: '' });
    expect(await podyard([kind, 'update', name, '--unset-env', 'constructor'])).toMatchObject({ status: 0, err: '' });
    expect((await podyard([kind, 'update', name, '--image', 'i:2'])).status).toBe(0);
    expect(await envOf(id)).toEqual({ A: '1', B: 'x=y', C: '3' });
  });

  test('--unset-env removes, --replace-env replaces, and --env-file is read below --env', async () => {
    const file = join(cli.home, `${kind}.env`);
    await writeFile(file, '# comment\nA=from file\nexport Q="two words"\r\n\nE=\n');
    const { name, id } = await create(kind, '--env-file', file, '--env', 'A=1');
    expect(await envOf(id)).toEqual({ A: '1', Q: 'two words', E: '' });
    await podyard([kind, 'update', name, '--unset-env', 'Q', 'E', '--env', 'N=1']);
    expect(await envOf(id)).toEqual({ A: '1', N: '1' });
    await podyard([kind, 'update', name, '--replace-env', '--env-file', file]);
    expect(await envOf(id)).toEqual({ A: 'from file', Q: 'two words', E: '' });
    await podyard([kind, 'update', name, '--replace-env']);
    expect(await envOf(id)).toEqual({});
  });

  test('what cannot be meant is refused, and nothing is changed', async () => {
    const { name, id } = await create(kind, '--env', 'TOKEN=1');
    const cases: [args: string[], status: number, words: string][] = [
      [['--env', 'novalue'], 2, "--env has 'novalue', but takes NAME=value"],
      [['--env', 'A=1', '--unset-env', 'A'], 2, '--env and --unset-env both name A'],
      [['--replace-env', '--unset-env', 'A'], 2, '--replace-env and --unset-env exclude each other'],
      [['--env-file', '/nowhere/.env'], 2, '--env-file /nowhere/.env: there is no such file'],
      [['--unset-env', 'A,B'], 2, "--unset-env has 'A,B'"],
      [['--unset-env', 'TOKN'], 1, `${name} has no variable 'TOKN'. Did you mean 'TOKEN'?`],
    ];
    for (const [args, status, words] of cases) {
      expect([args, await podyard([kind, 'update', name, ...args])]).toMatchObject([
        args,
        { status, err: expect.stringContaining(words) },
      ]);
    }
    expect(await envOf(id)).toEqual({ TOKEN: '1' });
  });
});

test('behind a server that cannot merge, the variables that it removed are put back, and that is said', async () => {
  // Imitates version 0.1, which ignores the query of an update.
  const old = createServer(async (request, response) => {
    const body = await text(request);
    const answer = await fetch(`${cli.url}${request.url!.split('?')[0]}`, {
      method: request.method!,
      headers: { authorization: request.headers.authorization!, 'content-type': 'application/json' },
      ...(body === '' ? {} : { body }),
    });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
  await new Promise<void>((resolve) => old.listen(0, '127.0.0.1', resolve));
  const env = { PODYARD_URL: `http://127.0.0.1:${(old.address() as AddressInfo).port}` };
  const { name, id } = await create('endpoints', '--env', 'A=1', 'B=2');
  const envOf = async () => (await cli.json(['endpoints', 'get', id])).env;
  const changed = await podyard(['endpoints', 'update', name, '--env', 'C=3'], { env });
  expect(changed).toMatchObject({ status: 0, err: expect.stringContaining('too old to merge variables') });
  expect(await envOf()).toEqual({ A: '1', B: '2', C: '3' });
  await podyard(['endpoints', 'update', name, '--unset-env', 'A'], { env });
  expect(await envOf()).toEqual({ B: '2', C: '3' });
  expect((await podyard(['endpoints', 'update', name, '--replace-env', '--env', 'Z=1'], { env })).err).toBe('');
  expect(await envOf()).toEqual({ Z: '1' });
  old.closeAllConnections();
  old.close();
});

describe('deleting', () => {
  test.each([
    ['endpoints', 'delete'],
    ['pods', 'delete'],
    ['clusters', 'delete'],
    ['templates', 'delete'],
    ['secrets', 'delete'],
    ['volumes', 'delete'],
    ['registries', 'delete'],
    ['contexts', 'remove'],
    ['ssh-keys', 'remove'],
  ])('%s %s without a terminal and without --yes is refused with status 2, before any request', async (area, verb) => {
    const env = { PODYARD_URL: 'http://127.0.0.1:9' };
    expect(await podyard([area, verb, 'anything'], { env })).toEqual({
      status: 2,
      out: '',
      err: 'podyard: this deletes something, and there is no terminal to ask on: add --yes',
    });
  });

  test('asks for the name on a terminal, and deletes nothing when another one is typed', async () => {
    const { id, name } = await create('templates');
    expect(await podyard(['templates', 'delete', id], { answers: ['yes'] })).toMatchObject({
      status: 1,
      err: `podyard: 'yes' is not ${name}: nothing is deleted`,
    });
    expect(await podyard(['templates', 'delete', id], { answers: [''] })).toMatchObject({ status: 1 });
    expect((await podyard(['templates', 'get', id])).status).toBe(0);
    expect(await podyard(['templates', 'delete', id], { answers: [` ${name} `] })).toMatchObject({
      status: 0,
      err: `${name} (${id}) is deleted.`,
    });
    expect((await podyard(['templates', 'get', id])).status).toBe(4);
  });

  test('with --json prints what is deleted', async () => {
    const { id, name } = await create('templates');
    expect(await cli.json(['templates', 'delete', name, '--yes'])).toEqual({ id, name, deleted: true });
  });
});

describe('names', () => {
  test('work wherever ids do: templates, registries, volumes', async () => {
    const [center] = await cli.json(['catalog', 'datacenters']);
    const volume = await cli.json(['volumes', 'create', 'weights', '--size', '10', '--data-center', center.id]);
    await podyard(['registries', 'create', 'hub', '--username', 'me'], { input: 'secret' });
    const [registry] = await cli.json(['registries', 'ls']);
    const base = await create('templates', '--registry', 'hub');
    expect(await cli.json(['templates', 'get', base.name])).toMatchObject({ registry: registry.id });
    const shared = await create('templates', '--serverless', '--env', 'T=1');
    const endpoint = await create('endpoints', '--template', shared.name, '--volume', 'weights', '--registry', 'hub');
    expect(endpoint).toMatchObject({ networkVolumes: [volume.id], registry: registry.id, env: { T: '1' } });
    expect(await cli.json(['endpoints', 'update', endpoint.name, '--registry', ''])).toMatchObject({ registry: null });
    const pod = await create('pods', '--template', base.name, '--network-volume', 'weights:/models');
    expect(pod).toMatchObject({
      registry: registry.id,
      mounts: { network: [{ volumeId: volume.id, path: '/models' }] },
    });
    expect(await cli.json(['pods', 'update', pod.id, '--network-volume', 'weights:/data', '--lock'])).toMatchObject({
      locked: true,
      mounts: { network: [{ volumeId: volume.id, path: '/data' }] },
    });
  });

  test('that nothing has are answered with the nearest one, and status 4', async () => {
    const { name } = await create('endpoints');
    const typo = name.replace('endpoints', 'endpiont');
    for (const args of [
      ['endpoints', 'get', typo],
      ['workers', typo],
      ['logs', typo],
    ]) {
      expect(await podyard(args)).toMatchObject({
        status: 4,
        err: expect.stringMatching(new RegExp(`Endpoint not found: '${typo}'. Did you mean 'endpoints-\\d+'\\?`)),
      });
    }
    expect(await podyard(['endpoints', 'update', name, '--template', 'nowhere'])).toMatchObject({ status: 2 });
    expect(await podyard(['pods', 'create', '--name', 'x', '--cpu', 'cpu3c', '--template', 'nowhere'])).toMatchObject({
      status: 4,
      err: expect.stringContaining("Template not found: 'nowhere'"),
    });
  });

  test('that look like an id are found as well', async () => {
    const { id } = await cli.json(['templates', 'create', '--name', 'translationbot', '--image', 'i']);
    expect(await cli.json(['templates', 'get', 'translationbot'])).toMatchObject({ id });
  });
});

test('a template is updated in every field', async () => {
  const { name } = await create('templates', '--persistent', '20:/keep', '--ssh', '--public');
  const changed = await cli.json([
    ...['templates', 'update', name, '--name', 'renamed', '--args', 'serve', '--disk', '30', '--port', '80/http'],
    ...['--category', 'CPU', '--no-ssh', '--jupyter', '--cuda', '12.8', '--no-public', '--persistent', '40:/data'],
  ]);
  expect(changed).toMatchObject({
    name: 'renamed',
    args: 'serve',
    disk: 30,
    ports: ['80/http'],
    category: 'CPU',
    startSsh: false,
    startJupyter: true,
    allowedCudaVersions: ['12.8'],
    public: false,
    mounts: { persistent: { size: 40, path: '/data' } },
  });
  expect(await cli.json(['templates', 'update', 'renamed', '--persistent', '', '--cuda', ''])).toMatchObject({
    mounts: {},
    allowedCudaVersions: [],
  });
  expect(await podyard(['templates', 'update', 'renamed', '--persistent', 'much'])).toMatchObject({
    status: 2,
    err: expect.stringContaining("--persistent has 'much', but takes GB and a path"),
  });
});

test('a pod’s persistent storage grows where it is', async () => {
  const pod = await cli.json([
    ...['pods', 'create', '--name', 'grower', '--image', 'i', '--gpu', 'NVIDIA GeForce RTX 4090'],
    ...['--persistent', '20:/keep'],
  ]);
  const grown = await cli.json(['pods', 'update', pod.id, '--persistent', '30', '--lock']);
  expect(grown).toMatchObject({ mounts: { persistent: { size: 30, path: '/keep' } }, locked: true });
  expect(await cli.json(['pods', 'update', pod.id, '--unlock'])).toMatchObject({ locked: false });
});

test('a record is shown a field per line, without JSON', async () => {
  const { name } = await create('endpoints', '--env', 'A=1', '--port', '80/http', '81/http');
  const { out } = await podyard(['endpoints', 'get', name]);
  expect(out).toMatch(/^workers\.max +3$/m);
  expect(out).toMatch(/^env\.A +1$/m);
  expect(out).toMatch(/^ports +80\/http, 81\/http$/m);
  expect(out).not.toMatch(/[{}[\]"]/);
});
