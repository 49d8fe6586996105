import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CliFixture, startCliFixture } from '../../../test/cli-fixture.ts';

const GPU = 'NVIDIA GeForce RTX 4090';

let cli: CliFixture;
beforeAll(async () => {
  const gpus = [{ pool: 'ADA_24', gpuTypeId: GPU, dataCenterId: 'LOCAL-1', total: 64, free: 64 }];
  cli = await startCliFixture({ capacity: { read: async () => ({ gpus, cpus: 64, memoryBytes: 2 ** 38 }) } });
});
afterAll(() => cli.close());

const podyard: CliFixture['podyard'] = (...args) => cli.podyard(...args);
const json: CliFixture['json'] = (args) => cli.json(args);
const asRoot = { env: {} as Record<string, string> };
beforeAll(async () => {
  asRoot.env = { PODYARD_API_KEY: (await cli.rest.addPerson('admin')).key };
});

/** The options that each `create` requires besides the name. */
const CREATES = {
  endpoints: ['--image', 'i:1', '--pool', 'ADA_24'],
  pods: ['--image', 'i:1', '--cpu', 'cpu3c'],
  clusters: ['--image', 'i:1', '--gpu', GPU, '--pods', '2'],
  templates: ['--image', 'i:1'],
  volumes: ['--size', '10', '--data-center', 'LOCAL-1'],
  registries: ['--username', 'me'],
  secrets: [],
  keys: [],
};

describe.each(Object.entries(CREATES))('%s create', (area, options) => {
  const create = (...args: string[]) => podyard([area, 'create', ...args, ...options], { input: 'value' });
  const names = async () => (await json([area])).map(({ name }: { name: string }) => name);

  test('takes the name as an argument and, as before, as --name', async () => {
    expect(await create('first')).toMatchObject({ status: 0 });
    expect(await create('--name', 'second')).toMatchObject({ status: 0 });
    expect(await create('third', '--name', 'third')).toMatchObject({ status: 0 });
    expect(await names()).toEqual(expect.arrayContaining(['first', 'second', 'third']));
    expect(await create('one', '--name', 'other')).toMatchObject({
      status: 2,
      err: "podyard: the name is both 'one' and, by --name, 'other': give one",
    });
  });
});

test.each(Object.keys(CREATES).filter((area) => area !== 'keys'))(
  '%s create says where the name goes',
  async (area) => {
    const options = CREATES[area as keyof typeof CREATES];
    expect(await podyard([area, 'create', ...options], { input: 'value' })).toMatchObject({
      status: 2,
      err: `podyard: the name is missing: put it first, as in \`podyard ${area} create my-name …\``,
    });
  },
);

test('users create takes the name both ways', async () => {
  expect(await podyard(['users', 'create', 'anna'], asRoot)).toMatchObject({ status: 0 });
  expect(await podyard(['users', 'create', '--name', 'ben'], asRoot)).toMatchObject({ status: 0 });
});

test('a pool, GPU type, flavor or data center with a typo is answered with what was meant', async () => {
  const refused = async (...args: string[]) => (await podyard(args)).err;
  const endpoint = ['endpoints', 'create', 'x', '--image', 'i'];
  expect(await refused(...endpoint, '--pool', 'ADA24')).toContain("Did you mean 'ADA_24'?");
  expect(await refused(...endpoint, '--cpu', 'cpu3cc:4')).toContain("Did you mean 'cpu3c'?");
  expect(await refused(...endpoint, '--pool', 'ADA_24', '--data-center', 'LOCAL1')).toContain("mean 'LOCAL-1'?");
  expect(await refused('pods', 'create', 'x', '--image', 'i', '--gpu', 'rtx 4090')).toContain(`Did you mean '${GPU}'?`);
  const history = await podyard(['history', '--pool', 'ADA-24'], asRoot);
  expect(history.err).toContain("The catalog has no pool 'ADA-24'. Did you mean 'ADA_24'?");
});

