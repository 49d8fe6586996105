/**
 * Process groups that outlive the process that made them. A pid alone says nothing after a restart: the kernel gives it to
 * somebody else. So a group is known by pid, start time and boot, and no signal leaves this file without that check.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface GroupId {
  pid: number;
  /** Clock ticks from boot to the leader's start (Linux), or what `ps` says (elsewhere). */
  startedAt: string;
}

export type GroupState = 'running' | 'stopped' | 'gone';

/** The variable that marks every process of a workload, so that members can be told without their leader. */
export const MARKER = 'PODYARD_WORKLOAD';

/** What getpagesize answers on every Linux that Node.js runs on with 4 KiB pages. */
export const PAGE_BYTES = 4096;
const isLinux = process.platform === 'linux';

/** Changes with every boot, which starts pids and start times anew. Empty where the system does not tell. */
export function bootId(): string {
  return readText('/proc/sys/kernel/random/boot_id').trim();
}

/** Undefined when there is no such process. */
export function identify(pid: number): GroupId | undefined {
  const stat = readStat(pid);
  return stat && { pid, startedAt: stat.startedAt };
}

export function groupState(group: GroupId): GroupState {
  const stat = readStat(group.pid);
  if (!stat || stat.startedAt !== group.startedAt || 'ZX'.includes(stat.state)) return 'gone';
  return 'Tt'.includes(stat.state) ? 'stopped' : 'running';
}

/** Sends `signal` to the whole group; false when the leader is gone, and then nothing is sent. */
export function signalGroup(group: GroupId, signal: NodeJS.Signals): boolean {
  if (groupState(group) === 'gone') return false;
  try {
    process.kill(-group.pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** What its members hold in memory; what they share counts for each of them. 0 where the system does not tell. */
export function groupMemoryBytes(group: GroupId): number {
  if (!isLinux) return 0;
  let pages = 0;
  for (const pid of processIds()) {
    if (readStat(pid)?.groupId !== group.pid) continue;
    pages += Number(readText(`/proc/${pid}/statm`).split(' ')[1] ?? 0); // proc(5): the second field is what is resident
  }
  return pages * PAGE_BYTES;
}

/** The processes of a group at this moment. Empty where the system does not tell. */
export function membersOf(group: GroupId): number[] {
  if (!isLinux || groupState(group) === 'gone') return [];
  return processIds().filter((pid) => readStat(pid)?.groupId === group.pid);
}

/** Kills what is left of a group whose leader is gone: members that carry `marker` in their environment, and no others. */
export function killOrphans(group: GroupId, marker: string): void {
  if (!isLinux) return;
  for (const pid of processIds()) {
    if (readStat(pid)?.groupId !== group.pid) continue;
    if (!readText(`/proc/${pid}/environ`).split('\0').includes(`${MARKER}=${marker}`)) continue;
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // it went by itself
    }
  }
}

/** Resolves true once the group is in one of `states`, false after `timeoutMs`. A group of former times has no event to wait for. */
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
  groupId: number;
  startedAt: string;
}

function readStat(pid: number): Stat | undefined {
  if (!isLinux) return readStatFromPs(pid);
  const text = readText(`/proc/${pid}/stat`);
  if (text === '') return undefined;
  // The name in parentheses may hold anything, so fields are counted from its end (proc(5): state is field 3, pgrp 5, starttime 22).
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0]!, groupId: Number(fields[2]), startedAt: fields[19]! };
}

function readStatFromPs(pid: number): Stat | undefined {
  try {
    const text = execFileSync('ps', ['-o', 'state=,pgid=,lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    const [state, groupId, ...started] = text.split(/\s+/);
    return { state: state!.charAt(0), groupId: Number(groupId), startedAt: started.join(' ') };
  } catch {
    return undefined;
  }
}

/** Empty when it cannot be read: what `/proc` tells of may be gone by then. */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
