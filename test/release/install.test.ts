/**
 * The installer with the real program, in a clean Debian 12 without a network: install, upgrade with running workers, come back from
 * broken versions, remove. One machine goes through all of it, in the order of the tests.
 */
import { execFile } from 'node:child_process';
import { generateKeyPairSync, sign } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Job, until } from '../e2e/api.ts';
import { builtRelease } from './built.ts';
import { changedVersion } from './changed-version.ts';
import { debianTree } from './debian-tree.ts';
import { addGatedImage, GATE, GATED_IMAGE, writeGatedWorker } from './gated-worker.ts';
import { Machine, type Outcome } from './machine.ts';

const run = promisify(execFile);
const UPGRADE_MS = 300_000;
const DATA = '/var/lib/podyard';
/** Makes the database newer than what the version before knows. */
const MIGRATION = { 'app/migrations/9000-upgraded.sql': 'create table upgraded (id int);\n' };
const BROKEN_WORKER = `import { start } from './podyard-worker.js';
await start({ handler: async () => { throw new Error('broken on purpose'); } });\n`;

let folder: string;
let machine: Machine;
let version: string;
let key: string;
let endpoint: string;
let finished: Job;
let waiting: string;
beforeAll(async () => {
  const [release, debian] = await Promise.all([builtRelease(), debianTree()]);
  version = release.version;
  folder = await mkdtemp(join(dirname(dirname(release.archive)), 'installed-')); // links need the same disk
  await mkdir(`${folder}/archives`);
  const name = basename(release.archive);
  await run('cp', ['-l', release.archive, `${folder}/archives/${name}`]);
  await run('sh', ['-c', `cd ${folder}/archives && sha256sum ${name} >SHA256SUMS`]);
  await cp(`${release.tree}/install.sh`, `${folder}/archives/install.sh`);
  // Other versions lie where they would be unpacked: that is tried with the first one.
  const make = (as: string, changes: Record<string, string>, place = 'opt/podyard') =>
    changedVersion(release.tree, `${folder}/${place}/${as}`, as, changes);
  await make('9.1.0', MIGRATION, 'trees');
  await publish(`${folder}/trees/9.1.0`, `${folder}/published`);
  await make('9.2.0', { ...MIGRATION, 'app/dist/main.js': 'throw new Error("broken on purpose");\n' });
  await make('9.3.0', { ...MIGRATION, 'app/workers/javascript/echo.js': BROKEN_WORKER });
  await make('9.4.0', { ...MIGRATION, 'app/migrations/9001-fails.sql': 'select 1 / 0;\n' });
  await writeGatedWorker(folder);
  machine = await Machine.start(debian, [folder]);
  await machine.connectToNobody();
}, 500_000);
afterAll(async () => {
  await machine?.remove();
  if (folder) await rm(folder, { recursive: true, force: true });
});

/** Puts the archive of a tree into a folder, with sums that a key has signed, as a release has them. */
async function publish(tree: string, to: string): Promise<void> {
  await mkdir(to);
  const name = `podyard-${basename(tree)}-linux-${process.arch}`;
  const rename = `--transform=s,^[.],${name},S`; // not in what links name
  // Status 1: a link was added to a file meanwhile, as other tests do. The sums say whether its content is right.
  const pack = `tar -I 'gzip -1' -cf "$@" . || [ $? = 1 ]`;
  await run('sh', ['-c', pack, 'sh', `${to}/${name}.tar.gz`, rename, '-C', tree]);
  await run('sh', ['-c', `sha256sum ${name}.tar.gz >SHA256SUMS`], { cwd: to });
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  await writeFile(`${to}/SHA256SUMS.sig`, sign(null, await readFile(`${to}/SHA256SUMS`), privateKey));
  await writeFile(`${to}/podyard.pub`, publicKey.export({ type: 'spki', format: 'pem' }));
}

const install = (...args: string[]): Promise<Outcome> => machine.run(['sh', '/archives/install.sh', ...args]);
const upgradeTo = (to: string): Promise<Outcome> => install('--upgrade', '--from', `/opt/podyard/${to}`);

