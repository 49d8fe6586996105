import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeDeep } from '../../../test/make-deep.ts';
import { runtimeContract } from '../../../test/runtime-contract/contract.ts';
import { NODE_PROGRAMS } from '../../../test/runtime-contract/probes.ts';
import { workloadSpec } from '../../../test/workload-spec.ts';
import { silentLogger } from '../../core/logger.ts';
import type { Runtime, WorkloadSpec } from '../runtime.ts';
import { createProcessRuntime } from './process-runtime.ts';

/** Unique: a workload's processes are found by installation and id on the whole machine. */
const INSTALLATION = `i${process.pid}`;
const imagesFile = resolve(import.meta.dirname, '../../../workers/images.json');

function open(stateDir: string, installation: string): Runtime {
  const gpus = new Map([['ADA_24', 2]]);
  return createProcessRuntime({
    stateDir,
    imagesFiles: [imagesFile],
    installation,
    gpus,
    logger: silentLogger,
    hostEnv: { PATH: process.env.PATH ?? '' },
  });
}

runtimeContract('process', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'podyard-process-'));
  return {
    open: async (installation) => open(stateDir, installation),
    image: 'podyard/echo-js:dev',
    programs: NODE_PROGRAMS,
    gpuPool: 'ADA_24',
    isReal: true,
    close: async () => rmSync(stateDir, { recursive: true }),
  };
});

