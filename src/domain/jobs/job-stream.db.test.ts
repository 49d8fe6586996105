import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { done, JobQueueFixture, worker } from '../../../test/job-queue.ts';
import type { JobId } from '../../core/ids.ts';

let fixture: JobQueueFixture;
beforeAll(async () => {
  fixture = await JobQueueFixture.create();
});
afterAll(() => fixture.drop());

const drainChunks = async (jobId: JobId, atMost: number) =>
  (await fixture.stream.drain((await fixture.queue.find(jobId))!, atMost)).chunks;

describe('a stream', () => {
  test('keeps the order of its chunks and returns each once', async () => {
    const { jobId, workerId } = await fixture.leased(await fixture.endpoint());
    for (const n of [1, 2, 3]) expect(await fixture.stream.append(jobId, workerId, String(n))).toBeNull();
    expect((await drainChunks(jobId, 2)).map(({ chunk }) => chunk)).toEqual(['1', '2']);
    await fixture.stream.append(jobId, workerId, '4');
    expect((await drainChunks(jobId, 10)).map(({ chunk }) => chunk)).toEqual(['3', '4']);
    expect(await drainChunks(jobId, 10)).toEqual([]);
  });

  test('returns at most 64 KiB at once, and a large chunk alone and unread', async () => {
    const { jobId, workerId } = await fixture.leased(await fixture.endpoint());
    const [medium, large] = [`"${'m'.repeat(40_000)}"`, `"${'l'.repeat(100_000)}"`];
    for (const chunk of [medium, medium, large, '1', '2']) await fixture.stream.append(jobId, workerId, chunk);
    const job = (await fixture.queue.find(jobId))!;
    const seen: (string | null)[][] = [];
    for (let after = 0, hasMore = true; hasMore; ) {
      const read = await fixture.stream.list(job, after, 10);
      seen.push(read.chunks.map(({ chunk }) => chunk));
      after = read.chunks.at(-1)!.seq;
      hasMore = read.hasMore;
    }
    expect(seen).toEqual([[medium], [medium], [null], ['1', '2']]);
    expect((await fixture.stream.drain(job, 10)).chunks.map(({ chunk }) => chunk)).toEqual([medium]);
    expect((await fixture.stream.drain(job, 10)).chunks.map(({ chunk }) => chunk)).toEqual([medium]);
    const left = await fixture.stream.drain(job, 10);
    expect(left).toMatchObject({ chunks: [{ chunk: null, bytes: large.length }], hasMore: true });
    const { seq } = left.chunks[0]!;
    expect(await fixture.stream.readChunk(jobId, seq)).toBe(large);
    expect(await fixture.stream.takeChunk(jobId, seq)).toBe(large);
    expect(await fixture.stream.takeChunk(jobId, seq)).toBeUndefined();
    expect(await fixture.stream.drain(job, 10)).toMatchObject({
      chunks: [{ chunk: '1' }, { chunk: '2' }],
      hasMore: false,
    });
  });

  test('returns each chunk once, even to concurrent readers', async () => {
    const { jobId, workerId } = await fixture.leased(await fixture.endpoint());
    for (let n = 0; n < 30; n++) await fixture.stream.append(jobId, workerId, String(n));
    const drained = (await Promise.all(Array.from({ length: 5 }, () => drainChunks(jobId, 10)))).flat();
    const rest = await drainChunks(jobId, 100);
    expect([...drained, ...rest].map(({ chunk }) => Number(chunk)).sort((a, b) => a - b)).toEqual([
      ...Array(30).keys(),
    ]);
  });

  test('can be listed from any position without removing anything', async () => {
    const { jobId, workerId } = await fixture.leased(await fixture.endpoint());
    for (const n of [1, 2, 3]) await fixture.stream.append(jobId, workerId, String(n));
    const all = await fixture.listChunks(jobId, 0, 10);
    expect(all.map(({ chunk }) => chunk)).toEqual(['1', '2', '3']);
    expect(await fixture.listChunks(jobId, all[1]!.seq, 10)).toEqual([all[2]]);
    expect(await fixture.listChunks(jobId, 0, 10)).toEqual(all);
  });

  test('does not show a chunk that a lost attempt was adding while its job was requeued', async () => {
    const id = await fixture.endpoint();
    const { jobId, workerId } = await fixture.leased(id);
    // The insert waits after its statement has read the job as held.
    await fixture.sql(`create function slow_insert() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(4711); return new; end $$`);
    await fixture.sql(
      'create trigger slow_insert before insert on job_chunks for each row execute function slow_insert()',
    );
    const gate = await fixture.pool.connect();
    try {
      await gate.query('select pg_advisory_lock(4711)');
      const late = fixture.stream.append(jobId, workerId, '"lost"');
      await expect
        .poll(() => fixture.sql("select from pg_locks where locktype = 'advisory' and not granted"))
        .toHaveLength(1);
      await fixture.queue.rescue([workerId], 1);
      await gate.query('select pg_advisory_unlock(4711)');
      await late;
    } finally {
      gate.release(true);
      await fixture.sql('drop function slow_insert cascade');
    }
    expect(await fixture.listChunks(jobId, 0, 10)).toEqual([]);
    const next = worker();
    await fixture.queue.take(id, next, 1);
    await fixture.stream.append(jobId, next, '"next"');
    expect((await fixture.listChunks(jobId, 0, 10)).map(({ chunk }) => chunk)).toEqual(['"next"']);
    expect((await drainChunks(jobId, 10)).map(({ chunk }) => chunk)).toEqual(['"next"']);
  });

  test('accepts only the holder’s chunks, none after the end; returns the waiters', async () => {
    const id = await fixture.endpoint();
    const { jobId, workerId } = await fixture.leased(id, { waiter: 'process' });
    const appended = await Promise.all([
      fixture.stream.append(jobId, workerId, '1'),
      fixture.stream.append(jobId, worker(), '2'),
      fixture.stream.append('nope' as JobId, workerId, '3'),
    ]);
    expect(appended).toEqual(['process', undefined, undefined]);
    await fixture.queue.finish(done(jobId, workerId));
    expect(await fixture.stream.append(jobId, workerId, '4')).toBeUndefined();
    expect((await fixture.listChunks(jobId, 0, 10)).map(({ chunk }) => chunk)).toEqual(['1']);
  });
});
