import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { StepFinder, type StepGroup, stepHost } from './step-groups.ts';

const LIMITS = { cpus: 1.5, memoryBytes: 1e9, timeoutMs: 1, maxImageBytes: 1 };
const HOST = stepHost('installation', 'build');

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'podyard-groups-'));
  add('proc/self/cgroup', '0::/podyard\n');
});
afterEach(() => rmSync(root, { recursive: true }));

function add(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
const read = (path: string) => readFileSync(join(root, 'sys/fs/cgroup', path), 'utf8');
async function findGroups(finder: StepFinder): Promise<StepGroup[]> {
  const groups: StepGroup[] = [];
  for await (const group of finder.find()) groups.push(group);
  return groups;
}
const addProcess = (pid: number, host: string, cgroup: string) => {
  add(`proc/${pid}/environ`, `PATH=/bin\0NO_PROXY=localhost,${host}\0HOME=/\0`);
  add(`proc/${pid}/cgroup`, cgroup);
};

test('the group of a build’s step is limited, in version 2 of control groups', async () => {
  addProcess(7, HOST, '0::/docker/buildkit/one\n');
  addProcess(8, HOST, '0::/docker/buildkit/one\n');
  for (const file of ['pids.max', 'memory.max', 'cpu.max']) add(`sys/fs/cgroup/docker/buildkit/one/${file}`, 'max');
  const groups = await findGroups(new StepFinder(HOST, root));
  expect(groups).toHaveLength(1);
  expect(await groups[0]!.bound(LIMITS, 0)).toBe(true);
  const files = ['pids.max', 'memory.max', 'cpu.max'].map((file) => read(`docker/buildkit/one/${file}`));
  expect(files).toEqual(['2048', '1000000000', '150000 100000']);
});

test('and in version 1, where each controller has its own', async () => {
  addProcess(7, HOST, '9:pids:/b/one\n8:memory:/b/one\n2:cpu,cpuacct:/b/one\n0::/\n');
  add('sys/fs/cgroup/pids/b/one/pids.max', 'max');
  add('sys/fs/cgroup/memory/b/one/memory.limit_in_bytes', '-1');
  add('sys/fs/cgroup/cpu/b/one/cpu.cfs_quota_us', '-1');
  const [group] = await findGroups(new StepFinder(HOST, root));
  expect(await group!.bound(LIMITS, 0)).toBe(true);
  expect(read('memory/b/one/memory.limit_in_bytes')).toBe('1000000000');
  expect(read('cpu/b/one/cpu.cfs_quota_us')).toBe('150000');
});

test.each([
  ['0-7', 0, '7,6'],
  ['0-7', 1, '5,4'],
  ['0-2', 1, '0,2'], // the last one, and around
  ['0-1', 0, null], // it may use both
])('of the CPUs %s the build in place %i gets %s, next to each other’s', async (cpus, place, own) => {
  addProcess(7, HOST, '0::/b/one\n');
  addProcess(8, HOST, '3:cpuset:/b/two\n0::/\n');
  add('sys/fs/cgroup/b/one/cpuset.cpus.effective', `${cpus}\n`);
  add('sys/fs/cgroup/b/one/cpuset.cpus', '\n');
  add('sys/fs/cgroup/cpuset/b/two/cpuset.cpus', cpus.padEnd(3));
  for (const group of await findGroups(new StepFinder(HOST, root))) await group.bound(LIMITS, place);
  expect(read('b/one/cpuset.cpus').trim()).toBe(own ?? '');
  expect(read('cpuset/b/two/cpuset.cpus').trim()).toBe(own ?? cpus);
});

test('processes of other builds, of nobody’s build and of Podyard’s own group are left alone', async () => {
  addProcess(7, stepHost('installation', 'other'), '0::/docker/buildkit/two\n');
  addProcess(8, 'example.com', '0::/user\n');
  addProcess(9, HOST, '0::/podyard\n');
  expect(await findGroups(new StepFinder(HOST, root))).toEqual([]);
  expect(await findGroups(new StepFinder(stepHost('installation'), root))).toHaveLength(1);
});

test('what may not be written is said, and the root of the groups is never limited', async () => {
  addProcess(7, HOST, '0::/\n');
  add('sys/fs/cgroup/pids.max', 'max');
  const [group] = await findGroups(new StepFinder(HOST, root));
  expect(await group!.bound(LIMITS, 0)).toBe(false);
  expect(read('pids.max')).toBe('max');
});

test('a process is asked a few times, and a new one in its place again', async () => {
  const finder = new StepFinder(HOST, root);
  addProcess(7, 'example.com', '0::/user\n');
  for (let i = 0; i < 4; i++) expect(await findGroups(finder)).toEqual([]);
  addProcess(7, HOST, '0::/docker/buildkit/one\n'); // it has replaced its program
  expect(await findGroups(finder)).toHaveLength(1);
  expect(await findGroups(finder)).toEqual([]);
  rmSync(join(root, 'proc/7'), { recursive: true });
  expect(await findGroups(finder)).toEqual([]);
  addProcess(7, HOST, '0::/docker/buildkit/two\n');
  expect(await findGroups(finder)).toHaveLength(1);
});

test('the processes of a group that is no step’s are not asked without end', async () => {
  const finder = new StepFinder(HOST, root);
  for (let pid = 100; pid < 164; pid++) addProcess(pid, 'example.com', '0::/pod\n');
  expect(await findGroups(finder)).toEqual([]);
  addProcess(164, HOST, '0::/pod\n'); // nobody reads it
  addProcess(165, HOST, '0::/docker/buildkit/one\n');
  expect(await findGroups(finder)).toHaveLength(1);
});

test('a process that was there before is not asked; a new one is, and one in its place', async () => {
  addProcess(7, HOST, '0::/docker/buildkit/before\n');
  const finder = new StepFinder(HOST, root);
  await finder.leaveOutPresent();
  expect(await findGroups(finder)).toEqual([]);
  addProcess(8, HOST, '0::/docker/buildkit/one\n');
  expect(await findGroups(finder)).toHaveLength(1);
  rmSync(join(root, 'proc/7'), { recursive: true });
  rmSync(join(root, 'proc/8'), { recursive: true });
  expect(await findGroups(finder)).toEqual([]);
  addProcess(7, HOST, '0::/docker/buildkit/two\n');
  expect(await findGroups(finder)).toHaveLength(1);
});

test('while no process begins, one look of five lists them; after one has, it is asked as often as ever', async () => {
  const finder = new StepFinder(HOST, root);
  const begin = (pid: number, host: string) => {
    addProcess(pid, host, `0::/docker/buildkit/${pid}\n`);
    add('proc/loadavg', `0.10 0.20 0.30 1/900 ${pid}\n`);
  };
  begin(7, 'example.com');
  for (let look = 0; look <= 5; look++) expect(await findGroups(finder)).toEqual([]);
  addProcess(8, HOST, '0::/docker/buildkit/late\n'); // as where the number of the last one comes late
  const found = [];
  for (let look = 0; look < 5; look++) found.push((await findGroups(finder)).length);
  expect(found).toEqual([0, 0, 0, 0, 1]);
  begin(9, 'example.com');
  expect(await findGroups(finder)).toHaveLength(1); // 8, asked again
  begin(9, HOST); // it has replaced its program
  expect(await findGroups(finder)).toHaveLength(2);
});
