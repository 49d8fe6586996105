import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../test/rest-app.ts';

/** docs/interface/graphql.md, "Catalogue, volumes, registries and account". */
let rest: RestFixture;
const RTX_4090 = 'NVIDIA GeForce RTX 4090';

beforeAll(async () => {
  const gpu = { pool: 'ADA_24', gpuTypeId: RTX_4090, dataCenterId: 'LOCAL-1', total: 4, free: 4 };
  const stock = { gpus: [gpu], cpus: 16, memoryBytes: 64 * 2 ** 30 };
  rest = await startRestApp({ capacity: { read: async () => stock } });
});
afterAll(() => rest.close());

const ask = (query: string, variables: object = {}, key = rest.alice.key) => rest.graphql(query, { key, variables });
const codes = ({ errors }: Awaited<ReturnType<typeof ask>>) => errors?.map(({ extensions }) => extensions.code);

describe('the catalogue', () => {
  test('lists GPU types with prices and stock', async () => {
    const { data, errors } = await ask(
      `query ($input: GpuTypeFilter, $price: GpuLowestPriceInput) { gpuTypes(input: $input) {
         id displayName manufacturer memoryInGb cudaCores secureCloud communityCloud securePrice communityPrice maxGpuCount
         lowestPrice(input: $price) { minimumBidPrice uninterruptablePrice stockStatus } } }`,
      { input: { id: RTX_4090 }, price: { gpuCount: 2 } },
    );
    expect(errors).toBeUndefined();
    expect(data.gpuTypes).toEqual([
      {
        id: RTX_4090,
        displayName: 'RTX 4090',
        manufacturer: 'NVIDIA',
        memoryInGb: 24,
        cudaCores: null,
        secureCloud: true,
        communityCloud: true,
        securePrice: expect.any(Number),
        communityPrice: expect.any(Number),
        maxGpuCount: expect.any(Number),
        lowestPrice: { minimumBidPrice: null, uninterruptablePrice: expect.any(Number), stockStatus: 'Medium' },
      },
    ]);
    const [gpu] = data.gpuTypes;
    expect(gpu.lowestPrice.uninterruptablePrice).toBe(Math.min(gpu.securePrice, gpu.communityPrice));
  });

  test('filters by ids; unavailable types have stock status None', async () => {
    const { data } = await ask(
      `{ gpuTypes(input: {ids: ["NVIDIA L4", "${RTX_4090}"]}) { id
           any: lowestPrice { stockStatus } many: lowestPrice(input: {gpuCount: 64}) { uninterruptablePrice stockStatus }
           elsewhere: lowestPrice(input: {dataCenterId: "EU-RO-1"}) { stockStatus }
           community: lowestPrice(input: {secureCloud: false}) { uninterruptablePrice } } }`,
    );
    const [l4, rtx] = [...data.gpuTypes].sort((a, b) => b.id.localeCompare(a.id));
    expect(l4).toMatchObject({
      id: 'NVIDIA L4',
      any: { stockStatus: 'None' },
      community: { uninterruptablePrice: null },
    });
    expect(rtx).toMatchObject({
      any: { stockStatus: 'High' },
      many: { uninterruptablePrice: null, stockStatus: 'None' },
      elsewhere: { stockStatus: 'None' },
    });
  });

  test('has CPU flavors, data centers and pools', async () => {
    const { data, errors } = await ask(
      `{ cpuFlavors(input: {id: "cpu3c"}) { id groupId displayName minVcpu maxVcpu ramMultiplier securePrice serverlessPrice stockStatus }
         dataCenters { id name location globalNetwork storageSupport compliance gpuAvailability { gpuTypeId displayName available stockStatus } }
         serverlessGpuPools { id gpuTypeIds } }`,
    );
    expect(errors).toBeUndefined();
    expect(data.cpuFlavors).toMatchObject([{ id: 'cpu3c', ramMultiplier: 2, stockStatus: 'High' }]);
    const local = data.dataCenters.find(({ id }: { id: string }) => id === 'LOCAL-1');
    expect(local.gpuAvailability).toEqual([
      { gpuTypeId: RTX_4090, displayName: 'RTX 4090', available: true, stockStatus: 'High' },
    ]);
    expect(data.serverlessGpuPools).toContainEqual({ id: 'ADA_24', gpuTypeIds: [RTX_4090] });
  });
});

