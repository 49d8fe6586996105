/** The disk of the embedded database is full: every place that an operator looks at says so (docs/guide/database.md). */
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import { run, runToFailure } from '../e2e/podyard-command.ts';
import { ServerProcess } from '../e2e/server-process.ts';

/** Mounting needs root. */
const isRoot = process.getuid!() === 0;
const MIB = 2 ** 20;

let server: ServerProcess;
let filler: string;

beforeAll(async () => {
  if (!isRoot) return;
  server = await ServerProcess.create({ runtime: 'simulated' });
  mountSmallDisk(server.dataDir, 256);
  filler = join(server.dataDir, 'filler');
  await server.start();
});
afterAll(async () => {
  if (!isRoot) return;
  await server.stop();
  execFileSync('umount', [server.dataDir]);
  await server.dispose();
});

function mountSmallDisk(folder: string, mebibytes: number): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=0700`, 'tmpfs', folder]);
}

/** Leaves so many bytes free. */
async function fillDisk(leave: number): Promise<void> {
  const { bavail, bsize } = await statfs(server.dataDir);
  await writeFile(filler, Buffer.alloc(bavail * bsize - leave));
}

async function readiness(): Promise<{ status: number; detail: string | undefined }> {
  const answer = await fetch(`${server.url}/readyz`);
  const { detail } = (await answer.json()) as { detail?: string };
  return { status: answer.status, detail };
}

test.skipIf(!isRoot)(
  'a full disk is named by /readyz; with space again the server continues, with every accepted job',
  async () => {
    const api = new Api(server);
    const endpoint = await api.createEndpoint({ workers: { min: 0, max: 1 } });
    const { id } = await api.run(endpoint, { echo: 'before' });
    await fillDisk(MIB);
    const { status, detail } = await readiness();
    expect(status).toBe(503);
    expect(detail).toMatch(/^The disk of the data directory is full: [01] MiB are free, and the database needs 64\.$/);
    await rm(filler);
    await until('it accepts jobs', () => api.run(endpoint, {}).then(Boolean, () => false));
    await until('it is ready again', async () => (await readiness()).status === 200);
    expect((await api.status(endpoint, id)).status).toBe('IN_QUEUE');
  },
);

test.skipIf(!isRoot)(
  'an upload that would fill the disk ends before, with the reason; nothing of it stays, and jobs are accepted',
  async () => {
    const api = new Api(server);
    const endpoint = await api.createEndpoint({ workers: { min: 0, max: 1 } });
    const content = randomBytes(40 * MIB);
    const digest = createHash('sha256').update(content).digest('hex');
    const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/octet-stream' };
    const send = () => fetch(`${server.url}/v2/builds/files/${digest}`, { method: 'PUT', headers, body: content });
    await fillDisk(140 * MIB);
    const refusal = await send();
    expect(refusal.status).toBe(503);
    expect(await refusal.json()).toMatchObject({
      detail: expect.stringMatching(
        /^The disk of the data directory is almost full: \d+ MiB are free, and uploads leave 128\.$/,
      ),
    });
    const lacking = await fetch(`${server.url}/v2/builds/missing-files`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ files: [{ digest, size: content.length }] }),
    });
    expect(await lacking.json()).toEqual({ missing: [digest], partial: [] });
    await api.run(endpoint, {});
    expect((await readiness()).status).toBe(200);
    await rm(filler);
  },
);

test.skipIf(!isRoot)('a start on a full disk says so, and works once there is space', async () => {
  await server.stop();
  await fillDisk(0);
  const failure = await server.start().catch((error: Error) => error.message);
  expect(failure).toContain(`the disk of ${server.dataDir} is full: free some space and try again`);
  await rm(filler);
  await fillDisk(20 * MIB);
  await server.start();
  expect(server.stderr).toContain('! The disk of the data directory is full: ');
  await rm(filler);
});

test.skipIf(!isRoot)('a restore onto a disk that is too small says so', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podyard-restore-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'all.backup');
  await server.query(
    `insert into log_lines (workload_id, ts, source, line)
     select 'w', now(), 'container', md5(i::text) || repeat(md5(i::text), 4) from generate_series(1, 200000) i`,
  );
  await run(['backup', file, '--data-dir', server.dataDir]);
  const small = join(folder, 'small');
  execFileSync('mkdir', [small]);
  mountSmallDisk(small, 90);
  onTestFinished(() => void execFileSync('umount', [small]));
  expect(await runToFailure(['restore', file, '--data-dir', small])).toContain(`the disk of ${small} is full`);
});