/** Calls the server as a client on the machine does, with the key or with a session's headers. */
async function call<T>(
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = { authorization: `Bearer ${key}` },
): Promise<T> {
  const script = `const [headers, method, path, body] = process.argv.slice(1);
    const init = { method, headers: { ...JSON.parse(headers), 'content-type': 'application/json' }, ...(body && { body }) };
    const answer = await fetch('http://127.0.0.1:8080' + path, init);
    console.log(JSON.stringify({ cookies: answer.headers.getSetCookie(), ...(await answer.json()) }));
    if (!answer.ok) process.exit(1);`;
  const node = '/opt/podyard/current/node/bin/node';
  const args = ['--input-type=module', '-e', script, JSON.stringify(headers), method, path];
  const { code, stdout, output } = await machine.run([node, ...args, body ? JSON.stringify(body) : '']);
  expect({ code, output }).toEqual({ code: 0, output: expect.anything() });
  return JSON.parse(stdout) as T;
}
const jobOf = (id: string) => call<Job>('GET', `/v2/${endpoint}/status/${id}`);
const serverStatus = async () => {
  const pid = (await machine.read(`${DATA}/server.pid`)).split(' ')[0];
  return (await machine.run(['cat', `/proc/${pid}/status`])).stdout;
};

test(
  'a port in use is refused in a sentence, and nothing is started',
  async () => {
    await machine.sh(`perl -MSocket -e 'socket S,PF_INET,SOCK_STREAM,0; setsockopt S,SOL_SOCKET,SO_REUSEADDR,1;
    bind S,sockaddr_in(8080,INADDR_LOOPBACK); listen S,1; sleep 300' >/dev/null 2>&1 & echo $! >/run/listener
    until grep -q ':1F90 .* 0A ' /proc/net/tcp; do sleep 0.02; done`);
    const { code, output } = await install();
    expect(output).toContain('http://127.0.0.1:8080 is in use by another program: choose another port with --port');
    expect(code).toBe(1);
    expect(machine.has('/opt/podyard/current')).toBe(false);
    await machine.sh('kill $(cat /run/listener)');
  },
  UPGRADE_MS,
);

test(
  'an installation from the archive proves itself with a job, and prints the first key once, where nobody else reads it',
  async () => {
    await machine.sh(`perl -e '$/ = undef; $| = 1; while (1) { for (glob "/proc/[0-9]*/cmdline") { open F, $_ or next; print "$&\\n" if <F> =~ /pyk_[0-9a-f]{20,}/ }
      select undef, undef, undef, 0.005 }' >/run/seen 2>/dev/null & echo $! >/run/watcher`);
    const { code, stdout, output } = await install();
    expect(output).toContain('one job ran in');
    expect(output).toMatch(/^! +engine +The container engine cannot be reached.*\n.*apt-get install docker\.io$/m);
    expect(code).toBe(0);
    expect(stdout).toContain(`Podyard ${version} is ready at http://127.0.0.1:8080`);
    key = /^Your first API key, shown only once: (pyk_\w+)$/m.exec(stdout)![1]!;
    const seen = `pyk_${'0'.repeat(24)}`; // the watcher does see what is there
    await machine.sh(
      `perl -e 'sleep 60' ${seen} & until grep -q ${seen} /run/seen; do sleep 0.02; done; kill $! $(cat /run/watcher)`,
    );
    expect(new Set((await machine.read('/run/seen')).trim().split('\n'))).toEqual(new Set([seen]));
    expect((await machine.run(['grep', '-rlF', key, '/etc', '/var', '/opt', '/run', '/tmp', '/root'])).stdout).toBe('');
    const { endpoints } = await call<{ endpoints: unknown[] }>('GET', '/v2/serverless');
    expect(endpoints).toEqual([]); // the proof has removed its own
  },
  UPGRADE_MS,
);

test('the server runs as its user with one capability, and its data and settings are nobody else’s', async () => {
  const status = await serverStatus();
  const uid = (await machine.sh('id -u podyard')).stdout.trim();
  expect(status).toMatch(new RegExp(`^Uid:\t${uid}\t${uid}\t`, 'm'));
  expect(status).toMatch(/^CapEff:\t0000000000000400$/m);
  expect(status).toMatch(/^NoNewPrivs:\t1$/m);
  const { stdout } = await machine.sh(`stat -c '%a %U' ${DATA} /etc/podyard.env`);
  expect(stdout).toBe('700 podyard\n600 root\n');
});

