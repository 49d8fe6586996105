import { type ApiClient, ApiRefusal, ReleaseFailed } from '../shared/api-client.ts';
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
      version === undefined ? 'there is no release before the newest' : `there is no version ${version}, but: ${known}`,
    );
  }
  const release = { ...path, releaseId: wanted.id };
  await client.call('post', '/v2/serverless/{id}/releases/{releaseId}/rollback', { path: release });
  output.note(`Version ${endpointVersion + 1} has the settings of version ${wanted.version}.`);
  if (json && !wait) output.print(jsonText({ endpointVersion: endpointVersion + 1, settingsOf: wanted.version }));
}

/** The parts of an endpoint's live state that a roll-out shows. */
interface Snapshot {
  rollout: Schemas['Rollout'];
  endpointVersion: number;
  workers: Pick<Schemas['Worker'], 'version' | 'status' | 'reason'>[];
}

export interface WaitOptions {
  json?: boolean;
  /** False: `--no-trial`. */
  trial?: boolean;
}

/** Asks for the trial of the newest release, or that there be none, and watches the roll-out. */
export async function proveRollout(
  client: ApiClient,
  endpoint: { id: string; name: string },
  output: CommandOutput,
  { trial = true, ...options }: WaitOptions = {},
): Promise<void> {
  const body = { action: trial ? 'try' : 'skip-trial' } as const;
  await client.call('post', '/v2/serverless/{id}/rollout', { path: { id: endpoint.id }, body });
  await watchRollout(client, endpoint, output, options);
}

/**
 * Shows a progress bar and what the roll-out waits for, until its trial is over and every worker runs the newest version, or the
 * roll-out is paused. Throws `ReleaseFailed` when the trial fails, or workers of the newest version fail and none runs; `ApiRefusal`
 * if the endpoint is deleted.
 */
export async function watchRollout(
  client: ApiClient,
  endpoint: { id: string; name: string },
  output: CommandOutput,
  { json }: Pick<WaitOptions, 'json'> = {},
): Promise<void> {
  let noted = '';
  let watched: number | null = null;
  for await (const data of client.events(`/v2/serverless/${endpoint.id}/live`)) {
    const snapshot = JSON.parse(data) as Snapshot;
    const { rollout, endpointVersion } = snapshot;
    const counts = `${rollout.workersOnLatest} of ${rollout.workersTotal} workers`;
    if (watched !== null && watched !== endpointVersion)
      output.note(`Version ${endpointVersion} was made meanwhile, and replaces version ${watched}.`);
    watched = endpointVersion;
    const failure = failureOf(snapshot);
    if (failure !== null) {
      output.terminal.progress('');
      if (json) output.print(jsonText({ endpointVersion, ...rollout }));
      throw new ReleaseFailed(describeFailure(endpoint.name, snapshot, failure));
    }
    if (!isTried(snapshot) && (!rollout.inProgress || rollout.paused)) {
      output.terminal.progress('');
      output.note(describeEnd(endpoint.name, snapshot, counts));
      if (json) output.print(jsonText({ endpointVersion, ...rollout }));
      return;
    }
    const waitsFor = describeWait(snapshot);
    const done = Math.round((BAR_WIDTH * rollout.percentOnLatest) / 100);
    const bar = '#'.repeat(done).padEnd(BAR_WIDTH, '.');
    output.terminal.progress(`[${bar}] ${counts} on version ${endpointVersion}; ${waitsFor}`);
    if (!output.terminal.isInteractive && waitsFor !== noted) output.note(`${counts} run it; ${waitsFor}`);
    noted = waitsFor;
  }
  if (output.terminal.interrupted.aborted) return;
  output.terminal.progress('');
  throw new ApiRefusal(404, `${endpoint.name} was deleted before it was rolled out`);
}

/** True while the trial is open. */
function isTried({ rollout: { trial } }: Snapshot): boolean {
  return trial.state === 'WAITING' || trial.state === 'RUNNING';
}

interface Failure {
  reason: string;
  lines: readonly string[];
}

/** Returns why the newest release does not start; null while it may. */
function failureOf(snapshot: Snapshot): Failure | null {
  const { rollout, endpointVersion, workers } = snapshot;
  const { state, reason, lines } = rollout.trial;
  if (state === 'FAILED') return { reason: reason ?? 'no reason known', lines };
  if (isTried(snapshot) || rollout.workersOnLatest > 0) return null; // the server decides about a trial
  const failing = workers.find(({ version, status }) => version === endpointVersion && status === 'UNHEALTHY');
  if (!failing) return null;
  const [sentence = '', ...output] = (failing.reason ?? 'its workers are unhealthy').split('\n');
  return { reason: output.length > 0 ? sentence.replace(/:$/, '') : sentence, lines: output };
}

function describeFailure(name: string, { rollout, endpointVersion }: Snapshot, { reason, lines }: Failure): string {
  const { servingVersion } = rollout.trial;
  const what = rollout.trial.state === 'FAILED' ? 'failed its trial' : 'does not start';
  const to = servingVersion === null || servingVersion === endpointVersion - 1 ? '' : ` --to ${servingVersion}`;
  return [
    `version ${endpointVersion} ${what}: ${reason}${lines.length > 0 ? ':' : ''}`,
    ...lines.map((line) => `  ${line}`),
    ...(servingVersion === null ? [] : [`Version ${servingVersion} goes on serving.`]),
    ...(endpointVersion > 1 ? [`To roll back:     podyard rollback ${name}${to}`] : []),
    `To try it again:  podyard rollout ${name} --try`,
  ].join('\n');
}

function describeEnd(name: string, { rollout, endpointVersion: version }: Snapshot, counts: string): string {
  const { state, reason } = rollout.trial;
  if (state === 'SKIPPED') return `Version ${version} was not tried: ${reason}. ${counts} run it.`;
  if (rollout.paused) return `The roll-out is paused: ${counts} run it.`;
  if (state === 'PASSED' && rollout.workersTotal > 0) return `Version ${version} is rolled out: ${counts} run it.`;
  if (state === 'PASSED') return `Version ${version} is rolled out: a worker of it was ready, and none is needed now.`;
  if (rollout.workersOnLatest > 0) return `No worker of version ${version} is ready yet: ${counts} run it.`;
  return `No worker has run version ${version} yet: the next one starts on it. To try it: podyard rollout ${name} --try`;
}

function describeWait({ endpointVersion, workers, rollout: { trial } }: Snapshot): string {
  const waiting = workers.filter(({ version, status }) => {
    return version === endpointVersion && (status === 'THROTTLED' || status === 'INITIALIZING');
  });
  const throttled = waiting.find(({ status }) => status === 'THROTTLED');
  if (throttled) return `a new worker waits for capacity: ${throttled.reason}`;
  if (waiting.length > 0) return 'a new worker starts';
  if (workers.some(({ version }) => version === endpointVersion)) return 'old workers finish their jobs';
  return trial.state === 'WAITING' && trial.reason ? `a new worker waits: ${trial.reason}` : 'a new worker is to start';
}
