import { median } from '../median.ts';
import { number } from '../queue/report.ts';
import { renderTable } from '../queue/table.ts';
import { writeResults } from '../results.ts';
import type { ApiLoadResult } from './load.ts';
import { type ApiSubject, playApi } from './subjects.ts';

/** One revision's PATCH in one round: one request at a time, then on many connections. */
interface Played {
  alone: ApiLoadResult;
  many: ApiLoadResult;
}

const MODES = ['patch', 'patchNewer'] as const;

/**
 * Compares PATCH through both revisions of the REST interface on one server. They take turns, and change who begins, so
 * that other load on the machine affects them alike. Prints a table, writes JSON.
 */
export async function compareRevisions(
  subject: ApiSubject,
  { rounds, seconds, connections }: { rounds: number; seconds: number; connections: number },
): Promise<void> {
  const startedAt = new Date().toISOString();
  const played: Record<(typeof MODES)[number], Played>[] = [];
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? MODES : MODES.toReversed();
    const results: Partial<Record<(typeof MODES)[number], Played>> = {};
    for (const mode of order) {
      const alone = await playApi(subject, mode, { connections: 1, seconds });
      results[mode] = { alone, many: await playApi(subject, mode, { connections, seconds }) };
    }
    played.push(results as Required<typeof results>);
  }
  const row = (title: string, digits: number, pick: (one: Played) => number) => {
    const [older, newer] = MODES.map((mode) => median(played.map((round) => pick(round[mode]))));
    return [title, number(older!, digits), number(newer!, digits), number(newer! / older!, 3)];
  };
  process.stdout.write(
    renderTable([
      ['PATCH', '2026-07', '2026-08', 'ratio'],
      row('alone, p50 ms', 3, ({ alone }) => alone.latenciesMs.p50),
      row('  server CPU, us per request', 0, ({ alone }) => alone.serverCpuUs),
      row('requests/s', 0, ({ many }) => many.perSecond),
      row('  p50 ms', 3, ({ many }) => many.latenciesMs.p50),
      row('  server CPU, us per request', 0, ({ many }) => many.serverCpuUs),
      row('  response, bytes', 0, ({ many }) => many.responseBytes),
      row('CPU used by others, %', 0, ({ many }) => many.othersCpuShare * 100),
    ]),
  );
  const report = { startedAt, played };
  await writeResults('api-revisions', report);
}
