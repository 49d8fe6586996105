import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { fairMs } from '../fair-ms.ts';
import { Api, type Job, type LogEvent, leaveNothing, until } from './api.ts';
import { type RuntimePlace, ServerProcess, type TestedRuntime } from './server-process.ts';

/** Workloads that survive a restart of the server. It uses the embedded database, which is adopted too. */
export function adoptionTests(runtime: TestedRuntime, place: () => RuntimePlace = () => ({})): void {
  let server: ServerProcess;
  let api: Api;
  beforeAll(async () => {
    server = await ServerProcess.start({ runtime, ...place() });
    api = new Api(server);
  });
  afterAll(() => server?.dispose());
  afterEach(() => leaveNothing(server, api));

  const workloads = async () => {
    const running = (await server.listWorkloads()).filter(({ state }) => state === 'running');
    return running.map(({ id }) => id).sort();
  };

  const drain = async (id: string, jobId: string) => {
    const chunks: { index: number }[] = [];
    for (;;) {
      const part = await api.call<{ status: string; stream: { output: { index: number } }[] }>(
        'GET',
        `/v2/${id}/stream/${jobId}`,
      );
      chunks.push(...part.stream.map(({ output }) => output));
      if (part.status === 'COMPLETED') return chunks;
    }
  };

  // Elsewhere one way to end suffices: contract.ts proves of every runtime that workloads outlive it.
  for (const how of runtime === 'process' ? (['SIGTERM', 'kill -9'] as const) : (['kill -9'] as const)) {
    test(`${how} of the server: workers keep running and are adopted, and jobs that ran across the restart deliver their results`, async () => {
      const id = await api.createEndpoint({
        workers: { min: 2, max: 2 },
        scaling: { type: 'REQUEST_COUNT', value: 1, idleTimeout: 600 },
        env: { ECHO_CONCURRENCY: '2' },
      });
      await until(
        'both are ready',
        async () => (await api.workers(id)).filter((w) => w.status === 'IDLE').length === 2,
      );
      const before = await workloads();
      const across = await api.run(id, { echo: 'across', delayMs: 4_000 });
      const streaming = await api.run(id, { stream: 40, delayMs: 100, echo: 's' });
      const chatty = await api.run(id, { logLines: 200, delayMs: 2_500, echo: 'chatty' });
      const queued = await Promise.all(Array.from({ length: 6 }, (_, i) => api.run(id, { echo: i, logLines: 5 })));
      const running = await until('they run', async () => {
        const jobs = await Promise.all([across, streaming, chatty].map((job) => api.status(id, job.id)));
        return jobs.every((job) => job.status === 'IN_PROGRESS') && jobs;
      });
      const logOf = (workerId: string, count: number) =>
        api.logs(id, workerId, (events) => printed(events).length >= count);
      const early = (await logOf(running[2]!.workerId!, 1)).length;

      if (how === 'SIGTERM') expect(await server.stop()).toBe(0);
      else await server.kill();
      const downSince = Date.now();
      await server.start();
      const startMs = Date.now() - downSince;
      console.log(`${runtime}, ${how}: ready again after ${startMs} ms`);

      expect(await api.ended(id, across.id)).toMatchObject({
        status: 'COMPLETED',
        output: 'across',
        workerId: running[0]!.workerId,
      });
      const streamed = await api.ended(id, streaming.id);
      expect(streamed).toMatchObject({ status: 'COMPLETED', workerId: running[1]!.workerId });
      const chunks = await drain(id, streaming.id);
      const expected = Array.from({ length: 40 }, (_, index) => ({ index, echo: 's' }));
      expect(chunks.filter(({ index }, i) => index !== chunks[i - 1]?.index)).toEqual(expected);
      // A chunk that was stored but not acknowledged before the kill is sent again.
      expect(chunks.length - 40).toBeLessThanOrEqual(how === 'SIGTERM' ? 0 : 1);
      for (const [i, job] of queued.entries())
        expect(await api.ended(id, job.id)).toMatchObject({ status: 'COMPLETED', output: i });
      expect(await api.ended(id, chatty.id)).toMatchObject({ status: 'COMPLETED', output: 'chatty' });
      expect((await api.status(id, across.id)).retries ?? 0).toBe(0);

      expect(await workloads()).toEqual(before);
      expect((await api.workers(id)).map((worker) => worker.id).sort()).toEqual(before);
      const known = await server.query<{ id: string }>('select id from workers where endpoint_id = $1', [id]);
      expect(known.map((row) => row.id).sort()).toEqual(before);

      expect(early).toBeGreaterThan(0);
      const last = await Promise.all(before.map((_, i) => api.run(id, { logLines: 3, delayMs: 300, echo: i })));
      for (const job of last) await api.ended(id, job.id);
      const finished = await Promise.all([chatty, ...queued, ...last].map((job) => api.status(id, job.id)));
      const linesOf = (job: number) => (job === 0 ? 200 : job <= queued.length ? 5 : 3);
      for (const workerId of before) {
        const counts = finished.flatMap((job, i) => (job.workerId === workerId ? [linesOf(i)] : []));
        const total = counts.reduce((sum, count) => sum + count, 0);
        const lines = printed(await logOf(workerId, total));
        expect(lines.toSorted()).toEqual(counts.flatMap(numbered).toSorted()); // the jobs of one worker print concurrently
      }
    });
  }

  if (runtime !== 'process') return; // the rest depends only on what contract.ts proves of every runtime

  test('SIGTERM answers held requests, ends log streams, and leaves the job to the next process', async () => {
    const id = await api.createEndpoint({ workers: { min: 1, max: 1 }, scaling: { idleTimeout: 600 } });
    await until('it is ready', async () => (await api.workers(id))[0]?.status === 'IDLE');
    const [worker] = await api.workers(id);
    const held = api.call<Job>('POST', `/v2/${id}/runsync?wait=60000`, { input: { echo: 'later', delayMs: 5_000 } });
    await until('it runs', async () => (await api.workers(id))[0]?.status === 'RUNNING'); // before the other one
    const streams = await api.run(id, { stream: 2, delayMs: 100 });
    const heldStream = api.call<Job>('GET', `/v2/${id}/stream/${streams.id}?wait=60000`);
    const logsEnd = expect(api.logs(id, worker!.id, () => false)).rejects.toThrow(/the log ended|not enough/);
    await api.workers(id); // a later request than those to be held, so that they have arrived
    const tookMs = await fairMs(async () => {
      const stopped = server.stop();
      expect(await held).toMatchObject({ status: 'IN_PROGRESS' });
      expect(await heldStream).toMatchObject({ stream: [] });
      await logsEnd;
      expect(await stopped).toBe(0);
    });
    console.log(`${runtime}: SIGTERM with held requests took ${Math.round(tookMs)} ms`);
    expect(tookMs).toBeLessThan(5_000);
    await server.start();
    expect(await api.ended(id, (await held).id)).toMatchObject({ status: 'COMPLETED', output: 'later' });
  });

  test('a worker that died while the server was down is noticed, and its job is redelivered', async () => {
    const id = await api.createEndpoint({ workers: { min: 0, max: 1 }, scaling: { idleTimeout: 600 } });
    const job = await api.run(id, { echo: 'twice', delayMs: 3_000 });
    const first = await until('it runs', async () => {
      const { status, workerId } = await api.status(id, job.id);
      return status === 'IN_PROGRESS' && workerId;
    });
    await server.kill();
    await server.loseWorkload(first);
    await server.start();
    const done = await api.ended(id, job.id);
    expect(done).toMatchObject({ status: 'COMPLETED', output: 'twice', retries: 1 });
    expect(done.workerId).not.toBe(first);
  });

  test('an endpoint deleted just before a kill leaves no workload behind', async () => {
    const id = await api.createEndpoint({ workers: { min: 2, max: 2 } });
    await until('both are ready', async () => (await api.workers(id)).filter((w) => w.status === 'IDLE').length === 2);
    await api.delete(id);
    await server.kill();
    await server.start();
    await until('nothing runs', async () => (await workloads()).length === 0);
  });
}

/** Returns the numbered lines of a worker's output. */
function printed(events: readonly LogEvent[]): string[] {
  return events.map(({ line }) => line).filter((line) => /^line \d+$/.test(line));
}

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `line ${i + 1}`);
}
