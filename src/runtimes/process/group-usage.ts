import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkloadStats } from '../runtime.ts';
import { type GroupId, membersOf, PAGE_BYTES } from './process-group.ts';

/** Between two samples. */
const PAUSE_MS = 250;
/** sysconf(_SC_CLK_TCK) on every Linux. */
const TICKS_PER_SECOND = 100;

/** Samples a group's counters twice. Returns its share of the machine, or null when it has no processes or cannot be read. */
export async function readGroupUsage(group: GroupId): Promise<Pick<WorkloadStats, 'cpuUtil' | 'memoryUtil'> | null> {
  const first = sample(group);
  if (first === null) return null;
  await sleep(PAUSE_MS);
  const second = sample(group);
  if (second === null) return null;
  const cpuSeconds = Math.max(0, second.ticks - first.ticks) / TICKS_PER_SECOND;
  const seconds = (second.at - first.at) / 1000;
  return {
    cpuUtil: percent(cpuSeconds / (seconds * availableParallelism())),
    memoryUtil: percent((second.pages * PAGE_BYTES) / totalmem()),
  };
}

function sample(group: GroupId): { at: number; ticks: number; pages: number } | null {
  const members = membersOf(group);
  if (members.length === 0) return null;
  const sum = { at: performance.now(), ticks: 0, pages: 0 };
  for (const pid of members) {
    try {
      const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' '); // proc(5): utime is field 14, stime 15, rss 24
      sum.ticks += Number(fields[11]) + Number(fields[12]);
      sum.pages += Number(fields[21]);
    } catch {
      // it ended meanwhile
    }
  }
  return sum;
}

function percent(share: number): number {
  return Math.min(100, Math.round(share * 1000) / 10);
}
