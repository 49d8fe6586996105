import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ownEverything, PLENTY } from '../../../test/owned-things.ts';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import type { SecretId } from '../../core/ids.ts';
import { findUser } from '../access/users.ts';
import { resolveSecrets } from '../secrets/resolve-secrets.ts';
import { removeUser } from './remove-user.ts';
import { planTransfer } from './transfer-records.ts';

let rest: RestFixture;
let admin: Person;
let dora: Person;
let emil: Person;
let number = 0;
beforeAll(async () => {
  rest = await startRestApp({ capacity: PLENTY });
  admin = await rest.addPerson('admin');
});
afterAll(() => rest.close());
beforeEach(async () => {
  number += 1;
  dora = await rest.addPerson(`dora ${number}`);
  emil = await rest.addPerson(`emil ${number}`);
});

const USERS = '/v2/account/users';
const handOver = (from: Person, to: Person, key = admin.key) =>
  rest.call('DELETE', `${USERS}/${from.userId}?handOverTo=${to.userId}`, { key });
const plan = (from: Person, to: Person) =>
  rest.call('GET', `${USERS}/${from.userId}/removal?handOverTo=${to.userId}`, { key: admin.key });
const get = async (path: string, { key }: Person) => (await rest.call('GET', `/v2/${path}`, { key })).json();
const step = (from: Person) => removeUser({ pool: rest.database.pool, bus: rest.bus }, from.userId);

test('everything but the keys is the other user’s at once, with its ids, and runs on', async () => {
  const owned = await ownEverything(rest, dora);
  const before = await get(`serverless/${owned.endpoint}`, dora);
  expect((await handOver(dora, emil)).statusCode).toBe(202);
  expect(await get(`serverless/${owned.endpoint}`, emil)).toEqual(before);
  for (const path of [
    `pods/${owned.pod}`,
    `templates/${owned.template}`,
    `network-volumes/${owned.volume}`,
    `registries/${owned.registry}`,
    `account/secrets/${owned.secret}`,
    `serverless/${owned.endpoint}/workers/${owned.worker}`,
  ]) {
    expect([path, (await get(path, emil)).id]).toEqual([path, expect.any(String)]);
  }
  expect((await get('registries/delegations', emil)).delegations).toHaveLength(1);
  expect((await get('account/api-keys', emil)).apiKeys).toHaveLength(1);
  const { pool, secretBox } = { pool: rest.database.pool, secretBox: rest.secretBox };
  expect(await resolveSecrets({ pool, secretBox }, emil.userId, { T: '{{ RUNPOD_SECRET_TOKEN }}' })).toEqual({
    T: 'own value',
  });
  const workloads = await pool.query(
    `select user_id from workers where id = $1 union all select user_id from api_keys where id = $1
     union all select user_id from pod_runs where pod_id = $2`,
    [owned.worker, owned.pod],
  );
  expect(workloads.rows).toEqual(Array(3).fill({ user_id: emil.userId }));
  expect(await step(dora)).toBeNull();
  expect((await get(`pods/${owned.pod}`, emil)).status).toBe('PROVISIONING');
  expect((await rest.call('GET', '/v2/pods', { key: dora.key })).statusCode).toBe(401);
});

