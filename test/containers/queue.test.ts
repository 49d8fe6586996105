import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api, type Job, until } from '../e2e/api.ts';
import { CORE_SERVER, queueCore, sdkEndpoint } from '../e2e/queue-core.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { containersOf, creationsOf, describeWithEngine, needExampleImages } from './container-engine.ts';

/** The public client package with workers in containers. */
describeWithEngine('with containers', () => {
  let database: TestDatabase;
  let server: ServerProcess;
  beforeAll(async () => {
    await needExampleImages();
    database = await createTestDatabase();
    server = await ServerProcess.start({ ...CORE_SERVER, runtime: 'docker', databaseUrl: database.url });
  });
  afterAll(async () => {
    await server?.dispose();
    await database?.drop();
  });

  queueCore(() => server, 'podyard/echo-js:dev', 'onRuntime');

  describe.concurrent('and more', () => {
    test('the Python worker runs, streams, cancels and survives a handler that throws', async () => {
      const api = new Api(server);
      const id = await api.createEndpoint({ image: 'podyard/echo-python:dev', workers: { min: 0, max: 1 } });
      const endpoint = sdkEndpoint(server, id);
      const first = (await endpoint.runSync({ input: { echo: 'py' } }, 60_000)) as Job;
      expect(first).toMatchObject({ status: 'COMPLETED', output: 'py' });
      const { id: streamId } = await endpoint.run({ input: { stream: 3, echo: 1 } });
      const chunks: unknown[] = [];
      for await (const chunk of endpoint.stream(streamId)) chunks.push(chunk);
      expect(chunks).toEqual([0, 1, 2].map((index) => ({ output: { index, echo: 1 } })));
      const { id: longId } = await endpoint.run({ input: { delayMs: 60_000 } });
      await until('it runs', async () => (await endpoint.status(longId)).status === 'IN_PROGRESS');
      await endpoint.cancel(longId);
      const failed = (await endpoint.runSync({ input: { throw: 'no' } }, 60_000)) as Job;
      expect(failed).toMatchObject({ status: 'FAILED', workerId: first.workerId });
      await api.delete(id);
    });

    test('with an unknown image workers are UNHEALTHY with the reason and back off; a PATCH to a good one runs the jobs at once', async () => {
      const api = new Api(server);
      const id = await api.createEndpoint({ image: 'podyard.invalid/not/there:1', workers: { min: 0, max: 1 } });
      const { id: jobId } = await api.run(id, { echo: 'patience' });
      const unhealthy = await until('a worker is unhealthy', async () =>
        (await api.workers(id)).find((worker) => worker.status === 'UNHEALTHY'),
      );
      expect(await api.status(id, jobId)).toMatchObject({ status: 'IN_QUEUE' });
      const failures = () =>
        server.query<{ id: string; reason: string; created_at: Date; exited_at: Date; not_before: Date | null }>(
          "select id, phase_reason as reason, created_at, exited_at, not_before from workers where endpoint_id = $1 and phase = 'EXITED' order by exited_at",
          [id],
        );
      const failed = await until('five tries', async () => {
        const rows = await failures();
        return rows.length >= 5 && rows;
      });
      const [log] = await Promise.all([
        api.logs(id, failed[0]!.id, (events) => events.some(({ line }) => line.startsWith('could not be started'))),
        api.workers(id).then((workers) => expect(workers.length).toBeLessThanOrEqual(1)),
      ]);
      expect(log.every(({ source }) => source === 'system')).toBe(true);
      const pauses = failed.slice(1).map((row, i) => row.exited_at.getTime() - failed[i]!.exited_at.getTime());
      expect(pauses[2]).toBeGreaterThanOrEqual(1_000); // after three tries: 1 s, 2 s, 4 s …
      expect(pauses[3]).toBeGreaterThanOrEqual(2_000);
      const patchedAt = Date.now();
      await api.patch(id, { image: 'podyard/echo-js:dev' });
      expect(await api.ended(id, jobId)).toMatchObject({ status: 'COMPLETED', output: 'patience' });
      console.log(`from the PATCH to a good image to the result: ${Date.now() - patchedAt} ms`);
      expect((await api.workers(id)).some((worker) => worker.id === unhealthy.id)).toBe(false);
      await api.delete(id);
    });

    test('a worker that crashes has the last lines of its stderr as the reason, not what it printed to stdout', async () => {
      const api = new Api(server);
      const program = "console.log('loading'); console.error('Error: \\u001b[31mno model'); process.exitCode = 3;";
      const args = JSON.stringify({ entrypoint: ['node', '-e', program] });
      const id = await api.createEndpoint({ args, workers: { min: 0, max: 1 } });
      await api.run(id, {});
      const [ended] = await until('a worker has ended', async () => {
        const path = `/v2/serverless/${id}/workers?include=ENDED`;
        const list = await api.call<{ ended: { reason: string; exitCode: number }[] }>('GET', path);
        return list.ended.length > 0 && list.ended;
      });
      expect(ended).toMatchObject({ exitCode: 3, reason: 'it exited with code 3:\nError: no model' });
      expect(await api.call('GET', `/v2/serverless/${id}/state`)).toMatchObject({
        state: 'FAILING',
        reason: expect.stringMatching(/: it exited with code 3:\nError: no model$/),
      });
      await api.delete(id);
    });

    test('deleting an endpoint removes its containers, even busy ones', async () => {
      const api = new Api(server);
      const id = await api.createEndpoint({ workers: { min: 2, max: 2 } });
      const workers = await until('two are ready', async () => {
        const ready = (await api.workers(id)).filter((worker) => worker.status === 'IDLE');
        return ready.length === 2 && ready;
      });
      await api.run(id, { delayMs: 60_000 });
      const containers = await containersOf(server.installation);
      for (const worker of workers) expect(containers.get(worker.id)).toBe('running');
      await api.delete(id);
      await until('they are gone', async () => {
        const left = await containersOf(server.installation);
        return workers.every((worker) => !left.has(worker.id));
      });
      await expect(api.workers(id)).rejects.toThrow('404');
    });
  });

  test('the time from submit to the container being created (measured)', async () => {
    const api = new Api(server);
    const id = await api.createEndpoint({
      workers: { min: 0, max: 1 },
      scaling: { type: 'REQUEST_COUNT', value: 1, idleTimeout: 0 },
    });
    const sinceMs = Date.now() - 1000;
    const submits: { at: number; workerId: string; delayTime: number }[] = [];
    for (let i = 0; i < 8; i++) {
      const at = Date.now();
      const job = await api.runToEnd(id, { echo: i });
      submits.push({ at, workerId: job.workerId!, delayTime: job.delayTime! });
      await until('no worker', async () => (await api.workers(id)).length === 0);
      await until('its container is gone', async () => !(await containersOf(server.installation)).has(job.workerId!));
    }
    const creations = await creationsOf(server.installation, sinceMs);
    const untilCreated = submits.map(({ at, workerId }) => creations.get(workerId)! - at).sort((a, b) => a - b);
    const delays = submits.map(({ delayTime }) => delayTime).sort((a, b) => a - b);
    const summarize = (values: number[]) => `median ${values[4]!.toFixed(0)} ms, worst ${values[7]!.toFixed(0)} ms`;
    console.log(
      `from submit to the engine's created container: ${summarize(untilCreated)}; to dispatch: ${summarize(delays)}`,
    );
    expect(untilCreated[4]).toBeLessThan(2_000);
    await api.delete(id);
  });
});
