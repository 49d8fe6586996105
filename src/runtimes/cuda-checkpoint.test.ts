import { beforeEach, expect, test } from 'vitest';
import { findCheckpointHindrance, resumeProcesses, suspendProcesses } from './cuda-checkpoint.ts';

/**
 * Imitates NVIDIA's cuda-checkpoint of driver 570: the states of processes and which action each allows, and that it fails for
 * processes without CUDA. Keeps a ledger of GPU memory: a restore fails when it would not fit.
 */
class Checkpoints {
  readonly states = new Map<number, string>();
  readonly bytes = new Map<number, number>();
  readonly refuses = new Set<string>();
  gpuBytes = 100;

  add(pid: number, bytes: number): void {
    this.states.set(pid, 'running');
    this.bytes.set(pid, bytes);
  }

  used(): number {
    return [...this.states].reduce(
      (sum, [pid, state]) => sum + (state === 'checkpointed' ? 0 : this.bytes.get(pid)!),
      0,
    );
  }

  readonly run = async (args: readonly string[]): Promise<string> => {
    if (args[0] === '--help') return 'usage: --toggle --pid <value> --get-state --action <value>';
    const pid = Number(args[args.indexOf('--pid') + 1]);
    const state = this.states.get(pid);
    if (state === undefined) throw failed('Could not find the CUDA state of the process');
    if (args[0] === '--get-state') return `${state}\n`;
    const action = args[1]!;
    if (this.refuses.has(`${action} ${pid}`)) throw failed('OS call failed or operation not supported on this OS');
    const [from, to] = STEPS[action]!;
    if (state !== from) throw failed('invalid argument');
    if (action === 'restore' && this.used() + this.bytes.get(pid)! > this.gpuBytes) throw failed('out of memory');
    this.states.set(pid, to);
    return '';
  };
}
const STEPS: Record<string, [string, string]> = {
  lock: ['running', 'locked'],
  checkpoint: ['locked', 'checkpointed'],
  restore: ['checkpointed', 'locked'],
  unlock: ['locked', 'running'],
};
const failed = (stderr: string) => Object.assign(new Error('Command failed'), { stderr: `${stderr}\n` });

let gpu: Checkpoints;
beforeEach(() => {
  gpu = new Checkpoints();
  gpu.add(11, 40);
  gpu.add(12, 30);
});
const statesOf = () => [...gpu.states.values()];

test('all processes that use CUDA give their memory back, and get it again', async () => {
  expect(await suspendProcesses([10, 11, 12], gpu.run)).toBe(2);
  expect(statesOf()).toEqual(['checkpointed', 'checkpointed']);
  expect(gpu.used()).toBe(0);
  await resumeProcesses([10, 11, 12], gpu.run);
  expect(statesOf()).toEqual(['running', 'running']);
});

test.each(['lock 12', 'checkpoint 11', 'checkpoint 12'])('when `%s` fails, all run on as before', async (refused) => {
  gpu.refuses.add(refused);
  await expect(suspendProcesses([11, 12], gpu.run)).rejects.toThrow(
    `cuda-checkpoint --action ${refused.split(' ')[0]} failed: OS call failed or operation not supported on this OS`,
  );
  expect(statesOf()).toEqual(['running', 'running']);
});

test('a server that was killed in between continues where it was', async () => {
  for (const args of [
    ['--action', 'lock', '--pid', '11'],
    ['--action', 'checkpoint', '--pid', '11'],
  ])
    await gpu.run(args);
  await suspendProcesses([11, 12], gpu.run);
  expect(statesOf()).toEqual(['checkpointed', 'checkpointed']);
  await gpu.run(['--action', 'restore', '--pid', '11']);
  await resumeProcesses([11, 12], gpu.run);
  expect(statesOf()).toEqual(['running', 'running']);
});

test('a wake on a GPU that others have filled fails', async () => {
  await suspendProcesses([11, 12], gpu.run);
  gpu.add(99, 80);
  await expect(resumeProcesses([11, 12], gpu.run)).rejects.toThrow('--action restore failed: out of memory');
});

test('a worker without CUDA has nothing to give back', async () => {
  expect(await suspendProcesses([1, 2], gpu.run)).toBe(0);
  await resumeProcesses([1, 2], gpu.run);
  expect(statesOf()).toEqual(['running', 'running']);
});

test('a missing program and an old one say so', async () => {
  expect(await findCheckpointHindrance(gpu.run)).toBeNull();
  expect(await findCheckpointHindrance(async () => 'usage: --toggle --pid <value>')).toContain('driver 570');
  expect(await findCheckpointHindrance(() => Promise.reject(new Error('ENOENT')))).toContain('not installed');
});
