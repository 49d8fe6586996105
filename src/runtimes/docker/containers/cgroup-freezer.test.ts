import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, rmdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findCgroupFreezer } from './cgroups.ts';

const [ID, OTHER] = ['f'.repeat(64), 'e'.repeat(64)];
let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podyard-freezer-'));
});
afterEach(() => rm(root, { recursive: true }));

async function write(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

const read = (path: string) => readFile(join(root, 'sys/fs/cgroup', path), 'utf8');

test('cgroup v1: one file is switch and state', async () => {
  const state = `freezer/docker/${ID}/freezer.state`;
  await write({
    'proc/7/cgroup': `6:freezer:/docker/${ID}\n4:memory:/docker/${ID}\n0::/docker/${ID}\n`,
    [`sys/fs/cgroup/${state}`]: 'THAWED\n',
    [`sys/fs/cgroup/freezer/docker/${OTHER}/freezer.state`]: 'FROZEN\n',
  });
  const freezer = (await findCgroupFreezer(ID, 7, root))!;
  expect(await freezer.isFrozen()).toBe(false);
  expect(await freezer.freeze()).toBe(true);
  expect(await read(state)).toBe('FROZEN\n');
  expect(await freezer.isFrozen()).toBe(true);
  expect(await freezer.thaw()).toBe(true);
  expect(await read(state)).toBe('THAWED\n');
  expect(await freezer.of(OTHER).isFrozen()).toBe(true);
});

test('cgroup v2: frozen is what the events say, not what was asked for', async () => {
  const folder = `system.slice/docker-${ID}.scope`;
  await write({
    'proc/7/cgroup': `0::/${folder}\n`,
    [`sys/fs/cgroup/${folder}/cgroup.freeze`]: '1\n',
    [`sys/fs/cgroup/${folder}/cgroup.events`]: 'populated 1\nfrozen 0\n',
  });
  const freezer = (await findCgroupFreezer(ID, 7, root))!;
  expect(await freezer.isFrozen()).toBe(false);
  await write({ [`sys/fs/cgroup/${folder}/cgroup.events`]: 'populated 1\nfrozen 1\n' });
  expect(await freezer.freeze()).toBe(true);
  expect(await read(`${folder}/cgroup.freeze`)).toBe('1\n');
  expect(await freezer.thaw()).toBe(true);
  expect(await read(`${folder}/cgroup.freeze`)).toBe('0\n');
});

/** Where version 2 is mounted; beside version 1 it is one folder of it. */
const KERNEL_V2 = ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'].find((path) => existsSync(`${path}/cgroup.controllers`));

test.skipIf(process.getuid?.() !== 0 || KERNEL_V2 === undefined)('cgroup v2: the kernel freezes it', async () => {
  const group = `podyard-test-${process.pid}`;
  const folder = join(KERNEL_V2!, group, `docker-${ID}.scope`);
  const program = spawn('sleep', ['60'], { stdio: 'ignore' });
  const ended = once(program, 'exit');
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'cgroup.procs'), String(program.pid));
    const groups = await readFile(`/proc/${program.pid}/cgroup`, 'utf8');
    const own = /^0::.*$/m.exec(groups)![0]; // version 1 beside it lists more
    await write({ [`proc/${program.pid}/cgroup`]: `${own}\n` });
    await mkdir(join(root, 'sys/fs'), { recursive: true });
    await symlink(KERNEL_V2!, join(root, 'sys/fs/cgroup'));

    const freezer = (await findCgroupFreezer(ID, program.pid!, root))!;
    expect(await freezer.freeze()).toBe(true);
    expect(await readFile(join(folder, 'cgroup.events'), 'utf8')).toContain('frozen 1');
    expect(await freezer.isFrozen()).toBe(true);
    expect(await freezer.of(OTHER).isFrozen()).toBe(false);
    expect(await freezer.thaw()).toBe(true);
    expect(await freezer.isFrozen()).toBe(false);
    await freezer.freeze();
    program.kill('SIGKILL'); // ends a frozen one too
    await ended;
    expect(await readFile(join(folder, 'cgroup.events'), 'utf8')).toContain('populated 0');
  } finally {
    program.kill('SIGKILL');
    await ended;
    await rmdir(folder);
    await rmdir(dirname(folder));
  }
});

test('a container that cannot be frozen in time runs on', async () => {
  const state = `freezer/docker/${ID}/freezer.state`;
  await write({ 'proc/7/cgroup': `6:freezer:/docker/${ID}\n`, [`sys/fs/cgroup/${state}`]: 'FREEZING\n' });
  const freezer = (await findCgroupFreezer(ID, 7, root))!;
  await rm(join(root, 'sys/fs/cgroup', state));
  expect(await freezer.freeze()).toBe(false);
  expect(await freezer.thaw()).toBe(false);
});

test('another process with the same PID, or a freezer that is not there, is none', async () => {
  await write({
    'proc/7/cgroup': '6:freezer:/user.slice\n',
    'sys/fs/cgroup/freezer/user.slice/freezer.state': 'THAWED\n',
  });
  await write({ 'proc/8/cgroup': `6:freezer:/docker/${ID}\n` });
  for (const pid of [0, 7, 8, 9]) expect(await findCgroupFreezer(ID, pid, root)).toBeNull();
});
