/** The installer and the hardened unit under a systemd that has booted; install.test.ts has the rest, with a stand-in for it. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../e2e/api.ts';
import { builtRelease } from './built.ts';
import { Machine } from './machine.ts';
import { systemdTree } from './systemd-tree.ts';

let folder: string;
let machine: Machine;
let env: Record<string, string>;
beforeAll(async () => {
  const [release, debian] = await Promise.all([builtRelease(), systemdTree()]);
  folder = await mkdtemp(join(dirname(dirname(release.archive)), 'booted-'));
  await mkdir(`${folder}/opt/podyard`, { recursive: true });
  await promisify(execFile)('cp', ['-al', release.tree, `${folder}/opt/podyard/${release.version}`]); // as if unpacked before
  await cp(`${release.tree}/install.sh`, `${folder}/install.sh`);
  machine = await Machine.boot(debian, [folder]);
  const { code, output } = await machine.run(['sh', '/install.sh', '--from', `/opt/podyard/${release.version}`]);
  expect(output).toContain('is ready at http://127.0.0.1:8080');
  expect(code).toBe(0);
  env = { PODYARD_URL: 'http://127.0.0.1:8080', PODYARD_API_KEY: /only once: (pyk_\w+)/.exec(output)![1]! };
}, 500_000);
afterAll(async () => {
  await machine?.remove();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const podyard = (...args: string[]) => machine.run(['podyard', ...args], env);

test('the service is enabled, confined, and its journal never had the key', async () => {
  const { stdout } = await machine.sh(`systemctl is-enabled podyard; systemctl is-active podyard
    cat /proc/$(systemctl show --property MainPID --value podyard)/status; journalctl --no-pager | grep -c "${env.PODYARD_API_KEY}"`);
  expect(stdout).toMatch(/^enabled\nactive\n/);
  expect(stdout).toMatch(/^Seccomp:\t2$/m);
  expect(stdout).toMatch(/^CapEff:\t0000000000000400$/m);
  expect(stdout).toMatch(/\n0\n$/);
});

test('workers run in the confined service, and go on while it is restarted', async () => {
  const made = await podyard('endpoints', 'create', 'work', '--image', 'podyard/echo-js:dev', '--pool', 'ADA_24');
  expect(made).toMatchObject({ code: 0 });
  const job = podyard('run', 'work', '{"echo": "survived", "delayMs": 8000}');
  await until('a worker is busy', async () => /RUNNING/.test((await podyard('endpoints', 'workers', 'work')).stdout));
  expect(await machine.run(['systemctl', 'restart', 'podyard'])).toMatchObject({ code: 0 });
  const { code, output } = await job;
  expect(output).toContain('survived');
  expect(code).toBe(0);
});

test('the server comes back when it is killed', async () => {
  const pid = async () => (await machine.sh('systemctl show --property MainPID --value podyard')).stdout.trim();
  const killed = await pid();
  await machine.run(['kill', '-KILL', killed]);
  await until('another one answers', async () => {
    return (await pid()) !== killed && (await podyard('endpoints', 'list')).code === 0;
  });
});
