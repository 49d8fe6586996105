import type { Config } from '../config/config.ts';
import { EgressUnavailable } from '../config/egress.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import { countUsers } from '../domain/access/users.ts';
import { updateAddresses } from '../domain/workers/serving-workers.ts';
import type { EgressGuard } from '../runtimes/docker/network/egress-guard.ts';
import type { Runtime } from '../runtimes/runtime.ts';

/**
 * Prepares what `--egress` asks for and returns what operators should know. Throws a sentence where it cannot be had, except on a machine
 * that cannot have it, with one user and no `--egress`: there it is as safe as running the code oneself.
 */
export async function prepareEgress(
  { egress: { mode, isExplicit } }: Config,
  { runtime, guard }: { runtime: Runtime; guard: EgressGuard | null },
  pool: Pool,
): Promise<string[]> {
  if (runtime.name === 'process' && isExplicit && mode !== 'all') {
    throw new Error(`--egress ${mode}: processes cannot be limited: use docker or kubernetes, or --egress all`);
  }
  if (guard === null) return [];
  try {
    await guard.prepare();
    return [];
  } catch (error) {
    if (!(error instanceof EgressUnavailable)) throw error;
    if (mode === 'all') {
      guard.giveUp();
      return [
        `WARNING: the engine does not keep workers and pods apart, nor can Podyard (${error.message}): they reach each other`,
      ];
    }
    const sentence = `--egress ${mode} cannot be enforced here (${error.message})`;
    if (error.isPossible || isExplicit || (await countUsers(pool)) > 1) {
      const advice =
        'see "Egress" in docs/guide/security.md, or accept that workloads reach all of this machine\'s services';
      throw new Error(`${sentence}: ${advice} with --egress all`);
    }
    guard.giveUp();
    return [`WARNING: ${sentence}: workers and pods can reach all services of this machine`];
  }
}

/** Moves workloads that ran under other settings, before the worker API listens. They serve again at their new addresses. */
export async function moveWorkloads(
  guard: EgressGuard,
  { runtime, pool, bus }: { runtime: Runtime; pool: Pool; bus: Pick<Bus, 'publish'> },
): Promise<void> {
  const moved = await guard.moveWorkloads();
  if (moved.length === 0) return;
  await updateAddresses(
    pool,
    (await runtime.list()).filter(({ id }) => moved.includes(id)),
  );
  for (const id of moved) bus.publish('worker', id);
}

/** Limits workloads from now on. `workerApiUrl`: what stays open. */
export async function startEgress(guard: EgressGuard, workerApiUrl: string): Promise<void> {
  const { hostname, port } = new URL(workerApiUrl);
  await guard.start({ host: hostname, port: Number(port) });
}
