import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOptions } from '../options.ts';
import { describeMachine, writeResults } from '../results.ts';
import { compareBacklog } from './backlog.ts';
import { compareSystems } from './compare.ts';
import { measurePayloads } from './payloads.ts';
import { startPostgres } from './postgres.ts';
import { type QueueReport, renderReport } from './report.ts';
import { measureRest } from './rest.ts';
import { measureSpread } from './spread.ts';
import { measureSubmits } from './submits.ts';
import { type Setup, SYSTEMS } from './systems.ts';
import { measureWal } from './wal.ts';

const PARTS = ['systems', 'backlog', 'rest'] as const;

/** `node bench/main.ts queue`: see bench/README.md. Prints a table, writes JSON. */
export async function benchQueue(args: string[]): Promise<void> {
  const values = readOptions(args, {
    parts: { type: 'string', default: PARTS.join(',') },
    systems: { type: 'string', default: SYSTEMS.map((system) => system.name).join(',') },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '8' },
    backlog: { type: 'string', default: '1000000' },
    'cpu-prof': { type: 'string' },
  });
  const parts = values.parts.split(',');
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
  const tempDir = await mkdtemp(join(tmpdir(), 'podyard-bench-'));
  const postgres = await startPostgres(join(tempDir, 'shared'));
  const nodeArgs = values['cpu-prof'] ? ['--cpu-prof', `--cpu-prof-dir=${values['cpu-prof']}`] : [];
  const setup: Setup = { tempDir, postgres, nodeArgs };
  try {
    const report: QueueReport = { startedAt: new Date().toISOString(), machine: describeMachine(tempDir) };
    const systems = chooseSystems(values.systems);
    if (parts.includes('systems')) report.systems = await compareSystems(systems, setup, { rounds, seconds });
    if (parts.includes('backlog'))
      report.backlog = await compareBacklog(setup, { jobs: Number(values.backlog), rounds, seconds });
    if (parts.includes('rest')) report.rest = await measureRest(tempDir, { idleSeconds: 40 });
    if (parts.includes('wal')) report.wal = await measureWal(setup, { seconds });
    if (parts.includes('spread')) report.spread = await measureSpread(setup, { rounds, seconds });
    if (parts.includes('payloads')) report.payloads = await measurePayloads(postgres, { rounds });
    if (parts.includes('submits')) report.submits = await measureSubmits(setup, { rounds });
    process.stdout.write(renderReport(report));
    await writeResults('queue', report);
  } finally {
    await postgres.stop();
    await rm(tempDir, { recursive: true, force: true });
  }
}

function chooseSystems(names: string) {
  const wanted = names.split(',');
  const unknown = wanted.filter((name) => !SYSTEMS.some((system) => system.name === name));
  if (unknown.length > 0)
    throw new Error(`unknown system ${unknown.join(', ')}; choose from ${SYSTEMS.map((one) => one.name).join(', ')}`);
  const chosen = SYSTEMS.filter((system) => wanted.includes(system.name));
  for (const { name } of chosen.filter((system) => !system.isAvailable()))
    process.stderr.write(`${name} is not available, skipped\n`);
  return chosen.filter((system) => system.isAvailable());
}