test('volumes are created, enlarged, renamed, listed and deleted', async () => {
  const made = await ask(
    'mutation ($i: CreateNetworkVolumeInput!) { createNetworkVolume(input: $i) { id name size dataCenterId dataCenter { id name } } }',
    { i: { name: 'v', size: 10, dataCenterId: 'EU-RO-1' } },
  );
  const volume = made.data.createNetworkVolume;
  expect(volume).toMatchObject({ name: 'v', size: 10, dataCenterId: 'EU-RO-1', dataCenter: { id: 'EU-RO-1' } });
  const update = (input: object) =>
    ask('mutation ($i: UpdateNetworkVolumeInput!) { updateNetworkVolume(input: $i) { name size } }', {
      i: { id: volume.id, ...input },
    });
  expect((await update({ size: 20 })).data.updateNetworkVolume).toEqual({ name: 'v', size: 20 });
  expect((await update({ name: 'w', size: null })).data.updateNetworkVolume).toEqual({ name: 'w', size: 20 });
  for (const wrong of [{ size: 5 }, { size: 15 }, { size: 4097 }, { name: '' }]) {
    expect(codes(await update(wrong))).toEqual(['BAD_USER_INPUT']);
  }
  const list = await ask('{ myself { networkVolumes { id name size dataCenterId } } }');
  expect(list.data.myself.networkVolumes).toEqual([{ id: volume.id, name: 'w', size: 20, dataCenterId: 'EU-RO-1' }]);
  const remove = () => ask(`mutation { deleteNetworkVolume(input: {id: "${volume.id}"}) }`);
  expect(await remove()).toEqual({ data: { deleteNetworkVolume: null } });
  expect((await remove()).errors).toMatchObject([
    {
      message: 'delete network volume: Tried to delete nonexistent network volume',
      extensions: { code: 'NOT_FOUND' },
    },
  ]);
});

test('registry credentials are saved, replaced, listed by name and deleted, and never returned', async () => {
  const made = await ask(
    'mutation { saveRegistryAuth(input: {name: "hub", username: "u", password: "canary"}) { id name } }',
  );
  const { id } = made.data.saveRegistryAuth;
  const read = async () => {
    const { rows } = await rest.database.pool.query('select username, password from registries where id = $1', [id]);
    return { clear: rows[0].username, sealed: JSON.parse(rest.secretBox.open(rows[0].password, id)) };
  };
  expect(await read()).toEqual({ clear: '', sealed: { username: 'u', password: 'canary' } });
  const changed = await ask('mutation ($i: UpdateRegistryAuthInput!) { updateRegistryAuth(input: $i) { id name } }', {
    i: { id, username: 'u2', password: 'canary2' },
  });
  expect(changed.data.updateRegistryAuth).toEqual({ id, name: 'hub' });
  expect(await read()).toEqual({ clear: '', sealed: { username: 'u2', password: 'canary2' } });
  const list = await ask('{ myself { containerRegistryCreds { id name } } }');
  expect(list.data.myself.containerRegistryCreds).toEqual([{ id, name: 'hub' }]);
  for (const answer of [made, changed, list]) expect(JSON.stringify(answer)).not.toContain('canary');
  const empty = await ask('mutation { saveRegistryAuth(input: {name: "hub", username: "u", password: ""}) { id } }');
  expect(empty.errors).toMatchObject([{ message: 'password: must not be empty' }]);
  const remove = () => ask(`mutation { deleteRegistryAuth(registryAuthId: "${id}") }`);
  expect(await remove()).toEqual({ data: { deleteRegistryAuth: null } });
  expect(codes(await remove())).toEqual(['NOT_FOUND']);
});

test('myself returns the account, its spend and its public keys', async () => {
  const keys = 'ssh-ed25519 AAAA one\nssh-rsa BBBB two\n';
  const update = await ask('mutation ($i: UpdateUserSettingsInput) { updateUserSettings(input: $i) { id pubKey } }', {
    i: { pubKey: keys },
  });
  expect(update.data.updateUserSettings).toEqual({ id: rest.alice.userId, pubKey: keys });
  const me = () => ask('{ myself { id email pubKey clientBalance currentSpendPerHr } }');
  const before = (await me()).data.myself;
  expect(before).toMatchObject({ id: rest.alice.userId, email: null, pubKey: keys, clientBalance: 0 });
  await rest.database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, gpu_type_id, gpu_count, started_at)
     values ('spending', 'gone', $1, 1, 'test', '{}', 'RUNNING', $2, 2, now() - interval '1 minute')`,
    [rest.alice.userId, RTX_4090],
  );
  const [rtx] = (await ask(`{ gpuTypes(input: {id: "${RTX_4090}"}) { securePrice } }`)).data.gpuTypes;
  expect((await me()).data.myself.currentSpendPerHr - before.currentSpendPerHr).toBeCloseTo(2 * rtx.securePrice);
  expect((await ask('{ myself { currentSpendPerHr } }', {}, rest.bob.key)).data.myself.currentSpendPerHr).toBe(0);
});
