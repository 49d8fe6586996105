import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readCgroupMemory } from './cgroups.ts';

const ID = 'f'.repeat(64);
let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podyard-cgroup-'));
});
afterEach(() => rm(root, { recursive: true }));

async function write(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

test('cgroup v1: the usage less the inactive file cache of all below', async () => {
  await write({
    'proc/7/cgroup': `5:devices:/docker/${ID}\n4:memory:/docker/${ID}\n0::/docker/${ID}\n`,
    [`sys/fs/cgroup/memory/docker/${ID}/memory.usage_in_bytes`]: '5000\n',
    [`sys/fs/cgroup/memory/docker/${ID}/memory.stat`]: 'cache 900\ninactive_file 1\ntotal_inactive_file 700\n',
  });
  expect(await readCgroupMemory(ID, 7, root)).toBe(4300);
});

test('cgroup v2: the same from its own files', async () => {
  await write({
    'proc/7/cgroup': `0::/system.slice/docker-${ID}.scope\n`,
    [`sys/fs/cgroup/system.slice/docker-${ID}.scope/memory.current`]: '5000\n',
    [`sys/fs/cgroup/system.slice/docker-${ID}.scope/memory.stat`]: 'anon 4000\ninactive_file 600\n',
  });
  expect(await readCgroupMemory(ID, 7, root)).toBe(4400);
});

test('the process of another machine or namespace with the same PID is not taken for the container', async () => {
  await write({
    'proc/7/cgroup': '0::/user.slice\n',
    'sys/fs/cgroup/user.slice/memory.current': '5000\n',
    'sys/fs/cgroup/user.slice/memory.stat': 'inactive_file 0\n',
  });
  expect(await readCgroupMemory(ID, 7, root)).toBeNull();
  expect(await readCgroupMemory(ID, 8, root)).toBeNull();
  expect(await readCgroupMemory(ID, 0, root)).toBeNull();
});
