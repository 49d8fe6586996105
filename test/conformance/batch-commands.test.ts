/** `podyard batch` against a whole server; docs/interface/batches.md, "Uploads" and "Results". */
import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cancelBatch, downloadResults, findBatch, listBatches, showBatch } from '../../src/cli/batches/batches.ts';
import { submitBatch } from '../../src/cli/batches/submit-batch.ts';
import { ApiClient } from '../../src/cli/shared/api-client.ts';
import type { EndpointId } from '../../src/core/ids.ts';
import type { FakeWorker } from '../fake-worker.ts';
import { QueuePlaneFixture } from '../queue-plane.ts';
import { testTerminal } from '../test-terminal.ts';

let plane: QueuePlaneFixture;
let endpoint: EndpointId;
let worker: FakeWorker;
let dir: string;
let client: ApiClient;

beforeAll(async () => {
  plane = await QueuePlaneFixture.start({ takeHoldMs: 3_000 });
  endpoint = await plane.endpoint(1);
  worker = await plane.worker(endpoint);
  dir = await mkdtemp(join(tmpdir(), 'podyard-batch-'));
  client = new ApiClient({ url: plane.url, key: 'pyk_test-admin' } as never, testTerminal());
});
afterAll(async () => {
  await plane.close();
  await rm(dir, { recursive: true });
});

function output() {
  const seen = { out: [] as string[], err: [] as string[] };
  const terminal = testTerminal({ env: {} });
  return {
    ...seen,
    terminal,
    print: (text: string) => seen.out.push(text),
    note: (text: string) => seen.err.push(text),
  };
}
const SUBMIT = { order: true, finalize: true };
const lines = (count: number) => Array.from({ length: count }, (_, i) => `{"input":{"n":${i + 1}}}\n`).join('');

async function work(count: number): Promise<void> {
  for (let done = 0; done < count; ) {
    const { body } = await worker.take();
    if (!body) continue;
    await worker.done(body.id, `{"output":${body.input.n}}`);
    done += 1;
  }
}

test('submit uploads, finalizes and waits; results are downloaded, and continued where they broke off', async () => {
  const file = join(dir, 'in.jsonl');
  await writeFile(file, `${lines(3)}no json\n`);
  const said = output();
  await Promise.all([submitBatch(client, endpoint, file, { ...SUBMIT, name: 'night', wait: true }, said), work(3)]);
  expect(said.err.join('\n')).toContain('line 4: is not valid JSON');
  expect(said.out.at(-1)).toMatch(/^batch_\w+ {2}COMPLETED: 3 of 3 requests ended \(100 %\), 1 line rejected/);
  const id = said.out.at(-1)!.split(' ')[0]!;
  const path = `/v2/${endpoint}/batch/${id}`;
  expect(await findBatch(client, endpoint, 'night')).toBe(id);
  expect(await findBatch(client, endpoint, id)).toBe(id);
  await expect(findBatch(client, endpoint, 'nihgt')).rejects.toThrow("Batch not found: 'nihgt'. Did you mean 'night'?");
  const target = join(dir, 'out.jsonl');
  await downloadResults(client, path, { output: target }, output());
  const whole = await readFile(target, 'utf8');
  expect(
    whole
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).output),
  ).toEqual([1, 2, 3]);
  const part = join(dir, `again.jsonl.${id}.part`);
  for (const bytes of [10, whole.length]) {
    await writeFile(part, whole);
    await truncate(part, bytes);
    await downloadResults(client, path, { output: join(dir, 'again.jsonl') }, output());
    expect(await readFile(join(dir, 'again.jsonl'), 'utf8')).toBe(whole);
  }
  const listed = output();
  await listBatches(client, endpoint, { limit: 10, name: 'first' }, listed);
  expect(listed.out.join('\n')).toContain(id);
});

test('an upload is continued with what the server lacks; a draft that is left can be cancelled', async () => {
  const file = join(dir, 'large.jsonl.gz');
  await writeFile(file, gzipSync(lines(1_500)));
  const { body } = await plane.call('POST', `${endpoint}/batch`, { body: [] });
  const headers = { 'content-type': 'application/x-ndjson' };
  await plane.call('POST', `${endpoint}/batch/${body.id}/requests`, { body: lines(700), headers });
  const said = output();
  await submitBatch(client, endpoint, file, { ...SUBMIT, finalize: false, batch: body.id }, said);
  expect(said.out).toEqual([`${body.id}  DRAFT: 0 of 1500 requests ended (0 %)`]);
  const cancelled = output();
  await cancelBatch(client, `/v2/${endpoint}/batch/${body.id}`, {}, cancelled);
  expect(cancelled.out[0]).toContain('CANCELLED: 1500 of 1500 requests ended');
  const waiting = showBatch(client, `/v2/${endpoint}/batch/${body.id}`, { wait: true }, output());
  await expect(waiting).rejects.toThrow('the batch ended CANCELLED: cancelled by its user');
});

test('what cannot be read is said before a draft is made of it', async () => {
  const count = async () => (await client.json<{ batches: [] }>('GET', `/v2/${endpoint}/batch`)).batches.length;
  const before = await count();
  await expect(submitBatch(client, endpoint, dir, SUBMIT, output())).rejects.toThrow(`${dir} is a folder`);
  await expect(submitBatch(client, endpoint, '/none.gz', SUBMIT, output())).rejects.toThrow('/none.gz: no such file');
  expect(await count()).toBe(before);
});

test('a file that is no gzip, or was cut off, is named', async () => {
  const damaged = join(dir, 'damaged.jsonl.gz');
  for (const bytes of [Buffer.from('{"input":1}\n'), gzipSync('{"input":1}\n'.repeat(9)).subarray(0, -9)]) {
    await writeFile(damaged, bytes);
    await expect(submitBatch(client, endpoint, damaged, SUBMIT, output())).rejects.toThrow(
      `${damaged} is no gzip file, or is damaged: `,
    );
  }
});
