/**
 * The installer is killed at lines spread over its run, and run again. The program is a stand-in, which keeps its data as carefully
 * as the real one and starts in a moment; install.test.ts kills it once over the real one.
 */
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { debianTree } from './debian-tree.ts';
import { Machine, type Outcome } from './machine.ts';
import { makeStandInVersion, STAND_IN_NODE } from './stand-in-version.ts';

const KILLS = 7;
const OLD = ['0001-a.sql'];
const NEW = ['0001-a.sql', '0002-b.sql'];
/** Runs the installer in bash, which can end the process group before the command whose number is KILL_AT. */
const KILLABLE = `set -o functrace; n=0
  trap 'n=$((n + 1)); if [ $n = "\${KILL_AT:-}" ]; then kill -KILL 0; fi; [ -z "\${COUNT:-}" ] || echo $n >/tmp/count' DEBUG
  . "$0"`;

let folder: string;
let base: Machine;
let debian: string;
const all: Machine[] = [];

/** A machine with 0.2.0, two jobs, and the trees of the next versions. */
async function installed(): Promise<Machine> {
  const machine = await Machine.start(debian, [base.layer, folder]);
  all.push(machine);
  return machine;
}
const install = (machine: Machine, version: string, args: string[] = [], env = {}): Promise<Outcome> =>
  machine.run(['bash', '--posix', '-c', KILLABLE, `/archives/${version}/install.sh`, '--wait', '10', ...args], env);

