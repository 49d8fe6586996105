import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOptions } from '../options.ts';
import { startPostgres } from '../queue/postgres.ts';
import { describeMachine, writeResults } from '../results.ts';
import type { ApiLoadResult, ApiMode } from './load.ts';
import { type ApiReport, type ApiRound, renderApiReport } from './report.ts';
import { compareRevisions } from './revisions.ts';
import { type ApiSubject, PLAYED_ON, playApi, startSubjects } from './subjects.ts';

/** Enough to keep both processors busy, and fewer than the endpoints in use. */
const CONNECTIONS = 8;
/** Before the first round of each subject: a PATCH runs several times as much code as the bare one, which V8 optimizes as it runs. */
const WARM_UP_SECONDS = 3;

/** `node bench/main.ts api`: see bench/README.md. Prints a table, writes JSON. */
export async function benchApi(args: string[]): Promise<void> {
  const values = readOptions(args, {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
    endpoints: { type: 'string', default: '10000' },
    'cpu-prof': { type: 'string' },
    revisions: { type: 'boolean', default: false },
  });
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
  const tempDir = await mkdtemp(join(tmpdir(), 'podyard-bench-'));
  const postgres = await startPostgres(join(tempDir, 'shared'));
  const nodeArgs = values['cpu-prof'] ? ['--cpu-prof', `--cpu-prof-dir=${values['cpu-prof']}`] : [];
  const subjects: ApiSubject[] = [];
  try {
    if (values.revisions) {
      subjects.push(...(await startSubjects(PLAYED_ON, { tempDir, postgres, nodeArgs })));
      const podyard = subjects.find(({ name }) => name === 'podyard')!;
      return await compareRevisions(podyard, { rounds, seconds, connections: CONNECTIONS });
    }
    const startedAt = new Date().toISOString();
    for (const endpoints of [PLAYED_ON, Number(values.endpoints)])
      subjects.push(...(await startSubjects(endpoints, { tempDir, postgres, nodeArgs })));
    const report: ApiReport = {
      startedAt,
      machine: describeMachine(tempDir),
      subjects: subjects.map(({ name, endpoints }) => ({ name, endpoints, rounds: [] })),
    };
    for (const subject of subjects)
      await playApi(subject, 'patch', { connections: CONNECTIONS, seconds: WARM_UP_SECONDS });
    for (let round = 0; round < rounds; round++) {
      const played = await playRound(subjects, seconds);
      for (const [i, one] of report.subjects.entries()) one.rounds.push(played[i]!);
    }
    process.stdout.write(renderApiReport(report));
    await writeResults('api', report);
  } finally {
    for (const subject of subjects) await subject.stop();
    await postgres.stop();
    await rm(tempDir, { recursive: true, force: true });
  }
}

/** Runs every mode on all subjects before the next, so that other load on the machine affects them alike. */
async function playRound(subjects: readonly ApiSubject[], seconds: number): Promise<ApiRound[]> {
  const playAll = async (mode: ApiMode, connections: number) => {
    const results: ApiLoadResult[] = [];
    for (const subject of subjects) results.push(await playApi(subject, mode, { connections, seconds }));
    return results;
  };
  const getAlone = await playAll('get', 1);
  const get = await playAll('get', CONNECTIONS);
  const patchAlone = await playAll('patch', 1);
  const patch = await playAll('patch', CONNECTIONS);
  const rounds: ApiRound[] = subjects.map((_, i) => ({
    getAlone: getAlone[i]!,
    get: get[i]!,
    patchAlone: patchAlone[i]!,
    patch: patch[i]!,
  }));
  for (const [i, subject] of subjects.entries()) {
    if (subject.name === 'bare') continue;
    rounds[i]!.release = await playApi(subject, 'release', { connections: CONNECTIONS, seconds });
    rounds[i]!.list = await playApi(subject, 'list', { connections: 1, seconds });
    for (const mode of ['template', 'saveTemplate', 'literals'] as const) {
      rounds[i]![mode] = await playApi(subject, mode, { connections: CONNECTIONS, seconds });
    }
  }
  return rounds;
}
