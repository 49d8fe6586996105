import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { MAIN } from '../podyard-main.ts';
import { Api, until } from './api.ts';
import { ServerProcess, type TestedRuntime } from './server-process.ts';

/** A client's view of `podyard simulate` on a running server with real workers. */
export function shortageTests(runtime: TestedRuntime): void {
  let server: ServerProcess;
  let api: Api;
  beforeAll(async () => {
    server = await ServerProcess.start({ runtime, gpus: 'ADA_24@EU-RO-1:1' });
    api = new Api(server);
  });
  afterAll(() => server?.dispose());
  afterEach(() => api.deleteAll());

  /** Runs `podyard simulate` on the database of the server. */
  const simulate = async (...args: string[]) => {
    const options = ['--data-dir', server.dataDir];
    const { stdout } = await promisify(execFile)(process.execPath, [MAIN, 'simulate', ...args, ...options], {
      timeout: 60_000,
    });
    return stdout;
  };
  const worker = async (id: string, status: string) =>
    until(`a worker is ${status}`, async () => {
      const [found] = await api.workers(id);
      return found?.status === status && (found as typeof found & { reason: string | null; dataCenterId: string });
    });

  test('without capacity workers are throttled and say what is missing; they run once it is back', async () => {
    expect(await simulate('capacity', 'ADA_24@EU-RO-1', '0')).toMatch(/ADA_24\s+EU-RO-1\s+0/);
    const id = await api.createEndpoint({ workers: { max: 1 } });
    const job = await api.run(id, { echo: 'scarce' });
    expect((await worker(id, 'THROTTLED')).reason).toContain('no capacity: it needs 1 GPU');
    const { explain } = await api.call<{ explain: { attempts: { stages: { stage: string; reason: string }[] }[] } }>(
      'GET',
      `/v2/${id}/status/${job.id}?explain=1`,
    );
    expect(explain.attempts[0]!.stages.at(-1)).toMatchObject({
      stage: 'capacity',
      reason: expect.stringContaining('no capacity'),
    });
    await simulate('capacity', 'ADA_24@EU-RO-1', '1');
    expect(await api.ended(id, job.id)).toMatchObject({ status: 'COMPLETED', output: 'scarce' });
    await api.delete(id);
    await until('its place is free', async () => (await api.workers(id).catch(() => [])).length === 0);
  });

  test('the job of a preempted worker runs on another one, and a start that crashes is retried', async () => {
    const id = await api.createEndpoint({ workers: { max: 1 }, scaling: { idleTimeout: 60 } });
    const job = await api.run(id, { echo: 'moved', delayMs: 5_000 });
    const running = await until('it runs', async () => {
      const found = await api.status(id, job.id);
      return found.status === 'IN_PROGRESS' && found;
    });
    const incident = (body: object) => api.call('POST', '/v2/account/simulation', body);
    await incident({ action: 'crash', endpointId: id, starts: 1 });
    await incident({ action: 'preempt', workerId: running.workerId, graceSeconds: 0 });
    const ended = await api.ended(id, job.id);
    expect(ended).toMatchObject({ status: 'COMPLETED', output: 'moved', retries: 1 });
    expect(ended.workerId).not.toBe(running.workerId);
    const ends = await server.query<{ phase_reason: string }>(
      `select phase_reason from workers where endpoint_id = $1 and phase = 'EXITED' order by exited_at`,
      [id],
    );
    const [preempted, crashed] = ends.map(({ phase_reason }) => phase_reason);
    expect(preempted).toMatch(/^preempted \(simulated\)(:\n|$)/); // the last lines of its output may follow
    expect(crashed).toMatch(/^crashed on start \(simulated\)(:\n|$)/);
  });

  test('a slow pull delays a start and shows in the timeline of the worker', async () => {
    await simulate('slow-pull', '2');
    const id = await api.createEndpoint({ workers: { max: 1 } });
    const job = await api.runToEnd(id, { echo: 1 });
    expect(job.delayTime).toBeGreaterThanOrEqual(2000);
    const { timeline } = await api.call<{ timeline: { stage: string; ms: number }[] }>(
      'GET',
      `/v2/serverless/${id}/workers/${job.workerId}`,
    );
    expect(timeline.find(({ stage }) => stage === 'pull')!.ms).toBeGreaterThanOrEqual(1990);
    expect(await simulate('reset')).toMatch(/ADA_24\s+EU-RO-1\s+1/);
  });
}
