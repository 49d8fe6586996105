import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { WorkerId } from '../../core/ids.ts';
import { type OrderKind, orderWorkers } from './order-workers.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const ORDERS: Record<OrderKind, { reaches: string[]; wanted: string }> = {
  drain: { reaches: ['RUN', 'FREEZE'], wanted: 'DRAIN' },
  stop: { reaches: ['RUN', 'FREEZE', 'DRAIN'], wanted: 'STOP' },
  freeze: { reaches: ['RUN'], wanted: 'FREEZE' },
  thaw: { reaches: ['FREEZE'], wanted: 'RUN' },
};

test.each(Object.entries(ORDERS))(
  '%s reaches the workers for which it makes a difference, with the reason of each',
  async (kind, { reaches, wanted }) => {
    await database.pool.query('delete from workers');
    await database.pool.query(
      `insert into workers (id, endpoint_id, user_id, version, wanted, wanted_reason, spec, phase, ready_at)
     select w, 'e', 'u', 1, w, 'before', '{}', 'RUNNING', now() from unnest('{RUN,FREEZE,DRAIN,STOP}'::text[]) w`,
    );
    const orders = ['RUN', 'FREEZE', 'DRAIN', 'STOP', 'none'].map((id) => ({
      id: id as WorkerId,
      cause: 'IDLE' as const,
      reason: `why ${id}`,
    }));
    expect(await orderWorkers(database.pool, kind as OrderKind, orders)).toEqual(new Set(reaches));
    const { rows } = await database.pool.query('select id, wanted, wanted_reason as reason from workers order by id');
    expect(rows).toEqual(
      ['DRAIN', 'FREEZE', 'RUN', 'STOP'].map((id) =>
        reaches.includes(id) ? { id, wanted, reason: `why ${id}` } : { id, wanted: id, reason: 'before' },
      ),
    );
  },
);

test('concurrent orders for the same workers, each given in another order, never deadlock', async () => {
  const ids = Array.from({ length: 300 }, (_, n) => `w${n}` as WorkerId);
  await database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, ready_at)
     select w, 'e', 'u', 1, 'before', '{}', 'RUNNING', now() from unnest($1::text[]) w`,
    [ids],
  );
  const kinds: OrderKind[] = ['freeze', 'thaw', 'freeze', 'thaw', 'freeze', 'thaw', 'drain', 'stop'];
  const reached = await Promise.all(
    kinds.map(async (kind, n) => {
      const orders = ids.map((id) => ({ id, cause: 'IDLE' as const, reason: kind }));
      const client = await database.pool.connect(); // fails at a deadlock, which the pool would retry
      const order = orderWorkers(client, kind, n % 2 === 0 ? orders : orders.reverse());
      return order.finally(() => client.release());
    }),
  );
  expect(reached.at(-1)).toEqual(new Set(ids));
});