beforeAll(async () => {
  debian = await debianTree();
  folder = await mkdtemp(join(tmpdir(), 'podyard-archives-'));
  await mkdir(`${folder}${dirname(STAND_IN_NODE)}`, { recursive: true });
  await cp(process.execPath, folder + STAND_IN_NODE);
  await makeStandInVersion(`${folder}/archives/0.2.0`, { version: '0.2.0', migrations: OLD });
  await makeStandInVersion(`${folder}/archives/0.3.0`, { version: '0.3.0', migrations: NEW });
  await makeStandInVersion(`${folder}/archives/0.4.0`, { version: '0.4.0', migrations: NEW, broken: 'job' });
  await makeStandInVersion(`${folder}/archives/0.5.0`, { version: '0.5.0', migrations: NEW, postgres: 19 });
  await makeStandInVersion(`${folder}/archives/0.6.0`, {
    version: '0.6.0',
    migrations: OLD,
    postgres: 19,
    broken: 'job',
  });
  base = await Machine.start(debian, [folder]);
  all.push(base);
  expect(await install(base, '0.2.0')).toMatchObject({ code: 0 });
  expect(await base.sh('podyard add one && podyard add two && systemctl stop podyard')).toMatchObject({ code: 0 });
  await base.halt();
}, 400_000);
afterAll(async () => {
  for (const machine of all.reverse()) await machine.remove();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const jobsOf = async (machine: Machine) => (await machine.read('/var/lib/podyard/postgres/jobs')).trim().split('\n');

/** A version that a reboot would start has data that it can run on, and whatever was accepted. */
async function expectWhole(machine: Machine, jobs: string[]): Promise<void> {
  const { stdout: current } = await machine.sh('cat /opt/podyard/current/VERSION 2>/dev/null | head -n 1');
  if (current === '') return;
  const schema = (await machine.read('/var/lib/podyard/postgres/schema')).trim().split('\n');
  expect(current.trim() === '0.2.0' ? OLD : NEW).toEqual(expect.arrayContaining(schema));
  expect(await jobsOf(machine)).toEqual(jobs);
}
const majorOf = (machine: Machine) => machine.read('/var/lib/podyard/postgres/PG_VERSION');

async function countCommands(machine: Machine, version: string, args: string[]): Promise<number> {
  await install(machine, version, args, { COUNT: 'yes' });
  return Number(await machine.read('/tmp/count'));
}

/** The same share of every stretch of the run, at another place in it each time. */
const places = (count: number) =>
  Array.from({ length: KILLS }, (_, index) => 1 + Math.floor(((index + Math.random()) / KILLS) * count));

/** Two at a time. */
async function each(kills: number[], work: (at: number) => Promise<void>): Promise<void> {
  const queue = [...kills];
  const next = async (): Promise<void> => {
    for (let at = queue.shift(); at !== undefined; at = queue.shift()) {
      await work(at).catch((error) => {
        throw new Error(`killed before command ${at}: ${error.message}`, { cause: error });
      });
    }
  };
  await Promise.all([next(), next()]);
}

describe('killed at any line', () => {
  test('an installation is done by the next run, which prints the first key', async () => {
    const fresh = () => Machine.start(debian, [folder]);
    const counted = await fresh();
    all.push(counted);
    const kills = places(await countCommands(counted, '0.2.0', []));
    await each(kills, async (at) => {
      const machine = await fresh();
      all.push(machine);
      const killed = await install(machine, '0.2.0', [], { KILL_AT: String(at) });
      expect(killed.code).not.toBe(0);
      const again = await install(machine, '0.2.0');
      expect(again).toMatchObject({ code: 0 });
      const printed = /pyk_\w+/.exec(killed.output + again.output)?.[0];
      expect((await readFile(`${machine.root}/var/lib/podyard/keys`, 'utf8')).split('\n')).toContain(printed);
      expect(machine.has('/opt/podyard/.first-key')).toBe(false);
      expect(await machine.sh('podyard add one')).toMatchObject({ code: 0 });
      await machine.remove();
    });
  });

  test.each([
    ['an upgrade', '0.3.0', '18\n'],
    ['an upgrade to another PostgreSQL', '0.5.0', '19\n'],
  ])(
    '%s leaves the old or the new version with all jobs, and the next run finishes it',
    async (_, version, major) => {
      const kills = places(await countCommands(await installed(), version, ['--upgrade']));
      await each(kills, async (at) => {
        const machine = await installed();
        const killed = await install(machine, version, ['--upgrade'], { KILL_AT: String(at) });
        expect(killed.code).not.toBe(0);
        await expectWhole(machine, ['one', 'two']);
        // As after a reboot, which starts whatever is there.
        const accepted =
          at % 2 === 0 && (await machine.sh('systemctl start podyard; sleep 1; podyard add three')).code === 0;
        const again = await install(machine, version, ['--upgrade']);
        expect(again).toMatchObject({ code: 0 });
        expect(await machine.read('/opt/podyard/current/VERSION')).toMatch(new RegExp(`^${version}\n`));
        expect(await majorOf(machine)).toBe(major);
        expect(await jobsOf(machine)).toEqual(['one', 'two', ...(accepted ? ['three'] : [])]);
        expect(await machine.sh('podyard add four')).toMatchObject({ code: 0 });
        await machine.remove();
      });
    },
    120_000,
  );

  test.each(['0.4.0', '0.6.0'])(
    'an upgrade to the broken version %s ends with the old one and its data',
    async (version) => {
      const kills = places(await countCommands(await installed(), version, ['--upgrade']));
      await each(kills, async (at) => {
        const machine = await installed();
        await install(machine, version, ['--upgrade'], { KILL_AT: String(at) });
        await expectWhole(machine, ['one', 'two']);
        const again = await install(machine, version, ['--upgrade']);
        expect(again.output).toContain(`${version} failed, and 0.2.0 is back with its data`);
        expect(again.code).toBe(1);
        expect(await majorOf(machine)).toBe('18\n');
        await expectWhole(machine, ['one', 'two']);
        expect(await machine.sh('podyard add three')).toMatchObject({ code: 0 });
        expect(await jobsOf(machine)).toEqual(['one', 'two', 'three']);
        expect(await machine.read('/opt/podyard/current/VERSION')).toMatch(/^0\.2\.0\n/);
        await machine.remove();
      });
    },
    120_000,
  );
});

test('an upgrade that was killed before the old version was back in its place is finished by the next run', async () => {
  const machine = await installed();
  await install(machine, '0.4.0', ['--upgrade']);
  const mark = `rm /opt/podyard/current; echo "returning 0.2.0 0.4.0 $(ls -d /var/lib/podyard/backups/before-*)" >/opt/podyard/.upgrade`;
  expect(await machine.sh(`systemctl stop podyard; ${mark}`)).toMatchObject({ code: 0 });
  const { output } = await install(machine, '0.4.0', ['--upgrade']);
  expect(output).toContain('an earlier run was ended while it went back to 0.2.0: finishing that');
  expect(output).toContain('0.4.0 failed, and 0.2.0 is back with its data');
  expect(await jobsOf(machine)).toEqual(['one', 'two']);
});

test('an upgrade that was killed between the data of the new version and that of the old one is finished by the next run', async () => {
  const machine = await installed();
  await install(machine, '0.6.0', ['--upgrade']);
  const between = `cd /var/lib/podyard && mkdir .returned && mv postgres .returned/postgres && chown -R podyard: .returned
    rm /opt/podyard/current; echo "returning 0.2.0 0.6.0 $(ls -d /var/lib/podyard/backups/before-*)" >/opt/podyard/.upgrade`;
  expect(await machine.sh(`systemctl stop podyard; ${between}`)).toMatchObject({ code: 0 });
  const { output } = await install(machine, '0.6.0', ['--upgrade']);
  expect(output).toContain('0.6.0 failed, and 0.2.0 is back with its data');
  expect(await jobsOf(machine)).toEqual(['one', 'two']);
});

test('an installation whose upgrade was killed is removed, and its data stays', async () => {
  const machine = await installed();
  const mark = 'echo "proving 0.2.0 0.3.0 none" >/opt/podyard/.upgrade';
  expect(await machine.sh(mark)).toMatchObject({ code: 0 });
  const { output } = await install(machine, '0.2.0', ['--uninstall']);
  expect(output).toContain('Podyard is removed; its data is in /var/lib/podyard');
  expect(machine.has('/opt/podyard/.upgrade')).toBe(false);
  expect(await jobsOf(machine)).toEqual(['one', 'two']);
});

test('an upgrade that fails keeps its data beside what another of the same second has kept', async () => {
  const machine = await installed();
  const takeNames = `for later in 0 1 2 3; do
      mkdir -p "/var/lib/podyard/postgres-of-0.4.0-$(date -u -d "+$later seconds" +%Y%m%dT%H%M%SZ)/kept"
    done`;
  expect(await machine.sh(takeNames)).toMatchObject({ code: 0 });
  const { output } = await install(machine, '0.4.0', ['--upgrade']);
  expect(output).toContain('0.4.0 failed, and 0.2.0 is back with its data');
  const kept = await machine.sh(
    'find /var/lib/podyard/postgres-of-0.4.0-* -name jobs; ls -d /var/lib/podyard/postgres-of-*/kept',
  );
  expect(kept.stdout.trim().split('\n')).toHaveLength(1 + 4);
});