describe('the process runtime', () => {
  let stateDir: string;
  let runtime: Runtime;
  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), 'podyard-process-'));
    runtime = open(stateDir, INSTALLATION);
  });
  afterEach(async () => {
    for (const { id } of await runtime.list()) await runtime.stop(id, 0);
    await runtime.close();
    rmSync(stateDir, { recursive: true });
  });

  const spec = (id: string, code: string, more: Partial<WorkloadSpec> = {}): WorkloadSpec =>
    workloadSpec({
      id,
      image: 'podyard/echo-js:dev',
      args: JSON.stringify({ entrypoint: ['node', '-e', code] }),
      ...more,
    });
  const observed = async (id: string) => (await runtime.list()).find((one) => one.id === id);
  const linesOf = async (id: string) => {
    const lines: string[] = [];
    for await (const { line } of runtime.logs(id, { follow: true, signal: AbortSignal.timeout(10_000) }))
      lines.push(line);
    return lines;
  };

  test('exit code and output survive a kill of Podyard while the workload runs', async () => {
    const wanted = spec(
      'w1',
      "console.log('before'); setTimeout(() => { console.log('after'); process.exit(9); }, 700);",
    );
    const podyard = spawnSync(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `const { createProcessRuntime } = await import(${JSON.stringify(join(import.meta.dirname, 'process-runtime.ts'))});
         const gpus = new Map();
         const runtime = createProcessRuntime({ stateDir: ${JSON.stringify(stateDir)}, imagesFiles: [${JSON.stringify(imagesFile)}], installation: '${INSTALLATION}', gpus, logger: console, hostEnv: { PATH: process.env.PATH } });
         await runtime.start(${JSON.stringify(wanted)});
         process.kill(process.pid, 'SIGKILL');`,
      ],
      { encoding: 'utf8' },
    );
    expect([podyard.signal, podyard.stderr]).toEqual(['SIGKILL', '']);
    expect(await observed('w1')).toMatchObject({ state: 'running' });
    expect(await linesOf('w1')).toEqual(['before', 'after']);
    expect(await observed('w1')).toMatchObject({ state: 'exited', exitCode: 9, reason: null });
  });

  test('a process that reuses the pid of a former workload is never touched', async () => {
    const stranger = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true });
    await once(stranger, 'spawn');
    await runtime.start(spec('w1', ''));
    await linesOf('w1');
    const folder = join(stateDir, INSTALLATION, 'w1');
    rmSync(join(folder, 'exit'));
    writeFileSync(join(folder, 'process'), `${stranger.pid} 12345\n`);
    expect(await observed('w1')).toMatchObject({
      state: 'exited',
      exitCode: null,
      reason: expect.stringMatching(/Killed from outside/),
    });
    await expect(runtime.freeze('w1')).rejects.toThrow('has ended');
    await runtime.stop('w1', 0);
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
    process.kill(stranger.pid!, 0);
    const ended = once(stranger, 'exit');
    stranger.kill('SIGKILL');
    await ended;
  });

  test.runIf(process.platform === 'linux')(
    'a workload goes with whatever it has left, also if a kill interrupts that',
    async () => {
      await runtime.start(spec('w1', ''));
      await linesOf('w1');
      const root = join(stateDir, INSTALLATION);
      await makeDeep(join(root, 'w1', 'work'), 3_000); // deeper than any path may be
      await runtime.stop('w1', 0);
      expect(readdirSync(root)).toEqual([]);
      const left = join(root, '.removed-w2');
      mkdirSync(left);
      await makeDeep(left, 3_000);
      await runtime.close();
      runtime = open(stateDir, INSTALLATION);
      await expect.poll(() => readdirSync(root)).toEqual([]);
    },
  );

  test('a workload whose shell was killed can still be stopped', async () => {
    await runtime.start(spec('w1', 'console.log(process.pid); setInterval(() => {}, 1000)'));
    let pid = 0;
    for await (const { line } of runtime.logs('w1', { follow: true, signal: AbortSignal.timeout(10_000) })) {
      pid = Number(line);
      break;
    }
    const shell = Number(readFileSync(join(stateDir, INSTALLATION, 'w1', 'process'), 'utf8').split(' ')[0]);
    process.kill(shell, 'SIGKILL');
    await expect.poll(() => observed('w1')).toMatchObject({ state: 'exited' });
    process.kill(pid, 0);
    await runtime.stop('w1', 0);
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  test('background processes of a workload end with it', async () => {
    const code =
      "const child = require('child_process').spawn('sleep', ['1000'], { stdio: 'ignore' }); console.log(child.pid); process.exit();";
    await runtime.start(spec('w1', code));
    const [pid] = (await linesOf('w1')).map(Number);
    await expect.poll(() => isAlive(pid!)).toBe(false);
  });

  test('a process that left the group and the session of its workload ends with it', async () => {
    const leave =
      "const child = require('child_process').spawn('sleep', ['1000'], { stdio: 'ignore', detached: true }); console.log(child.pid);";
    await runtime.start(spec('w1', `${leave} process.exit();`));
    await runtime.start(spec('w2', `${leave} setInterval(() => {}, 1000)`));
    const [ended] = (await linesOf('w1')).map(Number);
    await expect.poll(() => isAlive(ended!)).toBe(false);
    let stopped = 0;
    for await (const { line } of runtime.logs('w2', { follow: true, signal: AbortSignal.timeout(10_000) })) {
      stopped = Number(line);
      break;
    }
    expect(isAlive(stopped)).toBe(true);
    await runtime.stop('w2', 0);
    await expect.poll(() => isAlive(stopped)).toBe(false);
  });

  test('a workload gets its own environment, and of the host only PATH, HOME, LANG and TMPDIR', async () => {
    await runtime.start(spec('w1', 'console.log(Object.keys(process.env).sort().join())', { env: { MINE: '1' } }));
    const [names] = await linesOf('w1');
    const allowed = ['PATH', 'HOME', 'LANG', 'TMPDIR', 'MINE', 'PODYARD_WORKLOAD', 'PWD', 'OLDPWD', 'SHLVL', '_'];
    expect(names!.split(',').filter((name) => !allowed.includes(name))).toEqual([]);
    expect(readFileSync(join(stateDir, INSTALLATION, 'w1', 'workload.json'), 'utf8')).not.toContain('MINE');
  });

  test('a default counts only where the workload does not set the variable', async () => {
    const imageDefaults = { MINE: '2', CUDA_VERSION: '12.8' };
    const code = 'console.log(process.env.MINE, process.env.CUDA_VERSION)';
    await runtime.start(spec('w1', code, { env: { MINE: '1' }, imageDefaults }));
    expect(await linesOf('w1')).toEqual(['1 12.8']);
  });

  test.runIf(process.platform === 'linux')(
    'when the machine runs out of memory, a workload is killed before the server',
    async () => {
      await runtime.start(
        spec('w1', "console.log(require('fs').readFileSync('/proc/self/oom_score_adj', 'utf8').trim())"),
      );
      expect(await linesOf('w1')).toEqual(['500']);
    },
  );

  test('what a workload writes into its folder counts as its disk, and what it links to does not', async () => {
    await runtime.start(
      spec(
        'w1',
        "require('fs').writeFileSync('big', Buffer.alloc(3e6)); console.log('done'); setInterval(() => {}, 1000)",
      ),
    );
    for await (const { line } of runtime.logs('w1', { follow: true, signal: AbortSignal.timeout(10_000) })) {
      if (line === 'done') break;
    }
    const usedBytes = await runtime.disks!.usedBytes('w1');
    expect(usedBytes).toBeGreaterThanOrEqual(3e6);
    expect(usedBytes).toBeLessThan(3.3e6);
    expect(await runtime.disks!.usedBytes('w9')).toBe(0);
  });

  test('each workload writes into its own folder, which also has the files of the image', async () => {
    const code = "require('fs').writeFileSync('mine', ''); console.log(require('fs').readdirSync('.').sort().join())";
    await runtime.start(spec('w1', code));
    const [names] = await linesOf('w1');
    expect(names!.split(',')).toEqual(expect.arrayContaining(['echo.js', 'mine', 'package.json']));
    expect(existsSync(join(dirname(imagesFile), 'javascript', 'mine'))).toBe(false);
    await runtime.stop('w1', 0);
    expect(await runtime.list()).toEqual([]);
  });

  test('a mount is in the workload’s folder; its link at the real path is removed with the last workload that needs it', async () => {
    const source = mkdtempSync(join(tmpdir(), 'podyard-mount-'));
    const target = `/podyard-test-${process.pid}`;
    const code = `require('fs').writeFileSync('.${target}/made', 'here'); console.log(process.env.RUNPOD_VOLUME_PATH); setInterval(() => {}, 1000)`;
    const lines: string[] = [];
    const mounts = [{ source, target }];
    for (const id of ['w1', 'w2'])
      await runtime.start(spec(id, code, { mounts }), { onProgress: (line) => lines.push(line) });
    for await (const { line } of runtime.logs('w2', { follow: true, signal: AbortSignal.timeout(10_000) })) {
      expect(line).toBe(source);
      break;
    }
    expect(readFileSync(join(source, 'made'), 'utf8')).toBe('here');
    const mayLink = existsSync(target); // not every user may write directly below /
    expect(lines.some((line) => line.includes(`${target} cannot be created on this machine`))).toBe(!mayLink);
    await runtime.stop('w1', 0);
    if (mayLink) expect(readlinkSync(target)).toBe(source);
    await runtime.stop('w2', 0);
    expect(existsSync(target)).toBe(false);
    expect(readFileSync(join(source, 'made'), 'utf8')).toBe('here');
    rmSync(source, { recursive: true });
  });

  test('a mount is refused where the machine or the image has files', async () => {
    const source = mkdtempSync(join(tmpdir(), 'podyard-mount-'));
    for (const target of ['/tmp', '/echo.js', '/echo.js/deep']) {
      const refused = runtime.start(spec('w1', '', { mounts: [{ source, target }] }));
      await expect(refused).rejects.toThrow(/^Storage cannot be mounted at/);
      expect(await runtime.list()).toEqual([]);
    }
    rmSync(source, { recursive: true });
  });

  test('another process’s socket on the same port is not taken for the workload’s', async () => {
    const code =
      "require('net').createServer().listen(0, '127.0.0.7', function () { console.log(this.address().port) })";
    await runtime.start(spec('w1', code));
    let port = 0;
    for await (const { line } of runtime.logs('w1', { follow: true, signal: AbortSignal.timeout(10_000) })) {
      port = Number(line);
      break;
    }
    const mine = createServer().listen(port, '127.0.0.1');
    await once(mine, 'listening');
    expect(await runtime.reach('w1', port)).toEqual({ host: '127.0.0.7', port });
    expect(await runtime.reach('w1', port)).toEqual({ host: '127.0.0.7', port });
    await runtime.stop('w1', 0);
    expect(await runtime.reach('w1', port)).toBeNull();
    mine.close();
  });

  test('an unknown image is refused with the known ones and the file to edit', async () => {
    const refused = runtime.prepare('nginx:latest');
    await expect(refused).rejects.toThrow("has no image 'nginx:latest': it has podyard/echo-js:dev, ");
    await expect(refused).rejects.toThrow(imagesFile);
  });

  test('an id that is no folder name is refused', async () => {
    mkdirSync(join(stateDir, 'precious'));
    for (const id of ['../precious', '', '.', 'a/b', '-rf'])
      await expect(runtime.stop(id, 0)).rejects.toThrow('is not a valid workload id');
  });
});

/** False for a zombie, too. */
function isAlive(pid: number): boolean {
  try {
    return !/^\S+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
