import { chmod, chown, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { testTerminal } from '../../../test/test-terminal.ts';
import { readConfig } from '../../config/config.ts';
import type { Flags } from '../../config/settings.ts';
import { runCli } from '../run-cli.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { findStorage } from './installation.ts';
import { readSystemdUnit, type SystemdUnit } from './systemd-unit.ts';

const SHIPPED = fileURLToPath(new URL('../../../release/podyard.service', import.meta.url));

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podyard-unit-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}
const UNIT = 'etc/systemd/system/podyard.service';

describe('the unit of systemd', () => {
  test('that is shipped keeps its data in /var/lib/podyard, as the user podyard', async () => {
    await mkdir(dirname(join(root, UNIT)), { recursive: true });
    await copyFile(SHIPPED, join(root, UNIT));
    expect(await readSystemdUnit(root)).toMatchObject({
      path: join(root, UNIT),
      user: 'podyard',
      env: { PODYARD_DATA_DIR: '/var/lib/podyard' },
      unreadable: [],
    });
  });

  test('takes variables from its files, then from drop-ins and options, as systemd and the server do', async () => {
    await put(
      UNIT,
      '[Service]\nWorkingDirectory=/srv/one\nEnvironmentFile=-/etc/podyard.env\nExecStart=/bin/podyard serve\n',
    );
    expect((await readSystemdUnit(root))?.env).toEqual({ PODYARD_DATA_DIR: '/srv/one/.podyard' });
    await put('etc/podyard.env', '# ours\nPODYARD_DATABASE_URL="postgres://db/podyard"\n');
    await put(`${UNIT}.d/20-more.conf`, '[Service]\nEnvironment="PODYARD_DATA_DIR=/srv/two words" A=b\n');
    expect((await readSystemdUnit(root))?.env).toEqual({
      PODYARD_DATA_DIR: '/srv/two words',
      PODYARD_DATABASE_URL: 'postgres://db/podyard',
      A: 'b',
    });
    await put(
      `${UNIT}.d/30-start.conf`,
      '[Service]\nExecStart=\nExecStart=/bin/podyard serve \\\n  --data-dir=/srv/three\n',
    );
    expect((await readSystemdUnit(root))?.env.PODYARD_DATA_DIR).toBe('/srv/three');
  });

  test('of the user’s own systemd comes before the system’s', async () => {
    const own = join(root, 'home/ada/.config/systemd/user');
    await mkdir(own, { recursive: true });
    await writeFile(join(own, 'podyard.service'), '[Service]\nEnvironment=PODYARD_DATA_DIR=/home/ada/data\n');
    await mkdir(join(root, 'etc/systemd/system'), { recursive: true });
    await writeFile(join(root, UNIT), '[Service]\nUser=podyard\nEnvironment=PODYARD_DATA_DIR=/var/lib/podyard\n');
    expect(await readSystemdUnit(root, '/home/ada')).toMatchObject({
      path: join(own, 'podyard.service'),
      env: { PODYARD_DATA_DIR: '/home/ada/data' },
    });
    expect(await readSystemdUnit(root, '/home/eve')).toMatchObject({ env: { PODYARD_DATA_DIR: '/var/lib/podyard' } });
  });

  test('may be missing', async () => {
    expect(await readSystemdUnit(root)).toBeNull();
  });
});

