import { afterEach, expect, test } from 'vitest';
import { until, type Worker } from '../e2e/api.ts';
import { describeOnCluster } from './cluster.ts';
import { placeOnCluster } from './place.ts';
import { ServerOnCluster } from './server-on-cluster.ts';

type Explained = Worker & { reason: string | null };

const HOG = JSON.stringify({
  entrypoint: ['node', '-e', 'const all = []; for (;;) all.push(Buffer.alloc(32 << 20, 1));'],
});

describeOnCluster('pods that cannot run', () => {
  const life = ServerOnCluster.use({
    images: ['podyard/echo-js:dev'],
    place: (cluster) => placeOnCluster(cluster, { gpus: 8 }),
    env: { PODYARD_MEMORY_PER_GPU: '200MiB' },
  });
  afterEach(() => life.api.deleteAll());

  const unhealthy = (id: string) =>
    until(
      'a worker is unhealthy',
      async () => ((await life.api.workers(id)) as Explained[]).find(({ status }) => status === 'UNHEALTHY'),
      60_000,
    );

  test('a program that always runs out of memory is UNHEALTHY with the limit as its reason, and backs off', async () => {
    const id = await life.api.createEndpoint({ args: HOG, workers: { min: 1, max: 1 } });
    const worker = await unhealthy(id);
    expect(worker.reason).toContain('Out of memory (limit 200 MiB)');
    const failures = () =>
      life.server.query<{ reason: string; exited_at: Date }>(
        "select phase_reason as reason, exited_at from workers where endpoint_id = $1 and phase = 'EXITED' order by exited_at",
        [id],
      );
    const ends = await until(
      'five of them ended',
      async () => {
        const rows = await failures();
        return rows.length >= 5 && rows;
      },
      90_000,
    );
    expect(ends.every(({ reason }) => reason.includes('Out of memory'))).toBe(true);
    expect(ends[4]!.exited_at.getTime() - ends[3]!.exited_at.getTime()).toBeGreaterThan(2_000);
    await life.api.delete(id);
    await until('no pod is left', async () => (await life.cluster.client.list(life.path('pods'))).length === 0);
  });

  test('a job that makes its pod run out of memory is redelivered once, then fails; the next one runs', async () => {
    const id = await life.api.createEndpoint({ workers: { min: 0, max: 1 }, scaling: { idleTimeout: 60 } });
    const fatal = await life.api.run(id, { bytes: 400_000_000 });
    expect(await life.api.ended(id, fatal.id)).toMatchObject({ status: 'FAILED', retries: 1 });
    expect(await life.api.runToEnd(id, { echo: 'next' })).toMatchObject({ status: 'COMPLETED', output: 'next' });
  });

  test('an unknown image is UNHEALTHY and names the registry that has no answer; with another image the job runs', async () => {
    const id = await life.api.createEndpoint({ image: '127.0.0.1:9/no/such:image', workers: { min: 0, max: 1 } });
    const job = await life.api.run(id, { echo: 'patience' });
    const worker = await unhealthy(id);
    expect(worker.reason).toContain(
      "The registry 127.0.0.1:9 gave no usable answer for image '127.0.0.1:9/no/such:image'",
    );
    await life.api.logs(id, worker.id, (events) =>
      events.some(({ source, line }) => source === 'system' && line.startsWith('could not be started')),
    );
    await life.api.patch(id, { image: 'podyard/echo-js:dev' });
    expect(await life.api.ended(id, job.id)).toMatchObject({ status: 'COMPLETED', output: 'patience' });
  });

  test('a missing program is UNHEALTHY with the message of the container runtime', async () => {
    const id = await life.api.createEndpoint({ args: '{"entrypoint":["/nowhere"]}', workers: { min: 1, max: 1 } });
    const { reason } = await unhealthy(id);
    expect(reason).toMatch(/could not be started.*\/nowhere.*no such file or directory/);
  });
});