test(
  'a second run changes nothing and prints no key',
  async () => {
    const before = await serverStatus();
    const { code, output } = await install();
    expect(code).toBe(0);
    expect(output).not.toContain('API key');
    expect(output).not.toContain('proving');
    expect(/^Pid:.*/m.exec(await serverStatus())?.[0]).toBe(/^Pid:.*/m.exec(before)?.[0]);
  },
  UPGRADE_MS,
);

test('another version needs --upgrade', async () => {
  const { code, output } = await install('--from', '/trees/9.1.0');
  expect(output).toContain(`Podyard ${version} is installed: add --upgrade to change to 9.1.0`);
  expect(code).toBe(1);
});

test(
  'jobs run, and some wait',
  async () => {
    await machine.sh(`${addGatedImage(DATA)} && touch ${GATE}`);
    const make = { name: 'work', image: GATED_IMAGE, gpu: { pools: ['ADA_24'] } };
    const scaling = { type: 'REQUEST_COUNT', value: 1, idleTimeout: 60 };
    const { id } = await call<{ id: string }>('POST', '/v2/serverless', {
      ...make,
      workers: { min: 0, max: 1 },
      scaling,
    });
    endpoint = id;
    finished = await call<Job>('POST', `/v2/${endpoint}/runsync`, { input: { echo: 'done' } });
    expect(finished).toMatchObject({ status: 'COMPLETED', output: 'done' });
    await call('PATCH', `/v2/serverless/${endpoint}`, { workers: { max: 0 } });
    waiting = (await call<Job>('POST', `/v2/${endpoint}/run`, { input: { echo: 'waited' } })).id;
  },
  UPGRADE_MS,
);

/** The installer ended as it does after a version that failed, and what was there before is there again. */
async function expectReturned({ code, output }: Outcome, broken: string, why: string): Promise<void> {
  expect(output).toContain(why);
  expect(output).toContain(`${broken} failed, and ${version} is back with its data`);
  expect(code).toBe(1);
  expect((await machine.run(['podyard', '--version'])).stdout.trim()).toBe(version);
  expect(await jobOf(finished.id)).toMatchObject({ status: 'COMPLETED', output: 'done' });
  expect(await jobOf(waiting)).toMatchObject({ status: 'IN_QUEUE' });
  expect(machine.has('/opt/podyard/.upgrade')).toBe(false);
}

test.each([
  ['does not start', '9.2.0', 'broken on purpose'],
  ['starts, but runs no job', '9.3.0', 'the job of the proof ended as FAILED'],
])(
  'a version that %s: the old one comes back with its data',
  async (_, broken, why) => expectReturned(await upgradeTo(broken), broken, why),
  UPGRADE_MS,
);

test(
  'a version that fails in the middle of the migration, and whose installer is killed meanwhile: the next run brings the old one back',
  async () => {
    const { code } =
      await machine.sh(`sh /archives/install.sh --upgrade --from /opt/podyard/9.4.0 >/run/killed.log 2>&1 &
      until grep -q 'proving that 9.4.0 works' /run/killed.log; do sleep 0.05; done; kill -KILL $!`);
    expect(code).toBe(0);
    expect(await machine.read('/opt/podyard/.upgrade')).toMatch(new RegExp(`^proving ${version} 9\\.4\\.0 /`));
    const again = await upgradeTo('9.4.0');
    expect(again.output).toContain('an earlier run was ended while it changed to 9.4.0: finishing that');
    await expectReturned(again, '9.4.0', 'division by zero');
  },
  UPGRADE_MS,
);