describe('backup without options', () => {
  const noted: string[] = [];
  const find = (flags: Flags, unit: SystemdUnit | null, env: Record<string, string> = {}) => {
    noted.length = 0;
    const pieces = {
      storage: (given: Flags, more = {}) =>
        readConfig(given, { PODYARD_DATA_DIR: join(root, 'here'), ...more, ...env }),
      systemdUnit: async () => unit,
      note: (text: string) => noted.push(text),
    };
    return findStorage(pieces as unknown as CliPieces, flags);
  };
  const unitOf = (env: Record<string, string>, unreadable: string[] = []): SystemdUnit => ({
    path: '/etc/systemd/system/podyard.service',
    user: 'podyard',
    env,
    unreadable,
  });

  test('takes the data of the systemd unit, and says so', async () => {
    await mkdir(join(root, 'there/postgres'), { recursive: true });
    const unit = unitOf({ PODYARD_DATA_DIR: join(root, 'there') });
    expect(await find({}, unit)).toMatchObject({ dataDir: join(root, 'there') });
    expect(noted).toEqual([
      `Backing up the embedded database in ${join(root, 'there')}, which /etc/systemd/system/podyard.service names.`,
    ]);
    const external = unitOf({ PODYARD_DATABASE_URL: 'postgres://me:secret@db.lan/podyard' }, ['/etc/podyard.env']);
    expect(await find({}, external)).toMatchObject({ databaseUrl: 'postgres://me:secret@db.lan/podyard' });
    expect(noted.join('\n')).toMatch(
      /^Backing up postgresql:\/\/db\.lan\/podyard, .*\n! You may not read \/etc\/podyard\.env/,
    );
  });

  test('takes what options name, and what is in this folder, and says so', async () => {
    const unit = unitOf({ PODYARD_DATA_DIR: join(root, 'there') });
    expect(await find({ dataDir: join(root, 'named') }, unit)).toMatchObject({ dataDir: join(root, 'named') });
    expect(await find({ databaseUrl: 'postgres://db/x' }, unit)).toMatchObject({ databaseUrl: 'postgres://db/x' });
    expect(noted).toEqual(['Backing up postgresql://db/x.']);
    await mkdir(join(root, 'here/postgres'), { recursive: true });
    expect(await find({}, unit)).toMatchObject({ dataDir: join(root, 'here') });
    expect(noted).toEqual([`Backing up the embedded database in ${join(root, 'here')}.`]);
  });

  test('says how to run it as the user that the data belongs to', async () => {
    await chmod(root, 0o755);
    const unit = unitOf({ PODYARD_DATA_DIR: process.getuid?.() === 0 ? join(root, 'others') : '/' });
    if (process.getuid?.() === 0) {
      await mkdir(join(root, 'others'));
      await chown(join(root, 'others'), 65534, 65534);
    }
    const refusal = 'belongs to the user podyard, who alone can open the database: run this with `sudo -u podyard`';
    await expect(find({}, unit)).rejects.toThrow(refusal);
    const notYet = unitOf({ PODYARD_DATA_DIR: join(unit.env.PODYARD_DATA_DIR!, '.podyard') });
    await expect(find({}, notYet)).rejects.toThrow(refusal);
  });
});

describe('the other commands on an installation', () => {
  /** Runs a command with pieces that refuse to act, and returns the variables that they were given. */
  const variablesOf = async (...args: string[]) => {
    const given: unknown[] = [];
    noted.length = 0;
    const refuse = (more: unknown) => {
      given.push(more);
      throw new Error('stopped here');
    };
    const pieces = {
      ...{ terminal: testTerminal(), print: () => {}, note: (text: string) => noted.push(text) },
      systemdUnit: async () => ({ path: '/etc/podyard.service', user: null, env: UNIT_ENV, unreadable: [] }),
      storage: (flags: Flags, more?: object) => ({
        ...readConfig(flags, { PODYARD_DATA_DIR: join(root, 'here'), ...more }),
        withEmbedded: async () => refuse(more),
      }),
      withDatabase: async (_flags: Flags, _work: unknown, more: unknown) => refuse(more),
      doctor: async (_flags: Flags, _isJson: boolean, more: unknown) => refuse(more),
    };
    await runCli(pieces as unknown as CliPieces, args);
    return given;
  };
  const noted: string[] = [];
  let UNIT_ENV: Record<string, string>;
  beforeEach(async () => {
    UNIT_ENV = { PODYARD_DATA_DIR: join(root, 'there') };
    await mkdir(join(root, 'there/postgres'), { recursive: true });
  });

  test.each([
    ['move', '--to', 'postgres://db/x'],
    ['stop-workers'],
    ['users', 'list'],
    ['keys', 'list'],
    ['secrets', 'rotate-key'],
    ['simulate', 'show'],
    ['templates', 'mark', 'x', 'none'],
    ['doctor'],
  ])('%s takes that of the systemd unit, with its variables', async (...args) => {
    expect(await variablesOf(...args)).toEqual([UNIT_ENV]);
    expect(await variablesOf(...args, '--data-dir', join(root, 'there'))).not.toEqual([UNIT_ENV]);
  });
  test('restore takes it, too, and says so', async () => {
    await variablesOf('restore', join(root, 'missing.backup'));
    expect(noted[0]).toBe(
      `Restoring into the embedded database in ${join(root, 'there')}, which /etc/podyard.service names.`,
    );
  });
});
