/**
 * Process groups that outlive the process that created them. The kernel reuses pids, so a group is identified by pid,
 * start time and boot, and no signal is sent without checking them.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isShortage } from '../../core/shortage.ts';
import { ownTurn } from '../../core/turns.ts';

export interface GroupId {
  pid: number;
  /** Clock ticks from boot to the leader's start (Linux), or the start time `ps` prints (elsewhere). */
  startedAt: string;
}

export type GroupState = 'running' | 'stopped' | 'gone';

/** Set for every process of a workload, so that members can be identified without their leader. */
export const MARKER = 'PODYARD_WORKLOAD';

/** getpagesize() on Linux with 4 KiB pages. */
export const PAGE_BYTES = 4096;
const KILL_ROUNDS = 10;
/** Processes that are read in one turn: about a millisecond. */
const READ_AT_ONCE = 32;
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
  const search = findMarked([entry]);
  for (;;) {
    const { done, value } = search.next();
    if (done) return signalAll(value.get(entry)!, signal);
  }
}

interface SignalOrder {
  entry: string;
  signal: NodeJS.Signals;
}

let asked: SignalOrder[] = [];
let isDone: Promise<void> | undefined;

/**
 * The same in turns of the event loop, together with all others that were asked for when it begins: reading every process of
 * the machine takes tens of milliseconds, and a hundred programs may end at once. A kill is repeated until none is left.
 */
export function signalMarkedInTurns(entry: string, signal: NodeJS.Signals): Promise<void> {
  asked.push({ entry, signal });
  isDone ??= ownTurn().then(() => {
    const orders = asked;
    asked = [];
    isDone = undefined;
    return carryOut(orders);
  });
  return isDone;
}

async function carryOut(orders: readonly SignalOrder[]): Promise<void> {
  let left = orders;
  for (let round = 0; round < KILL_ROUNDS && left.length > 0; round++) {
    const search = findMarked(left.map(({ entry }) => entry));
    let found = search.next();
    for (; !found.done; found = search.next()) await ownTurn();
    const marked = found.value;
    left = left.filter(({ entry, signal }) => signalAll(marked.get(entry)!, signal) > 0 && signal === 'SIGKILL');
  }
}

/** Finds the processes of each entry. Yields after every few. */
function* findMarked(entries: readonly string[]): Generator<void, Map<string, Set<number>>> {
  const marked = new Map(entries.map((entry) => [entry, new Set<number>()]));
  if (!isLinux) return marked;
  const parents = new Map<number, number>();
  for (const [n, pid] of processIds().entries()) {
    if (n % READ_AT_ONCE === READ_AT_ONCE - 1) yield;
    const stat = readStat(pid);
    if (!stat || hasEnded(stat)) continue;
    parents.set(pid, stat.parent);
    for (const entry of readText(`/proc/${pid}/environ`).split('\0')) marked.get(entry)?.add(pid);
  }
  for (const pids of marked.values()) addDescendants(pids, parents);
  return marked;
}

function addDescendants(pids: Set<number>, parents: ReadonlyMap<number, number>): void {
  for (let before = 0; before < pids.size; ) {
    before = pids.size;
    for (const [pid, parent] of parents) if (pids.has(parent)) pids.add(pid);
  }
}

/** Returns how many there were. */
function signalAll(pids: ReadonlySet<number>, signal: NodeJS.Signals): number {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // already gone
    }
  }
  return pids.size;
}

function hasEnded({ state }: Stat): boolean {
  return 'ZX'.includes(state);
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
