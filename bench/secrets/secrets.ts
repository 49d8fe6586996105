import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newMasterKey } from '../../src/core/master-key.ts';
import { createSecretBox, type SecretBox } from '../../src/core/secret-box.ts';
import { migrate } from '../../src/db/migrate.ts';
import { createPool, type Pool } from '../../src/db/pool.ts';
import type { Actor } from '../../src/domain/access/actor.ts';
import { createUser } from '../../src/domain/access/users.ts';
import { change } from '../../src/domain/change.ts';
import { createSecret } from '../../src/domain/secrets/change-secret.ts';
import { resolveSecrets } from '../../src/domain/secrets/resolve-secrets.ts';
import { readOptions } from '../options.ts';
import { Latencies, type Percentiles } from '../queue/latencies.ts';
import { startPostgres } from '../queue/postgres.ts';
import { renderTable } from '../queue/table.ts';
import { describeMachine, writeResults } from '../results.ts';

/** `cpuMs`: CPU of this process per call; other programs on the machine do not change it. */
type Cost = Percentiles & { cpuMs: number };

/** The secrets that one container references. */
const NAMED = 50;
const names = Array.from({ length: NAMED }, (_, i) => `team/token.${i}`);
const env = Object.fromEntries(names.map((name, i) => [`TOKEN_${i}`, `Bearer {{ RUNPOD_SECRET_${name} }}`]));

/** `node bench/main.ts secrets`: see bench/README.md. Prints a table, writes JSON. */
export async function benchSecrets(args: string[]): Promise<void> {
  const values = readOptions(args, {
    rounds: { type: 'string', default: '3' },
    starts: { type: 'string', default: '500' },
  });
  const tempDir = await mkdtemp(join(tmpdir(), 'podyard-bench-'));
  const postgres = await startPostgres(join(tempDir, 'shared'));
  const databaseUrl = await postgres.createDatabase('secrets');
  const pool = createPool({ databaseUrl, applicationName: 'bench', maxConnections: 4 });
  try {
    const startedAt = new Date().toISOString();
    const secretBox = createSecretBox(newMasterKey());
    const actor = await fill(pool, secretBox);
    const resolve = () => resolveSecrets({ pool, secretBox }, actor.userId, env);
    const rounds: { resolve: Cost; bare: Cost }[] = [];
    for (let round = 0; round < Number(values.rounds); round++) {
      const starts = Number(values.starts);
      rounds.push({ resolve: await measure(resolve, starts), bare: await measure(() => bare(pool, actor), starts) });
    }
    process.stdout.write(
      renderTable([['', 'p50 ms', 'p99 ms', 'CPU ms'], row('resolve 50 secrets', 'resolve'), row('bare', 'bare')]),
    );
    const report = { startedAt, machine: describeMachine(tempDir), rounds };
    await writeResults('secrets', report);

    function row(name: string, of: 'resolve' | 'bare'): string[] {
      const best = (pick: (one: Cost) => number) => Math.min(...rounds.map((one) => pick(one[of]))).toFixed(2); // the least disturbed round
      return [name, best(({ p50 }) => p50), best(({ p99 }) => p99), best(({ cpuMs }) => cpuMs)];
    }
  } finally {
    await pool.end();
    await postgres.stop();
    await rm(tempDir, { recursive: true, force: true });
  }
}

/** Creates the referenced secrets of one user among many others, and a plain copy of all values for the bare query. */
async function fill(pool: Pool, secretBox: SecretBox): Promise<Actor> {
  await migrate(pool);
  const { id: userId } = await createUser(pool, { name: 'bench', email: null });
  const actor: Actor = { userId, keyId: 'bench' as never, scopes: [{ kind: 'all' }] };
  const context = { pool, bus: { publish: () => {} }, secretBox };
  for (const name of names)
    await change(context, actor, createSecret, { name, value: 'x'.repeat(40), description: null });
  await pool.query(
    `insert into secrets (id, user_id, name, value) select 'other' || i, $1, 'other' || i, '\\x02' from generate_series(1, 10000) i`,
    [userId],
  );
  await pool.query('create table bare as select id, user_id, name, value from secrets');
  await pool.query('create unique index on bare (user_id, name)');
  await pool.query('analyze');
  return actor;
}

/** The peer: reads the same values unencrypted. */
async function bare(pool: Pool, { userId }: Actor): Promise<unknown> {
  return pool.query({
    name: 'bare',
    text: 'select id, name, value from bare where user_id = $1 and name = any($2::text[])',
    values: [userId, names],
  });
}

/** Runs the calls one after another, as starts on one machine mostly are. */
async function measure(once: () => Promise<unknown>, times: number): Promise<Cost> {
  for (let i = 0; i < 50; i++) await once();
  const latencies = new Latencies();
  const cpu = process.cpuUsage();
  for (let i = 0; i < times; i++) {
    const startedAt = performance.now();
    await once();
    latencies.add(performance.now() - startedAt);
  }
  const { user, system } = process.cpuUsage(cpu);
  return { ...latencies.percentiles()!, cpuMs: (user + system) / 1000 / times };
}
