import type { ApiClient } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';
import type { CliOutput, CommandOutput } from '../shared/cli-pieces.ts';
import { jsonText } from '../terminal/terminal-text.ts';

const BAR_WIDTH = 30;

/** Rolls back to a version, or to the one before the newest. */
export async function rollBack(
  client: ApiClient,
  endpointId: string,
  version: number | undefined,
  { json, wait }: { json?: boolean; wait?: boolean },
  output: CliOutput,
): Promise<void> {
  const path = { id: endpointId };
  const { releases, endpointVersion } = await client.call('get', '/v2/serverless/{id}/releases', { path });
  const wanted = releases.find((release) => release.version === (version ?? endpointVersion - 1));
  if (!wanted) {
    const known = releases.map((release) => release.version).join(', ');
    throw new Error(
      version === undefined ? 'there is no release before the newest' : `there is no release ${version}, but: ${known}`,
    );
  }
  const release = { ...path, releaseId: wanted.id };
  await client.call('post', '/v2/serverless/{id}/releases/{releaseId}/rollback', { path: release });
  output.note(`Release ${endpointVersion + 1} has the settings of release ${wanted.version}.`);
  if (json && !wait) output.print(jsonText({ endpointVersion: endpointVersion + 1, settingsOf: wanted.version }));
}

/** The parts of an endpoint's live state that a roll-out shows. */
interface Snapshot {
  rollout: Schemas['Rollout'];
  endpointVersion: number;
  workers: Pick<Schemas['Worker'], 'version' | 'status' | 'reason'>[];
}

/**
 * Shows a progress bar and what the roll-out waits for, until every worker runs the newest version or the roll-out is paused.
 * Throws when workers of the newest version fail and none runs.
 */
export async function watchRollout(
  client: ApiClient,
  endpointId: string,
  output: CommandOutput,
  { json }: { json?: boolean } = {},
): Promise<void> {
  let noted = '';
  for await (const data of client.events(`/v2/serverless/${endpointId}/live`)) {
    const snapshot = JSON.parse(data) as Snapshot;
    const { rollout, endpointVersion } = snapshot;
    const counts = `${rollout.workersOnLatest} of ${rollout.workersTotal} workers`;
    if (!rollout.inProgress || rollout.paused) {
      output.terminal.progress('');
      const outcome = rollout.paused ? 'The roll-out is paused' : `Version ${endpointVersion} is rolled out`;
      output.note(`${outcome}: ${counts} run it.`);
      if (json) output.print(jsonText({ endpointVersion, ...rollout }));
      return;
    }
    const failure = failureOf(snapshot);
    if (failure !== null) {
      output.terminal.progress('');
      throw new Error(`version ${endpointVersion} is not rolled out: ${failure}`);
    }
    const waitsFor = describeWait(snapshot);
    const done = Math.round((BAR_WIDTH * rollout.percentOnLatest) / 100);
    const bar = '#'.repeat(done).padEnd(BAR_WIDTH, '.');
    output.terminal.progress(`[${bar}] ${counts} on version ${endpointVersion}; ${waitsFor}`);
    if (!output.terminal.isInteractive && waitsFor !== noted) output.note(`${counts} run it; ${waitsFor}`);
    noted = waitsFor;
  }
}

/** Returns why the newest release does not start; null while it may. */
function failureOf({ rollout, endpointVersion, workers }: Snapshot): string | null {
  if (rollout.workersOnLatest > 0) return null;
  const failing = workers.find(({ version, status }) => version === endpointVersion && status === 'UNHEALTHY');
  return failing ? (failing.reason ?? 'its workers are unhealthy') : null;
}

function describeWait({ endpointVersion, workers }: Snapshot): string {
  const waiting = workers.filter(({ version, status }) => {
    return version === endpointVersion && (status === 'THROTTLED' || status === 'INITIALIZING');
  });
  const throttled = waiting.find(({ status }) => status === 'THROTTLED');
  if (throttled) return `a new worker waits: ${throttled.reason}`;
  if (waiting.length > 0) return 'a new worker starts';
  return workers.some(({ version }) => version === endpointVersion)
    ? 'old workers finish their jobs'
    : 'a new worker is to start';
}