test(
  '`podyard upgrade` keeps data, running workers and sessions, and removes versions beyond the last two',
  async () => {
    await call('PATCH', `/v2/serverless/${endpoint}`, { workers: { max: 1 } });
    await until('the waiting job has run', async () => (await jobOf(waiting)).status === 'COMPLETED');
    await machine.sh(`rm ${GATE}`);
    const { id } = await call<Job>('POST', `/v2/${endpoint}/run`, { input: { echo: 'long' } });
    await until('a worker has it', async () => (await jobOf(id)).status === 'IN_PROGRESS');
    const { workerId } = await jobOf(id);
    const session = await call<{ id: string; token: string; cookies: string[] }>('POST', '/sign-in/key', {});
    const signedIn = {
      'x-podyard-session': `${session.id}.${session.token}`,
      'sec-fetch-site': 'same-origin',
      cookie: session.cookies.at(-1)!.split(';', 1)[0]!,
    };

    const { code, output } = await machine.sh('podyard upgrade --from /published --key /published/podyard.pub');
    expect(output).toContain('SHA256SUMS is signed by the key /published/podyard.pub');
    expect(output).toContain('Podyard 9.1.0 is ready at');
    expect(output).not.toContain('API key');
    expect(code).toBe(0);
    expect((await machine.run(['podyard', '--version'])).stdout.trim()).toBe('9.1.0');
    expect((await jobOf(id)).status).toBe('IN_PROGRESS');
    const { sessions } = await call<{ sessions: { id: string }[] }>('GET', '/v2/account/sessions', undefined, signedIn);
    expect(sessions.map((one) => one.id)).toContain(session.id);
    await machine.sh(`touch ${GATE}`);
    await until('its job ends', async () => (await jobOf(id)).status === 'COMPLETED', UPGRADE_MS);
    const ended = await jobOf(id);
    expect(ended).toMatchObject({ output: 'long', workerId });
    expect(ended.retries ?? 0).toBe(0);
    expect(await jobOf(finished.id)).toMatchObject({ status: 'COMPLETED', output: 'done' });
    const { stdout } = await machine.sh('ls /opt/podyard; ls -d /var/lib/podyard/postgres-of-* | wc -l');
    expect(stdout.trim().split('\n')).toEqual([version, '9.1.0', 'current', 'podyard.pub', '3']);
  },
  UPGRADE_MS * 2,
);

/** Returns the command lines of a user's processes. */
async function processesOf(user: string): Promise<string> {
  const script = `for p in /proc/[0-9]*; do [ "$(stat -c %U "$p")" != ${user} ] || tr '\\0' ' ' <"$p/cmdline"; done`;
  return (await machine.sh(script)).stdout;
}

test(
  'an older version is refused: over a newer one, and on the data of a newer one',
  async () => {
    const over = await install('--upgrade');
    expect(over.output).toContain(`Podyard 9.1.0 is installed, which is newer than ${version}`);
    expect(over.code).toBe(1);

    expect(await processesOf('podyard')).toContain('postgres');
    expect((await install('--uninstall')).output).toContain('Podyard is removed; its data is in /var/lib/podyard');
    expect(machine.has('/opt/podyard/current')).toBe(false);
    expect(machine.has('/etc/systemd/system/podyard.service')).toBe(false);
    expect(machine.has(`${DATA}/postgres/PG_VERSION`)).toBe(true);
    expect(await processesOf('podyard')).toBe('');

    const beneath = await install();
    expect(beneath.output).toContain('the database is newer than this Podyard: it has migrations 9000-upgraded.sql');
    expect(beneath.code).toBe(1);
    expect(machine.has('/opt/podyard/current')).toBe(false);
  },
  UPGRADE_MS,
);

test('all this time, nothing was sent to the network', async () => {
  expect(await machine.packetsSent()).toBe(0);
  await machine.sh('timeout 1 getent hosts example.com');
  expect(await machine.packetsSent()).toBeGreaterThan(0); // what looks for another machine is seen
});

test(
  '--purge removes everything',
  async () => {
    const { code, output } = await install('--uninstall', '--purge');
    expect(output).toContain('Podyard is removed\n');
    expect(code).toBe(0);
    const { stdout } = await machine.sh(
      'ls -d /opt/podyard/* /var/lib/podyard /etc/podyard.env /usr/local/bin/podyard; id podyard',
    );
    expect(stdout).toBe('');
  },
  UPGRADE_MS,
);
