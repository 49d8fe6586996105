/**
 * Moves the GPU memory of processes to the machine's memory and back with NVIDIA's program `cuda-checkpoint` (driver 570 or
 * newer). A process goes through RUNNING, LOCKED (it finished its submitted work and submits no more) and CHECKPOINTED.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Failure } from '../core/errors.ts';

const PROGRAM = 'cuda-checkpoint';
/** A process that is in the middle of a long kernel is not locked, and stays as it is. */
const LOCK_TIMEOUT_MS = 10_000;
/** An H100's driver was seen to move 1 GiB a second; one that is cut off leaves the process in no known state. */
const ACTION_TIMEOUT_MS = 600_000;

type Action = 'lock' | 'checkpoint' | 'restore' | 'unlock';

/** Returns why there can be no checkpoints, one sentence; null when there can. */
export async function findCheckpointHindrance(run = runProgram): Promise<string | null> {
  const help = await run(['--help']).catch(() => null);
  if (help === null) return `${PROGRAM} is not installed beside the server`;
  return help.includes('--action')
    ? null
    : `${PROGRAM} is too old: it needs one that has --action (driver 570 or newer)`;
}

/** Checkpoints those of the processes that use CUDA, and returns how many: all, or none and it throws. */
export async function suspendProcesses(pids: readonly number[], run = runProgram): Promise<number> {
  const users = await listCudaProcesses(pids, run);
  const done: { pid: number; action: Action }[] = [];
  try {
    for (const action of ['lock', 'checkpoint'] as const) {
      for (const pid of users.filter(({ state }) => isBefore(state, action)).map((user) => user.pid)) {
        await act(action, pid, run);
        done.push({ pid, action });
      }
    }
    return users.length;
  } catch (error) {
    for (const { pid, action } of done.reverse()) await act(action === 'lock' ? 'unlock' : 'restore', pid, run);
    throw error;
  }
}

/** Gives checkpointed processes their GPU memory back, and lets them run. Throws when one cannot. */
export async function resumeProcesses(pids: readonly number[], run = runProgram): Promise<void> {
  const users = await listCudaProcesses(pids, run);
  for (const { pid, state } of users) if (state === 'checkpointed') await act('restore', pid, run);
  for (const { pid, state } of users) if (state !== 'running') await act('unlock', pid, run);
}

type State = 'running' | 'locked' | 'checkpointed';

function isBefore(state: State, action: 'lock' | 'checkpoint'): boolean {
  return state === 'running' || (state === 'locked' && action === 'checkpoint');
}

/** Returns the processes that use CUDA: the program fails for others. */
async function listCudaProcesses(
  pids: readonly number[],
  run: typeof runProgram,
): Promise<{ pid: number; state: State }[]> {
  const users: { pid: number; state: State }[] = [];
  for (const pid of pids) {
    const state = (await run(['--get-state', '--pid', String(pid)]).catch(() => '')).trim();
    if (state === 'failed') throw new Failure('unprocessable', `an earlier checkpoint of process ${pid} failed`);
    if (state === 'running' || state === 'locked' || state === 'checkpointed') users.push({ pid, state });
  }
  return users;
}

async function act(action: Action, pid: number, run: typeof runProgram): Promise<void> {
  const timeout = action === 'lock' ? ['--timeout', String(LOCK_TIMEOUT_MS)] : [];
  try {
    await run(['--action', action, '--pid', String(pid), ...timeout]);
  } catch (error) {
    throw new Failure('unprocessable', `${PROGRAM} --action ${action} failed: ${lastLineOf(error)}`);
  }
}

async function runProgram(args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(PROGRAM, args, { timeout: ACTION_TIMEOUT_MS });
  return stdout;
}

function lastLineOf(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string };
  return (stderr?.trim() || message).split('\n').at(-1)!;
}
