import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type CliFixture, startCliFixture } from '../../../test/cli-fixture.ts';
import { ModelHub } from '../../../test/model-hub.ts';
import { newId } from '../../core/ids.ts';

let hub: ModelHub;
let cli: CliFixture;
let name: string;
let folder: string;
beforeAll(async () => {
  hub = await ModelHub.start();
  const gpus = [{ pool: 'ADA_24', gpuTypeId: 'NVIDIA GeForce RTX 4090', dataCenterId: 'LOCAL-1', total: 8, free: 8 }];
  const capacity = { read: async () => ({ gpus, cpus: 64, memoryBytes: 2 ** 38 }) };
  cli = await startCliFixture({ hubUrl: hub.url, capacity });
  hub.tokens = new Set(['hf_good']);
  await cli.podyard(['secrets', 'create', 'hub'], { input: 'hf_good\n' });
});
afterAll(async () => {
  await cli.close();
  await hub.close();
});
beforeEach(async () => {
  const files = { 'config.json': { size: 600 }, 'model.safetensors': { size: 5_000_000_000, lfs: true } };
  hub.models.clear();
  hub.models.set('org/model', { files, revisions: { v1: 'a'.repeat(40) } });
  hub.models.set('org/gated', { files, gatedFor: ['hf_good'] });
  name = newId();
  folder = await mkdtemp(join(tmpdir(), 'podyard-models-'));
});
afterEach(() => rm(folder, { recursive: true }));

const models = (...args: string[]) => cli.podyard(['models', ...args]);
const create = (...more: string[]) =>
  cli.json(['endpoints', 'create', name, '--image', 'i:1', '--pool', 'ADA_24', ...more]);
const versions = async () => (await cli.json(['releases', name])).length;

test('models are set, shown and removed', async () => {
  await create();
  expect((await models('show', name)).out).toBe('');
  expect((await models('show', name)).err).toBe(
    `${name} has no models. Set some: \`podyard models set ${name} hf:<owner>/<name>\`.`,
  );
  const { out } = await models(
    'set',
    name,
    'org/model@v1',
    'hf:org/gated',
    '--token-secret',
    'hub',
    '--exclude',
    '*.json',
  );
  const gated = hub.commitOf('org/gated').slice(0, 7);
  expect(out.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['MODEL', 'REVISION', 'COMMIT', 'FILES', 'SIZE', 'TOKEN', 'PROBLEM'],
    ['org/model', 'v1', 'aaaaaaa', '1', '5.0 GB', 'hub', '-'],
    ['org/gated', 'main', gated, '1', '5.0 GB', 'hub', '-'],
  ]);
  expect((await models('remove', name, 'org/absent')).err).toContain("the endpoint has no model 'org/absent'");
  hub.models.set('org/gated', {
    files: { 'config.json': { size: 600 }, 'new.bin': { size: 1 } },
    gatedFor: ['hf_good'],
    revisions: { old: hub.commitOf('org/gated') },
  });
  hub.asked.length = 0;
  await models('remove', name, 'hf:org/model');
  expect(hub.asked).toEqual([]);
  expect(await cli.json(['models', 'show', name])).toMatchObject([
    { name: 'org/gated', commit: expect.stringMatching(`^${gated}`) },
  ]);
  expect((await models('remove', name)).status).toBe(0);
  expect(await cli.json(['models', 'show', name])).toEqual([]);
  expect((await models('set', name, 's3://bucket/model')).err).toContain('needs the SHA-256 of the file');
});

test('an endpoint is created with models, before its first worker starts, and gets others', async () => {
  const { id } = await create('--model', 'hf:org/model@v1', '--workers-min', '1', '--workers-max', '2');
  expect(await cli.json(['models', 'show', name])).toMatchObject([{ commit: 'a'.repeat(40) }]);
  expect((await cli.json(['endpoints', 'get', name])).workers).toMatchObject({ min: 1, max: 2 });
  const { rows } = await cli.rest.database.pool.query(
    'select version, spec from releases where endpoint_id = $1 order by version',
    [id],
  );
  expect(rows).toMatchObject([{ version: 1, spec: { models: [{ name: 'org/model' }] } }]);
  await cli.json(['endpoints', 'update', name, '--model', 'org/gated', '--model-token-secret', 'hub']);
  expect(await cli.json(['models', 'show', name])).toMatchObject([{ name: 'org/gated', tokenSecret: 'hub' }]);
  await cli.json(['endpoints', 'update', name, '--model', '']);
  expect(await cli.json(['models', 'show', name])).toEqual([]);
});

test('no endpoint is created for a model that is not there', async () => {
  const result = await cli.podyard([
    'endpoints',
    'create',
    name,
    '--image',
    'i:1',
    '--pool',
    'ADA_24',
    '--model',
    'org/none',
  ]);
  expect([result.status, result.err]).toEqual([5, expect.stringContaining('has no model org/none that may be read')]);
  expect((await cli.podyard(['endpoints', 'get', name])).status).toBe(4);
  const lacking = await cli.podyard(['endpoints', 'update', name, '--model-token-secret', 'hub']);
  expect([lacking.status, lacking.err]).toEqual([2, 'podyard: --model-token-secret needs --model']);
});

describe('podyard.yaml', () => {
  const yaml = (text: string) => writeFile(join(folder, 'podyard.yaml'), `name: ${name}\nimage: i:1\n${text}`);
  const deploy = (...more: string[]) => cli.podyard(['deploy', folder, '--no-wait', '--yes', ...more]);

  test('has the models of its endpoint, and the plan says what they are', async () => {
    const commit = hub.commitOf('org/model').slice(0, 7);
    await yaml('models:\n  - hf:org/model\n');
    const first = await deploy();
    expect([first.status, first.err]).toEqual([
      0,
      expect.stringContaining(`+ models  org/model@${commit} (2 files, 5.0 GB)`),
    ]);
    expect(await cli.json(['models', 'show', name])).toMatchObject([{ name: 'org/model', files: 2 }]);
    const count = await versions();
    expect((await deploy()).err).toContain('Nothing changed');
    await yaml(
      'models:\n  - source: hf:org/model@v1\n    include: ["*.json"]\n  - {source: org/gated, tokenSecret: hub}\n',
    );
    const changed = await deploy();
    expect(changed.err).toContain(
      `~ models  org/model@${commit} (2 files, 5.0 GB) → org/model@aaaaaaa (1 file, 600 B)`,
    );
    expect(changed.err).toContain('+ models  org/gated@');
    await yaml('');
    await deploy();
    expect(await versions()).toBe(count + 1); // without `models` they stay
    await yaml('models: []\n');
    expect((await deploy()).err).toContain('- models  org/gated@');
    expect(await cli.json(['models', 'show', name])).toEqual([]);
  });

  test('names the place of a model that is none', async () => {
    await yaml('models:\n  - source: hf:org/model\n    includes: ["*.json"]\n');
    expect((await deploy()).err).toContain(
      "podyard.yaml:5:5: 'includes' is not a field of models.0. Did you mean 'include'?",
    );
    await yaml('models: [7]\n');
    expect((await deploy()).err).toContain('podyard.yaml:3:10: models.0 must be text or a map of fields');
  });
});
