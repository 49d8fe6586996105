/**
 * Process groups that outlive the process that created them. The kernel reuses pids, so a group is identified by pid,
 * start time and boot, and no signal is sent without checking them.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../../core/errors.ts';
import type { WorkloadStats } from '../runtime.ts';
import { isShortage } from './shortage.ts';

export interface GroupId {
  pid: number;
  /** Clock ticks from boot to the leader's start (Linux), or the start time `ps` prints (elsewhere). */
  startedAt: string;
}

export type GroupState = 'running' | 'stopped' | 'gone';

/** Set for every process of a workload, so that members can be identified without their leader. */
export const MARKER = 'PODYARD_WORKLOAD';

/** getpagesize() on Linux with 4 KiB pages. */
const PAGE_BYTES = 4096;
const KILL_ROUNDS = 10;
const KILL_TIMEOUT_MS = 10_000;
const isLinux = process.platform === 'linux';

/** Changes with every boot. Empty where the system has none. */
export function bootId(): string {
  return readText('/proc/sys/kernel/random/boot_id').trim();
}

/** Returns undefined when there is no such process. */
export function identify(pid: number): GroupId | undefined {
  const stat = readStat(pid);
  return stat && { pid, startedAt: stat.startedAt };
}

export function groupState(group: GroupId): GroupState {
  const stat = readStat(group.pid);
  if (!stat || stat.startedAt !== group.startedAt || hasEnded(stat)) return 'gone';
  return 'Tt'.includes(stat.state) ? 'stopped' : 'running';
}

/** Sends `signal` to the whole group. Returns false, sending nothing, when the leader is gone. */
export function signalGroup(group: GroupId, signal: NodeJS.Signals): boolean {
  if (groupState(group) === 'gone') return false;
  try {
    process.kill(-group.pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** The members' resident memory in bytes; shared pages count for each. 0 where the system does not report it. */
export function groupMemoryBytes(group: GroupId): number {
  if (!isLinux) return 0;
  let pages = 0;
  for (const pid of processIds()) {
    if (readStat(pid)?.groupId !== group.pid) continue;
    pages += Number(readText(`/proc/${pid}/statm`).split(' ')[1] ?? 0); // proc(5): field 2 is resident pages
  }
  return pages * PAGE_BYTES;
}

/** The processes of a group right now. Empty where the system has no /proc. */
export function membersOf(group: GroupId): number[] {
  if (!isLinux || groupState(group) === 'gone') return [];
  return processIds().filter((pid) => readStat(pid)?.groupId === group.pid);
}

/**
 * Kills what a workload whose leader is gone left running, in whatever group or session: every process with `marker` in
 * its environment, and their descendants. Repeats until there is none, since one may fork while the others are read.
 */
export function killOrphans(marker: string): void {
  for (let round = 0; round < KILL_ROUNDS; round++) if (signalMarked(`${MARKER}=${marker}`, 'SIGKILL') === 0) return;
}

/**
 * Sends `signal` to every process with this entry in its environment and to their descendants, which may have another
 * environment, or none while they execute another program. Returns how many there were.
 */
export function signalMarked(entry: string, signal: NodeJS.Signals): number {
  if (!isLinux) return 0;
  const marked = new Set<number>();
  const others = new Map<number, number>(); // each with its parent
  for (const pid of processIds()) {
    const stat = readStat(pid);
    if (!stat || hasEnded(stat)) continue;
    if (readText(`/proc/${pid}/environ`).split('\0').includes(entry)) marked.add(pid);
    else others.set(pid, stat.parent);
  }
  for (let before = 0; before < marked.size; ) {
    before = marked.size;
    for (const [pid, parent] of others) if (marked.has(parent)) marked.add(pid);
  }
  for (const pid of marked) {
    try {
      process.kill(pid, signal);
    } catch {
      // already gone
    }
  }
  return marked.size;
}

function hasEnded({ state }: Stat): boolean {
  return 'ZX'.includes(state);
}

/** Ends a group: after `graceMs` by force. Throws if it is still there ten seconds later. */
export async function endGroup(group: GroupId, graceMs: number): Promise<void> {
  signalGroup(group, 'SIGTERM'); // before SIGCONT: a frozen workload wakes with it pending
  signalGroup(group, 'SIGCONT');
  if (await waitForState(group, ['gone'], graceMs)) return;
  signalGroup(group, 'SIGKILL');
  if (await waitForState(group, ['gone'], KILL_TIMEOUT_MS)) return;
  throw new Failure(
    'unavailable',
    `Process group ${group.pid} did not end within ${KILL_TIMEOUT_MS / 1000} s of SIGKILL`,
  );
}

/** Resolves with true once the group is in one of `states`, with false after `timeoutMs`. Polls: it may not be our child. */
export async function waitForState(group: GroupId, states: readonly GroupState[], timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 20)) {
    if (states.includes(groupState(group))) return true;
    const leftMs = deadline - performance.now();
    if (leftMs <= 0) return false;
    await sleep(Math.min(pauseMs, leftMs));
  }
}

function processIds(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

interface Stat {
  state: string;
  parent: number;
  groupId: number;
  startedAt: string;
}

function readStat(pid: number): Stat | undefined {
  if (!isLinux) return readStatFromPs(pid);
  const text = readText(`/proc/${pid}/stat`);
  if (text === '') return undefined;
  // The name in parentheses may contain anything, so count fields from its end (proc(5): state 3, ppid 4, pgrp 5, starttime 22).
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0]!, parent: Number(fields[1]), groupId: Number(fields[2]), startedAt: fields[19]! };
}

function readStatFromPs(pid: number): Stat | undefined {
  try {
    const text = execFileSync('ps', ['-o', 'state=,ppid=,pgid=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
    }).trim();
    const [state, parent, groupId, ...started] = text.split(/\s+/);
    return { state: state!.charAt(0), parent: Number(parent), groupId: Number(groupId), startedAt: started.join(' ') };
  } catch {
    return undefined;
  }
}

/** Returns '' when the file cannot be read: a process in `/proc` may end at any time. Throws when the system is short of descriptors. */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (isShortage(error)) throw error;
    return '';
  }
}

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
