import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';

const FOLDER = mkdtempSync(join(tmpdir(), 'podyard-become-user-'));
chmodSync(FOLDER, 0o755);
afterAll(() => rmSync(FOLDER, { recursive: true }));

/** Prints who it is once it has become the user. */
const PROGRAM = `
  import { readFileSync, readdirSync } from 'node:fs';
  import { becomeUser } from '${new URL('become-user.ts', import.meta.url)}';
  if (process.getuid() === 0) becomeUser(process.env);
  const [, capabilities] = /^CapPrm:\\s+(\\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8'));
  const canReadOwn = readdirSync('/proc/self/fd').length > 0;
  console.log(JSON.stringify({
    user: [process.getuid(), process.getgid()], groups: process.getgroups(), capabilities, canReadOwn, words: process.argv.slice(2),
  }));`;
const NO_CAPABILITIES = '0000000000000000';

// It says who a process is, and what it may do, as Linux does.
describe.skipIf(process.platform !== 'linux' || process.getuid!() !== 0)('a process that is started as root', () => {
  let dataDir: string;
  let socket: string;
  beforeEach(() => {
    dataDir = mkdtempSync(join(FOLDER, 'data-'));
    chmodSync(dataDir, 0o755);
    socket = join(FOLDER, 'engine.sock');
    writeFileSync(socket, '');
    chownSync(socket, 0, 4242);
    program = join(FOLDER, 'program.mjs');
    writeFileSync(program, PROGRAM);
  });

  let program: string;
  function start(user: string, env: Record<string, string> = {}): SpawnSyncReturns<string> {
    const settings = { PODYARD_USER: user, PODYARD_DATA_DIR: dataDir, DOCKER_HOST: `unix://${socket}`, ...env };
    return spawnSync(process.execPath, [program, 'keys', 'list'], { encoding: 'utf8', env: settings });
  }
  function whoIs(user: string, env?: Record<string, string>): object {
    const { stdout, stderr } = start(user, env);
    expect(stderr).toBe('');
    return JSON.parse(stdout);
  }
  const ownerOf = (path: string) => {
    const { uid, gid, mode } = statSync(path);
    return [uid, gid, (mode & 0o777).toString(8)];
  };

  test('becomes the user, with the group of the engine’s socket and no capability, and gets the new data directory', () => {
    expect(whoIs('1234:5678')).toEqual({
      user: [1234, 5678],
      groups: expect.arrayContaining([4242]),
      capabilities: NO_CAPABILITIES,
      canReadOwn: true,
      words: ['keys', 'list'],
    });
    expect(ownerOf(dataDir)).toEqual([1234, 5678, '700']);
    expect(whoIs('1234:5678')).toMatchObject({ user: [1234, 5678] });
  });

  test('becomes the owner of a data directory that somebody has', () => {
    chownSync(dataDir, 777, 778);
    expect(whoIs('1234')).toMatchObject({ user: [777, 778] });
    expect(ownerOf(dataDir)).toEqual([777, 778, '755']);
  });

  test('refuses a directory of root with files in it, which is not changed, and says what to run', () => {
    mkdirSync(join(dataDir, 'storage'));
    const { status, stderr } = start('1234');
    expect([status, stderr]).toEqual([1, expect.stringContaining(`sudo chown -R 1234:1234 ${dataDir}`)]);
    expect(ownerOf(dataDir)).toEqual([0, 0, '755']);
  });

  test('stays root if PODYARD_USER says so', () => {
    expect(whoIs('0:0')).toMatchObject({ user: [0, 0] });
  });

  test('becomes the user without a data directory or a socket, which the server then misses in its own words', () => {
    const env = { PODYARD_DATA_DIR: join(FOLDER, 'none'), DOCKER_HOST: 'tcp://127.0.0.1:2375' };
    expect(whoIs('1234', env)).toMatchObject({ user: [1234, 1234], groups: [1234] });
  });

  test('refuses a name instead of numbers', () => {
    expect(start('podyard').stderr).toContain("PODYARD_USER is 'podyard', but must be numbers");
  });
});
