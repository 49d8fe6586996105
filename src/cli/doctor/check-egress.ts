import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { EgressUnavailable } from '../../config/egress.ts';
import { messageOf } from '../../core/errors.ts';
import type { Finding } from './finding.ts';

const what = 'egress';
const ALL = 'workers and pods reach all services of this machine and of its networks';

/** Checks whether this machine can limit what workloads reach, and whether the limits suit its users. */
export async function checkEgress(config: Config, hasEngine: boolean): Promise<Finding[]> {
  const limits = await (hasEngine ? checkRules(config) : checkProcesses(config));
  return [limits, ...(await checkUsers(config))];
}

/** Advises `internet` where users could reach each other's networks, and the operator's. */
export async function checkUsers(config: Config): Promise<Finding[]> {
  const users = config.egress.mode === 'internet' ? null : await findUserCount(config);
  if (users === null || users < 2) return [];
  const advice = 'Close private networks with --egress internet; open what workloads need with --egress-allow.';
  return [
    { what, verdict: 'note', found: `${users} users, whose code reaches the private networks of this machine`, advice },
  ];
}

async function checkProcesses({ egress: { mode, isExplicit } }: Config): Promise<Finding> {
  const found = `not limited: ${ALL}`;
  if (mode === 'all') return { what, verdict: 'ok', found };
  const advice = 'Processes cannot be limited: run a container engine.';
  return { what, verdict: isExplicit ? 'missing' : 'note', found, advice };
}

async function checkRules({ egress: { mode, isExplicit } }: Config): Promise<Finding> {
  if (mode === 'all') return { what, verdict: 'note', found: `${ALL}: --egress all` };
  const [{ Engine }, { findRunner }, { interfaceOf }, { runDirectly }] = await Promise.all([
    import('../../engine/engine.ts'),
    import('../../runtimes/docker/network/egress-guard.ts'),
    import('../../runtimes/docker/network/bridge-network.ts'),
    import('../../runtimes/docker/network/firewall.ts'),
  ]);
  const engine = new Engine(undefined);
  try {
    // Ours need not exist yet; the engine's own does, and is on the same machine.
    const request = { method: 'GET', path: '/networks/bridge' } as const;
    const { run } = await findRunner(
      engine,
      interfaceOf(await engine.json<Parameters<typeof interfaceOf>[0]>(request)),
    );
    return {
      what,
      verdict: 'ok',
      found: `${mode}, with iptables${run === runDirectly ? '' : ' in a container of the engine'}`,
    };
  } catch (error) {
    const isNeeded = !(error instanceof EgressUnavailable) || error.isPossible || isExplicit;
    const advice = `Install iptables, run Podyard as root, or accept with --egress all that ${ALL}.`;
    return {
      what,
      verdict: isNeeded ? 'missing' : 'note',
      found: `${mode} cannot be enforced: ${messageOf(error)}`,
      advice,
    };
  } finally {
    await engine.close();
  }
}

/** Returns null where no database answers, or it has no users yet. */
async function findUserCount({ databaseUrl, dataDir }: Config): Promise<number | null> {
  const url = databaseUrl ?? (await findEmbedded(dataDir));
  if (url === null) return null;
  const [{ createPool }, { countUsers }] = await Promise.all([
    import('../../db/pool.ts'),
    import('../../domain/access/users.ts'),
  ]);
  const pool = createPool({ databaseUrl: url, applicationName: 'podyard doctor', maxConnections: 1 });
  try {
    return await countUsers(pool);
  } catch {
    return null; // checkDatabase says why
  } finally {
    await pool.end();
  }
}

async function findEmbedded(dataDir: string): Promise<string | null> {
  const { findPostmaster } = await import('../../db/postmaster.ts');
  const found = await realpath(join(dataDir, 'postgres')).then(findPostmaster, () => null);
  if (found?.state !== 'running') return null;
  return `postgresql:///podyard?host=${encodeURIComponent(found.socketDir)}&user=podyard`;
}
