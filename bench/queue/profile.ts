/**
 * Summarizes a CPU profile from `--cpu-prof`: `node bench/queue/profile.ts FILE.cpuprofile [jobs]` lists functions by self
 * time and, given the number of jobs, in microseconds per job.
 */
import { readFileSync } from 'node:fs';
import { renderTable } from './table.ts';

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
}

const LINES = 45;

const [file, jobsText] = process.argv.slice(2);
if (!file) throw new Error('usage: node bench/queue/profile.ts FILE.cpuprofile [jobs]');
const profile = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile;
const names = new Map(profile.nodes.map((node) => [node.id, describe(node.callFrame)]));
const selfUs = new Map<string, number>();
for (const [i, id] of profile.samples.entries()) {
  const name = names.get(id)!;
  selfUs.set(name, (selfUs.get(name) ?? 0) + profile.timeDeltas[i]!);
}
const idle = selfUs.get('(idle)') ?? 0;
selfUs.delete('(idle)');
const busy = [...selfUs.values()].reduce((sum, us) => sum + us, 0);
const jobs = Number(jobsText);
const rows = [...selfUs].sort((a, b) => b[1] - a[1]).slice(0, LINES);
process.stdout.write(`busy ${(busy / 1e6).toFixed(1)} s, idle ${(idle / 1e6).toFixed(1)} s\n`);
process.stdout.write(
  renderTable([
    ['function', 'ms', '%', 'us per job'],
    ...rows.map(([name, us]) => [
      name,
      (us / 1000).toFixed(0),
      ((us / busy) * 100).toFixed(1),
      jobs ? (us / jobs).toFixed(2) : '-',
    ]),
  ]),
);

function describe(frame: CpuProfile['nodes'][number]['callFrame']): string {
  if (frame.url === '') return frame.functionName;
  const place = frame.url
    .replace(/^file:\/\//, '')
    .split('/')
    .slice(-3)
    .join('/');
  return `${frame.functionName || '(anonymous)'} ${place}:${frame.lineNumber + 1}`;
}
