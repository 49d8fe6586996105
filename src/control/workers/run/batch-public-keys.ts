import { Batcher } from '../../../core/batcher.ts';
import type { UserId } from '../../../core/ids.ts';
import type { Pool } from '../../../db/pool.ts';
import { listPublicKeys } from '../../../domain/access/public-keys.ts';

/** Returns a batcher that reads users' SSH public keys: workers that start at the same moment share a statement. */
export function batchPublicKeys(pool: Pool): Batcher<UserId, string> {
  return new Batcher({
    lanes: 2,
    maxSize: 500,
    isCallFault: () => false,
    flush: async (ids) => {
      const keys = await listPublicKeys(pool, [...new Set(ids)]);
      return ids.map((id) => keys.get(id) ?? '');
    },
  });
}
