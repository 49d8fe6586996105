import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { BringSteps } from '../../../test/fixtures/bring-models.ts';
import { ModelHub } from '../../../test/model-hub.ts';

/** Processes that are really killed, and a disk that is really full. docs/interface/models.md. */
const PROGRAM = fileURLToPath(new URL('../../../test/fixtures/bring-models.ts', import.meta.url));
const MB = 1_000_000;

let hub: ModelHub;
let root: string;
beforeEach(async () => {
  hub = await ModelHub.start();
  root = mkdtempSync(join(tmpdir(), 'podyard-models-'));
});
afterEach(async () => {
  await hub.close();
  rmSync(root, { recursive: true, force: true });
});

const argumentsOf = (...steps: BringSteps['steps']) => [
  PROGRAM,
  JSON.stringify({ root, hubUrl: hub.url, steps } satisfies BringSteps),
];

/** Files that have begun to come. */
function begun(): string[] {
  if (!existsSync(join(root, 'partial'))) return [];
  const entries = readdirSync(join(root, 'partial'), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

test('a process that is killed in the middle loses nothing that was written: each byte comes once', async () => {
  const model = hub.add('org/name', { 'model.safetensors': 8 * MB, 'config.json': 500 });
  hub.faults.set('model.safetensors', { halfUntil: new Promise(() => {}) });
  const killed = spawn(process.execPath, argumentsOf({ model }), { stdio: 'inherit' });
  const ended = once(killed, 'exit');
  const size = () => Math.max(0, ...begun().map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0));
  await vi.waitFor(() => expect(size()).toBeGreaterThan(3 * MB), { timeout: 30_000, interval: 20 });
  killed.kill('SIGKILL');
  expect(await ended).toEqual([null, 'SIGKILL']);
  const kept = size();
  hub.faults.clear();
  hub.sent.clear();
  const { stdout } = await promisify(execFile)(process.execPath, argumentsOf({ model }, { model }));
  expect(stdout).toBe('fetched\nthere\n');
  expect(hub.sentBytes).toBeGreaterThanOrEqual(8 * MB - kept);
  expect(hub.sentBytes).toBeLessThanOrEqual(8 * MB - kept + 500);
  expect(begun()).toEqual([]);
});

test.skipIf(process.getuid?.() !== 0)(
  'a disk that is full fails the start with a reason, other models stay, and it goes on when there is room',
  async () => {
    const small = hub.add('org/small', { 'a.bin': 2 * MB });
    const large = hub.add('org/large', { 'b.bin': 8 * MB });
    const steps = [{ model: small }, { model: large }, { model: small }];
    const program = argumentsOf(...steps, { command: `mount -o remount,size=20M '${root}'` }, { model: large });
    const mount = `mount -t tmpfs -o size=6M tmpfs '${root}' && exec "$@"`; // gone with the namespace
    const { stdout } = await promisify(execFile)('unshare', [
      '-m',
      'sh',
      '-c',
      mount,
      'sh',
      process.execPath,
      ...program,
    ]);
    expect(stdout.split('\n')).toEqual([
      'fetched',
      "the file 'b.bin' of the model 'org/large' could not be stored: the disk of this machine is full",
      'there',
      'fetched',
      '',
    ]);
  },
  60_000,
);
