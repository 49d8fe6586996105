import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { BalancedEndpoint } from '../../test/balanced-endpoint.ts';
import { monotonicClock, systemClock } from '../core/clock.ts';
import type { UserId } from '../core/ids.ts';
import { TeamRing } from '../domain/access/team-ring.ts';
import { EndpointDirectory } from './endpoint-directory.ts';
import { UserDirectory } from './user-directory.ts';

let endpoint: BalancedEndpoint;
let owner: UserId;
beforeAll(async () => {
  endpoint = await BalancedEndpoint.create();
  owner = (await endpoint.sql('select user_id from endpoints'))[0].user_id;
});
afterAll(() => endpoint.close());

test("somebody else's endpoint costs the same queries as a missing one, however well it is known", async () => {
  const { bus, database, id } = endpoint;
  const deps = { pool: database.pool, bus, monotonic: monotonicClock };
  const teams = new TeamRing({ ...deps, clock: systemClock });
  const directory = new EndpointDirectory({ ...deps, users: new UserDirectory(deps), teams });
  await teams.teamsOf('stranger' as UserId);
  const queries = vi.spyOn(database.pool, 'query');
  const queriesFor = async (endpointId: string) => {
    queries.mockClear();
    expect(await directory.findReachable(endpointId, 'stranger' as UserId)).toBeUndefined();
    return queries.mock.calls.map(([query]) => (query as unknown as { name: string }).name);
  };
  const forMissing = await queriesFor('missing');
  expect(await queriesFor(id)).toEqual(forMissing);
  expect(await directory.findReachable(id, owner)).toMatchObject({ id, userId: owner });
  expect(directory.findReachable(id, owner)).toMatchObject({ id }); // cached, without a promise
  expect(await queriesFor(id)).toEqual(forMissing);
  expect(await queriesFor('missing')).toEqual(forMissing);
  queries.mockRestore();
});
