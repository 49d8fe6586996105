import type { CliOutput, CommandOutput } from '../cli-pieces.ts';
import type { ApiClient } from './api-client.ts';

interface Rollout {
  inProgress: boolean;
  workersOnLatest: number;
  workersTotal: number;
  percentOnLatest: number;
  paused: boolean;
}

interface Releases {
  endpointVersion: number;
  releases: { id: string; version: number }[];
}

const BAR_WIDTH = 30;

/** Rolls back to a version, or to the one before the newest. */
export async function rollBack(
  client: ApiClient,
  endpointId: string,
  version: number | undefined,
  output: CliOutput,
): Promise<void> {
  const path = `/v2/serverless/${endpointId}`;
  const { releases, endpointVersion } = await client.call<Releases>('GET', `${path}/releases`);
  const wanted = releases.find((release) => release.version === (version ?? endpointVersion - 1));
  if (!wanted) {
    const known = releases.map((release) => release.version).join(', ');
    throw new Error(
      version === undefined ? 'there is no release before the newest' : `there is no release ${version}, but: ${known}`,
    );
  }
  await client.call('POST', `${path}/releases/${wanted.id}/rollback`);
  output.note(`Release ${endpointVersion + 1} has the settings of release ${wanted.version}.`);
}

/** Shows a progress bar until every worker runs the newest version or the roll-out is paused. */
export async function watchRollout(client: ApiClient, endpointId: string, output: CommandOutput): Promise<void> {
  for await (const data of client.events(`/v2/serverless/${endpointId}/live`)) {
    const { rollout, endpointVersion } = JSON.parse(data) as { rollout: Rollout; endpointVersion: number };
    const done = Math.round((BAR_WIDTH * rollout.percentOnLatest) / 100);
    const bar = '#'.repeat(done).padEnd(BAR_WIDTH, '.');
    output.terminal.progress(
      `[${bar}] ${rollout.workersOnLatest} of ${rollout.workersTotal} workers on version ${endpointVersion}`,
    );
    if (rollout.inProgress && !rollout.paused) continue;
    output.terminal.progress('');
    const outcome = rollout.paused ? 'The roll-out is paused' : `Version ${endpointVersion} is rolled out`;
    output.note(`${outcome}: ${rollout.workersOnLatest} of ${rollout.workersTotal} workers run it.`);
    return;
  }
}
