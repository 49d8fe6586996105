import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { readConfig } from '../config/config.ts';
import { EgressUnavailable } from '../config/egress.ts';
import { createUser } from '../domain/access/users.ts';
import type { EgressGuard } from '../runtimes/docker/network/egress-guard.ts';
import { prepareEgress } from './limit-egress.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await createUser(database.pool, { name: 'first', email: null });
});
afterAll(() => database.drop());

/** A guard that cannot set rules. */
function unable(isPossible: boolean) {
  const guard = {
    hasGivenUp: false,
    prepare: async () => {
      throw new EgressUnavailable('iptables: Permission denied', isPossible);
    },
    giveUp: () => {
      guard.hasGivenUp = true;
    },
  };
  return guard;
}

function prepare(egress: string | undefined, guard: object | null, name: 'docker' | 'process' = 'docker') {
  const config = readConfig(egress === undefined ? {} : { egress }, {});
  return prepareEgress(config, { runtime: { name } as never, guard: guard as EgressGuard | null }, database.pool);
}

test('where rules could be set with other rights, a server does not start', async () => {
  const text = '--egress lan cannot be enforced here (iptables: Permission denied)';
  await expect(prepare(undefined, unable(true))).rejects.toThrow(text);
  await expect(prepare('internet', unable(true))).rejects.toThrow('with --egress all');
});

test('where no rules are possible, one user may go on with a warning, unless a mode was named', async () => {
  const guard = unable(false);
  expect(await prepare(undefined, guard)).toEqual([
    expect.stringContaining('WARNING: --egress lan cannot be enforced'),
  ]);
  expect(guard.hasGivenUp).toBe(true);
  await expect(prepare('lan', unable(false))).rejects.toThrow('cannot be enforced here');
  await createUser(database.pool, { name: 'second', email: null });
  await expect(prepare(undefined, unable(false))).rejects.toThrow('cannot be enforced here');
});

test('with --egress all a server starts even where nothing keeps workloads apart, and says so', async () => {
  const guard = unable(true);
  expect(await prepare('all', guard)).toEqual([expect.stringContaining('they reach each other')]);
  expect(guard.hasGivenUp).toBe(true);
});

test('processes cannot be limited: naming a mode ends the start', async () => {
  expect(await prepare(undefined, null, 'process')).toEqual([]);
  expect(await prepare('all', null, 'process')).toEqual([]);
  await expect(prepare('internet', null, 'process')).rejects.toThrow('--egress internet: processes cannot be limited');
});
