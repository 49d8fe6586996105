/** Large lines of uploads, and what they may cost others: docs/interface/batches.md, "Uploads". */

import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import { change } from '../../src/domain/change.ts';
import { updateLimits } from '../../src/domain/quotas/update-limits.ts';
import { fairMs } from '../fair-ms.ts';
import { type Answer, QueuePlaneFixture } from '../queue-plane.ts';

const MIB = 2 ** 20;
const LIMIT_BYTES = 10 * MIB;

let plane: QueuePlaneFixture;
/** Its queue holds 500 jobs; nobody runs them. */
let endpoint: EndpointId;
let batch: string;
/** Its uploads. */
let path: string;

beforeAll(async () => {
  plane = await QueuePlaneFixture.start({ bodyWaitMs: 30_000 });
  endpoint = await plane.endpoint(1);
});
afterAll(() => plane.close());
beforeEach(async () => {
  batch = (await plane.call('POST', `${endpoint}/batch`, { body: [] })).body.id;
  path = `${endpoint}/batch/${batch}/requests`;
});

const line = (bytes: number) => `{"input":"${'x'.repeat(bytes - 12)}"}`;
const LINES = { 'content-type': 'application/x-ndjson' };
const GZIP = { ...LINES, 'content-encoding': 'gzip' };
const upload = (body: string | Buffer, headers: Record<string, string>): Promise<Answer> =>
  plane.call('POST', path, { body, headers });

test.each([
  ['as it is', LINES, (text: string) => text],
  ['as gzip', GZIP, gzipSync],
])('a request of the largest size is taken, %s', async (_, headers, pack) => {
  const answer = await upload(pack(`${line(100)}\n${line(LIMIT_BYTES)}\n${line(100)}\n`), headers);
  expect(answer).toMatchObject({ status: 200, body: { accepted: 3, rejected: 0 } });
});

test('many uploads of the largest requests at once are all taken, and a small job waits for none of their memory', async () => {
  const packed = gzipSync(line(LIMIT_BYTES));
  let isOver = false;
  const uploads = Promise.all(Array.from({ length: 8 }, () => upload(packed, GZIP))).finally(() => {
    isOver = true;
  });
  let slowestMs = 0;
  while (!isOver) {
    slowestMs = Math.max(slowestMs, await fairMs(() => plane.run(endpoint)));
    await plane.call('POST', `${endpoint}/purge-queue`);
  }
  expect((await uploads).map(({ status, body }) => [status, body.accepted])).toEqual(Array(8).fill([200, 1]));
  expect(slowestMs).toBeLessThan(1_000); // memory would be waited for until uploads give it up
});

test('a line a little over the limit is rejected alone, with the limit and the setting', async () => {
  const { body } = await upload(`${line(100)}\n${line(LIMIT_BYTES + 1)}\n${line(100)}`, LINES);
  expect(body).toMatchObject({ accepted: 2, rejected: 1 });
  expect(body.rejections).toEqual([
    { line: 2, reason: 'is larger than the limit of 10485760 bytes (PODYARD_RUN_BODY_BYTES)' },
  ]);
});

test('a line far over the limit ends the upload at once, with its number, the limit and the setting', async () => {
  await upload(`${line(100)}\n`, LINES);
  const announced = 300 * MIB;
  const sent = request(`${plane.url}/v2/${path}`, {
    ...{ method: 'POST', agent: false },
    headers: { authorization: 'Bearer pyk_test-admin', ...LINES, 'content-length': announced },
  });
  const answered = new Promise<{ status: number; text: string }>((resolve, reject) => {
    sent.on('error', reject).on('response', (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
        resolve({ status: answer.statusCode!, text });
      });
    });
  });
  sent.write(`${line(100)}\n${'x'.repeat(50 * MIB)}`);
  try {
    const { status, text } = await answered;
    expect([status, JSON.parse(text).detail]).toEqual([
      400,
      'line 3 of the batch is larger than the limit of 10485760 bytes (PODYARD_RUN_BODY_BYTES). The lines before it stay',
    ]);
  } finally {
    sent.on('error', () => {}).destroy();
  }
  const { body } = await plane.call('GET', `${endpoint}/batch/${batch}`);
  expect(body).toMatchObject({ requestTotal: 2, linesReceived: 2 });
});

test('gzip of a line without end is given up where the line is far over the limit', async () => {
  const bomb = gzipSync(Buffer.alloc(60 * MIB)); // 60 kB
  const answer = await upload(bomb, GZIP);
  expect([answer.status, answer.body.detail]).toEqual([400, expect.stringContaining('line 1 of the batch is larger')]);
});

test('a smaller limit of the user is named instead of the setting', async () => {
  await change(plane.context, null, updateLimits, { userId: plane.userId, changes: { requestBytes: 1_000 } });
  const own = await plane.endpoint(); // with it, the server reads its user's limits
  const { id } = (await plane.call('POST', `${own}/batch`, { body: [] })).body;
  const { body } = await plane.call('POST', `${own}/batch/${id}/requests`, { body: line(1_001), headers: LINES });
  await change(plane.context, null, updateLimits, { userId: plane.userId, changes: { requestBytes: 'DEFAULT' } });
  expect(body.rejections).toEqual([
    { line: 1, reason: "is larger than the limit of 1000 bytes (the user's limit 'requestBytes')" },
  ]);
});
