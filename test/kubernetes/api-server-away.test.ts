import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Job, until } from '../e2e/api.ts';
import { fairMs } from '../fair-ms.ts';
import { describeOnOwnCluster } from './cluster.ts';
import { placeOnCluster } from './place.ts';
import { ServerOnCluster } from './server-on-cluster.ts';

const AWAY_MS = 60_000;

describeOnOwnCluster('an API server that is unreachable for a minute', () => {
  const life = ServerOnCluster.use({
    images: ['podyard/echo-js:dev'],
    place: (cluster) => placeOnCluster(cluster, { gpus: 8 }),
    env: { PODYARD_LEASE_SECONDS: '20' },
  });

  const ready = (id: string, count: number) =>
    until(`${count} are ready`, async () => {
      const workers = await life.api.workers(id);
      const isReady = workers.length === count && workers.every(({ status }) => /IDLE|RUNNING/.test(status));
      return isReady && workers.map((worker) => worker.id).sort();
    });
  const uids = async (workerIds: string[]) =>
    Promise.all(workerIds.map(async (id) => (await life.pod(id))?.metadata.uid as string | undefined));

  test('workers keep answering; none is stopped, replaced or declared lost, and what was requested meanwhile happens afterwards', async () => {
    const { api, server } = life;
    const scaling = { type: 'REQUEST_COUNT', value: 1, idleTimeout: 600 };
    const id = await api.createEndpoint({ workers: { min: 2, max: 2 }, scaling });
    const idle = await api.createEndpoint({ workers: { min: 0, max: 1 }, scaling: { idleTimeout: 3 } });
    const workers = await ready(id, 2);
    const pods = await uids(workers);

    const resume = await life.cluster.pause('kube-apiserver');
    const pausedAt = Date.now();
    const jobs: Job[] = [];
    let late: Job;
    try {
      late = await api.run(idle, { echo: 'from zero, when it is back' });
      const load = async () => {
        while (Date.now() - pausedAt < AWAY_MS) jobs.push(await api.runToEnd(id, { echo: 1, delayMs: 200 }));
      };
      const watchWorkers = async () => {
        while (Date.now() - pausedAt < AWAY_MS) {
          const found = await api.workers(id);
          expect(found.map((worker) => worker.id).sort()).toEqual(workers);
          expect(found.filter(({ status }) => !/IDLE|RUNNING/.test(status))).toEqual([]);
          await sleep(500);
        }
      };
      await Promise.all([load(), load(), watchWorkers()]);
    } finally {
      resume();
    }
    expect(jobs.filter(({ status, retries }) => status !== 'COMPLETED' || retries)).toEqual([]);
    expect(jobs.length).toBeGreaterThan(20);
    console.log(`${jobs.length} jobs were answered while the API server was away`);

    const tookMs = await fairMs(async () => {
      const done = { status: 'COMPLETED', output: 'from zero, when it is back' };
      expect(await api.ended(idle, late.id)).toMatchObject(done);
    });
    console.log(`the job of the endpoint at zero was answered ${Math.round(tookMs)} ms after its return`);
    expect(tookMs).toBeLessThan(30_000);
    await api.patch(id, { workers: { min: 3, max: 3 } });
    const grown = await ready(id, 3);
    expect(grown).toEqual(expect.arrayContaining(workers));
    expect(await uids(workers)).toEqual(pods);
    const gone = await server.query("select from workers where endpoint_id = $1 and phase = 'EXITED'", [id]);
    expect(gone).toEqual([]);
    const lines = (text: string) => server.stderr.split('\n').filter((line) => line.includes(text));
    expect([1, 2]).toContain(lines('does not answer; what runs keeps running').length); // when it goes, and after a minute
    expect(lines('answers again')).toHaveLength(1);
    expect(lines('"stack"')).toEqual([]);
    await api.delete(id);
    await api.delete(idle);
    await until('all are gone', async () => (await life.cluster.client.list(life.path('pods'))).length === 0);
  });

  test('a server that starts meanwhile answers and finds its workers', async () => {
    const { api, server } = life;
    const id = await api.createEndpoint({ workers: { min: 1, max: 1 }, scaling: { idleTimeout: 600 } });
    const [worker] = await ready(id, 1);
    await server.kill();
    const resume = await life.cluster.pause('kube-apiserver');
    try {
      await server.start();
      // Its worker was not stopped and reconnects by itself.
      expect(await api.runToEnd(id, { echo: 'still there' })).toMatchObject({
        output: 'still there',
        workerId: worker,
      });
    } finally {
      resume();
    }
    expect(await ready(id, 1)).toEqual([worker]);
    await api.delete(id);
  });
});