describe('names stand for ids', () => {
  test('of users, in budgets and billing', async () => {
    const { rest } = cli;
    const run = (...args: string[]) => podyard(args, asRoot);
    expect(await run('budgets', 'set', '50', '--user', 'alice')).toMatchObject({ status: 0 });
    const { out } = await run('budgets', '--user', 'alice', '--json');
    expect(JSON.parse(out)).toEqual([expect.objectContaining({ userId: rest.alice.userId, amount: '50' })]);
    expect(await run('budgets', '--user', rest.alice.userId)).toMatchObject({ status: 0 });
    expect(await run('billing', '--by', 'product', '--user', 'alice')).toMatchObject({ status: 0 });
    expect(await run('budgets', '--user', 'alcie')).toMatchObject({
      status: 4,
      err: expect.stringContaining("there is no user named 'alcie'"),
    });
    expect(await run('budgets', 'remove', 'account', '--user', 'alice', '--yes')).toMatchObject({ status: 0 });
    expect((await podyard(['budgets', '--user', rest.bob.userId])).status).toBe(3); // only for admins
  });

  test('of another user’s endpoint, in a budget that an admin sets', async () => {
    const { rest } = cli;
    const { id } = await json(['endpoints', 'create', 'costly', ...CREATES.endpoints]);
    const set = (endpoint: string) =>
      podyard(['budgets', 'set', '9', '--user', 'alice', '--endpoint', endpoint], asRoot);
    expect(await set(id)).toMatchObject({ status: 0 });
    expect(await set('costly')).toMatchObject({ status: 4, err: expect.stringContaining('with costs: use its id') });
    await rest.database.pool.query(
      `insert into usage_days values ($1, current_date, 'SERVERLESS', $2, 'costly', 3600, 0, 0, 1, 0, 0)`,
      [rest.alice.userId, id],
    );
    expect(await set('costly')).toMatchObject({ status: 0, out: expect.stringContaining('endpoint costly') });
  });

  test('of records, in the scopes of a key', async () => {
    const { id } = await json(['endpoints', 'create', 'Only This', ...CREATES.endpoints]);
    const pod = await json(['pods', 'create', 'box', ...CREATES.pods]);
    const scopes = [
      'invoke/Only This',
      'serverless/Only This:read',
      'exec/box',
      `pods/${pod.id}:write`,
      'billing:read',
    ];
    const env = { PODYARD_API_KEY: await cli.rest.keyFor(cli.rest.alice, 'all', 'exec') };
    const { out } = await podyard(['keys', 'create', 'narrow', '--json', '--scope', ...scopes], { env });
    const key = JSON.parse(out) as { scopes: string[] };
    expect(key.scopes).toEqual([
      `invoke/${id}`,
      `serverless/${id}:read`,
      `exec/${pod.id}`,
      `pods/${pod.id}:write`,
      'billing:read',
    ]);
    expect(await podyard(['keys', 'create', 'x', '--scope', 'invoke/Only Tihs'])).toMatchObject({
      status: 4,
      err: expect.stringContaining("Did you mean 'Only This'?"),
    });
    expect(await podyard(['keys', 'create', 'x', '--scope', 'invoke/box', '--user', 'alice'], asRoot)).toMatchObject({
      status: 2,
      err: expect.stringContaining('use the id'),
    });
  });
});

describe('an empty list says what to do next', () => {
  test.each([
    [['endpoints'], 'podyard endpoints create <name>'],
    [['pods'], 'podyard pods create <name>'],
    [['clusters'], 'podyard clusters create <name>'],
    [['templates'], 'podyard templates create <name>'],
    [['templates', 'public', '--source', 'community'], 'podyard templates update <template> --public'],
    [['secrets'], 'podyard secrets create <name>'],
    [['volumes'], 'podyard volumes create <name>'],
    [['registries'], 'podyard registries create <name>'],
    [['ssh-keys'], 'podyard ssh-keys add '],
    [['budgets'], 'podyard budgets set 250'],
    [['billing', '--last', '2'], '--last 90'],
    [['exec', '--sessions'], 'podyard exec <pod>'],
  ])('%j', async (args, words) => {
    const env = { PODYARD_API_KEY: cli.rest.bob.key };
    expect(await podyard(args, { env })).toMatchObject({ status: 0, out: '', err: expect.stringContaining(words) });
    expect(await podyard([...args, '--json'], { env })).toMatchObject({ status: 0, err: '' });
  });

  test('of what an endpoint has', async () => {
    await podyard(['endpoints', 'create', 'quiet', ...CREATES.endpoints]);
    const said = async (...args: string[]) => {
      const { out, err } = await podyard(args);
      return [out, err];
    };
    const next = async (words: string, ...args: string[]) =>
      expect([args, ...(await said(...args))]).toEqual([args, '', expect.stringContaining(words)]);
    await next('`podyard decisions quiet`', 'workers', 'quiet');
    await next('`podyard workers quiet`', 'workers', 'quiet', '--ended');
    await next('the first job or request', 'decisions', 'quiet');
    await next("`podyard run quiet '{…}'`", 'jobs', 'quiet');
    await next('No job of quiet matches', 'jobs', 'quiet', '--status', 'FAILED');
    await next('podyard endpoints schedule quiet --time-zone', 'endpoints', 'schedule', 'quiet');
    await next('`--range 30d` looks further back', 'history', 'quiet');
  });
});
