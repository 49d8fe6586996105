import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { writeMachineState } from '../../domain/machine-models/machine-model-store.ts';

const PATH = '/v2/account/installation';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());

test('returns what the installation runs on, the same for every account', async () => {
  const [alice, bob] = await Promise.all([rest.alice, rest.bob].map(({ key }) => rest.call('GET', PATH, { key })));
  expect(alice!.statusCode).toBe(200);
  expect(alice!.json()).toEqual({
    id: 'installation',
    version: '1.2.3',
    runtime: 'simulated',
    isolation: true,
    gpus: 'SIMULATED',
    freeze: 'STOPPED',
    sleep: 'COOPERATIVE',
    buildHindrance: null,
    notices: ['No worker really runs'],
    problems: [],
  });
  expect(bob!.body).toBe(alice!.body);
});

test('what is out of order is for admins', async () => {
  await rest.database.pool.query("update users set role = 'ADMIN' where id = $1", [rest.bob.userId]);
  expect((await rest.call('GET', PATH, { key: rest.bob.key })).json().problems).toEqual(['GPU 1 does not answer']);
  const write = (stuckBytes: number) =>
    writeMachineState(rest.database.pool, {
      ...{ stored: [], fetching: [] },
      room: { budgetBytes: 10e9, usedBytes: 9e9, stuckBytes },
    });
  await write(7.9e9);
  expect((await rest.call('GET', PATH, { key: rest.bob.key })).json().problems).toHaveLength(1);
  await write(8e9);
  expect((await rest.call('GET', PATH, { key: rest.bob.key })).json().problems[1]).toBe(
    'Models that are pinned or in use take 80 % of the 10.0 GB for models (--models-gb): unpin some, or others soon do not fit',
  );
});

test('it needs a key that may read the account', async () => {
  expect((await rest.call('GET', PATH)).statusCode).toBe(401);
  const key = await rest.keyFor(rest.alice, 'invoke');
  expect((await rest.call('GET', PATH, { key })).statusCode).toBe(403);
});
