/** The installer and the hardened unit under a systemd that has booted; install.test.ts has the rest, with a stand-in for it. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
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
  await promisify(execFile)('cp', ['-al', release.tree, `${folder}/unpacked`]);
  await mkdir(`${folder}/unpacked/app/node_modules/.cache/podyard`, { recursive: true });
  await writeFile(`${folder}/unpacked/app/node_modules/.cache/podyard/of-root`, '', { mode: 0o600 }); // as if run there
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
/** Returns what a command prints. Throws what it says if it fails. */
async function printed(...args: string[]): Promise<string> {
  const { code, output } = await podyard(...args);
  if (code !== 0) throw new Error(output);
  return output;
}

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
  const id = (await printed('run', 'work', '{"echo": "survived", "delayMs": 8000}', '--async')).trim();
  await until('a worker is busy', async () => (await printed('workers', 'work')).includes('RUNNING'));
  expect(await machine.run(['systemctl', 'restart', 'podyard'])).toMatchObject({ code: 0 });
  await until('the job ends', async () => (await printed('jobs', 'get', 'work', id)).includes('COMPLETED'));
  expect(await printed('jobs', 'get', 'work', id)).not.toMatch(/retries\W+[1-9]/i);
});

test('the server comes back when it is killed', async () => {
  const pid = async () => (await machine.sh('systemctl show --property MainPID --value podyard')).stdout.trim();
  const killed = await pid();
  expect(await machine.sh(`kill -KILL ${killed}`)).toMatchObject({ code: 0 });
  await until('another one answers', async () => {
    return (await pid()) !== killed && (await printed('endpoints', 'list')).includes('work');
  });
});

test('--user installs a service of the user’s own systemd, which runs jobs, comes back when it is killed, and is removed', async () => {
  const home = '/home/ada';
  const runtime = '/run/user/1000';
  const manager = await machine.sh(`useradd --create-home --uid 1000 ada && install -d -o ada -m 700 ${runtime} &&
    systemd-run --quiet --unit=ada --uid=1000 --property=Delegate=yes --setenv=XDG_RUNTIME_DIR=${runtime} \
      --setenv=HOME=${home} /lib/systemd/systemd --user`);
  expect(manager, manager.output).toMatchObject({ code: 0 });
  const asAda = (command: string, more: Record<string, string> = {}) =>
    machine.run(['setpriv', '--reuid=ada', '--regid=ada', '--init-groups', 'sh', '-c', `cd ${home} && ${command}`], {
      HOME: home,
      XDG_RUNTIME_DIR: runtime,
      ...more,
    });
  await until('her systemd is up', async () => (await asAda('systemctl --user show-environment')).code === 0);

  const { code, output } = await asAda(`sh /install.sh --user --port 8090 --from /unpacked`);
  expect(output).toContain('is ready at http://127.0.0.1:8090');
  expect(output).toContain('It ends when you log out, unless you run: loginctl enable-linger');
  expect(code).toBe(0);
  const own = { PODYARD_URL: 'http://127.0.0.1:8090', PODYARD_API_KEY: /only once: (pyk_\w+)/.exec(output)![1]! };
  const ada = async (args: string) => {
    const done = await asAda(`.local/bin/podyard ${args}`, own);
    expect(done, done.output).toMatchObject({ code: 0 });
    return done.stdout;
  };
  await ada('endpoints create hers --image podyard/echo-js:dev --pool ADA_24');
  expect(await ada(`run hers '{"echo": "as ada"}'`)).toContain('as ada');
  const pid = async () => (await asAda('systemctl --user show --property MainPID --value podyard')).stdout.trim();
  const killed = await pid();
  expect((await machine.sh(`stat -c %U /proc/${killed}; kill -KILL ${killed}`)).stdout).toBe('ada\n');
  await until('another one answers', async () => {
    return (await pid()) !== killed && (await asAda('.local/bin/podyard endpoints list', own)).output.includes('hers');
  });
  const removed = await asAda('sh /install.sh --user --uninstall --purge');
  expect(removed, removed.output).toMatchObject({ code: 0 });
  expect((await machine.sh(`find ${home} -name '*podyard*'`)).stdout).toBe('');
  expect((await machine.sh('systemctl is-active podyard')).stdout).toBe('active\n'); // the system's own is another
});