test('a name that the other user has gets the former user’s; references to a secret follow, in what runs as well', async () => {
  const [owned, others] = [await ownEverything(rest, dora, 'of dora'), await ownEverything(rest, emil, 'of emil')];
  const to = `TOKEN_dora_${number}`;
  const renamed = [
    { kind: 'template', id: owned.template, from: 'shared name', to: `shared name (dora ${number})` },
    { kind: 'secret', id: owned.secret, from: 'TOKEN', to },
  ];
  expect((await plan(dora, emil)).json()).toMatchObject({ renamed, exceeded: [], owned: { endpoints: 1, pods: 1 } });
  await handOver(dora, emil);
  const env = { TOKEN: `{{ RUNPOD_SECRET_${to} }}`, PLAIN: 'of dora' };
  for (const path of [`serverless/${owned.endpoint}`, `pods/${owned.pod}`, `templates/${owned.template}`]) {
    expect((await get(path, emil)).env).toEqual(env);
  }
  expect((await get(`serverless/${others.endpoint}`, emil)).env.TOKEN).toBe('{{ RUNPOD_SECRET_TOKEN }}');
  const { pool } = rest.database;
  const specs = await pool.query(
    `select spec -> 'env' as env from releases where endpoint_id = $1
     union all select spec -> 'env' from workers where endpoint_id = $1`,
    [owned.endpoint],
  );
  expect(specs.rows).toEqual([{ env }, { env }]);
  const values = await resolveSecrets({ pool, secretBox: rest.secretBox }, emil.userId, {
    dora: env.TOKEN,
    emil: '{{ RUNPOD_SECRET_TOKEN }}',
  });
  expect(values).toEqual({ dora: 'of dora value', emil: 'of emil value' });
  const secrets = (await get('account/secrets', emil)).secrets as { id: SecretId; name: string }[];
  expect(secrets.map(({ name }) => name).sort()).toEqual(['TOKEN', to]);
});

test('a limit of the other user that is too low refuses it, and nothing is handed over', async () => {
  const owned = await ownEverything(rest, dora);
  await ownEverything(rest, emil);
  const limits = { key: admin.key, body: { pods: 1, gpus: 3 } };
  await rest.call('PATCH', `${USERS}/${emil.userId}/limits`, limits);
  const exceeded = [
    "the limit 'pods' allows 1 pods; 1 are in use, and this needs 1 more",
    "the limit 'gpus' allows 3 GPUs at once; 2 are in use, and this needs 2 more",
  ];
  expect((await plan(dora, emil)).json().exceeded).toEqual(exceeded);
  const refused = await handOver(dora, emil);
  expect([refused.statusCode, refused.json().detail]).toEqual([
    409,
    `'emil ${number}' cannot take this over: ${exceeded.join('; ')}: raise the limit first`,
  ]);
  expect((await get(`pods/${owned.pod}`, dora)).name).toBe('own');
  await rest.call('PATCH', `${USERS}/${emil.userId}/limits`, { key: admin.key, body: { pods: 2, gpus: null } });
  expect((await handOver(dora, emil)).statusCode).toBe(202);
});

test('who does not exist, is suspended or is the same user cannot take over', async () => {
  const same = await handOver(dora, dora);
  expect([same.statusCode, same.json().detail]).toEqual([
    409,
    `'dora ${number}' cannot be handed over to the same user`,
  ]);
  expect((await handOver(dora, { ...emil, userId: 'nobody' as never })).statusCode).toBe(404);
  await rest.call('POST', `${USERS}/${emil.userId}/suspend`, { key: admin.key, body: {} });
  expect((await handOver(dora, emil)).statusCode).toBe(409);
  expect((await get('account', dora)).id).toBe(dora.userId);
});

test('a worker that is added during a transfer ends up with the endpoint’s new owner', async () => {
  const { endpoint } = await ownEverything(rest, dora);
  await handOver(dora, emil);
  const { pool } = rest.database;
  await pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase)
     values ('late', $1, $2, 1, '', '{}', 'RUNNING')`,
    [endpoint, dora.userId],
  );
  expect(await step(dora)).toBeNull();
  expect((await pool.query("select user_id, wanted from workers where id = 'late'")).rows).toEqual([
    { user_id: emil.userId, wanted: 'RUN' },
  ]);
});

test('a plan that is read while the user is deleted finds no such user', async () => {
  const { pool } = rest.database;
  const [from, to] = [(await findUser(pool, dora.userId))!, (await findUser(pool, emil.userId))!];
  await rest.call('DELETE', `${USERS}/${dora.userId}`, { key: admin.key });
  expect(await step(dora)).toBeNull();
  await expect(planTransfer(pool, from, to)).rejects.toMatchObject({ kind: 'notFound' });
  await expect(planTransfer(pool, to, from)).rejects.toMatchObject({ kind: 'notFound' });
});
