import { expect, test } from 'vitest';
import { readConfig } from '../../config/config.ts';
import type { Pool } from '../../db/pool.ts';
import type { Installation } from '../../domain/installation.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import { reserveWorkerApi } from './worker-listener.ts';

test('an engine whose bridge is not on this machine is refused, with what must be changed', async () => {
  const bridge = { bind: '192.0.2.1', host: '192.0.2.1' }; // no machine has it (RFC 5737)
  const runtime = { workerApiAddress: async () => bridge } as unknown as Runtime;
  const installation = { workerApiPort: 0 } as Installation;
  const reserved = reserveWorkerApi(readConfig({}, {}), { pool: {} as Pool, installation, runtime });
  await expect(reserved).rejects.toThrow(
    /no address \(192\.0\.2\.1\).*must run where the container engine's bridge is/,
  );
});
