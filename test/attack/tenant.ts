import { systemClock } from '../../src/core/clock.ts';
import type { UserId } from '../../src/core/ids.ts';
import { createPool } from '../../src/db/pool.ts';
import { createApiKey } from '../../src/domain/access/create-api-key.ts';
import { parseScope } from '../../src/domain/access/scopes.ts';
import { createUser } from '../../src/domain/access/users.ts';
import { change } from '../../src/domain/change.ts';
import type { ServerProcess } from '../e2e/server-process.ts';

/** A user of a real server, with a key that may do everything of theirs, open terminals and use files too. */
export interface Tenant {
  userId: UserId;
  key: string;
}

export async function createTenant(server: ServerProcess, name: string): Promise<Tenant> {
  const pool = createPool({
    databaseUrl: await server.databaseUrl(),
    applicationName: 'podyard test',
    maxConnections: 1,
  });
  try {
    const user = await createUser(pool, { name, email: null });
    const context = { pool, bus: { publish: () => {} }, clock: systemClock };
    const scopes = ['all', 'exec', 'files:write'].map(parseScope);
    const { secret } = await change(context, null, createApiKey, { userId: user.id, name, scopes, expiresAt: null });
    return { userId: user.id, key: secret };
  } finally {
    await pool.end();
  }
}
