import Docker from 'dockerode';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Api, type LogEvent, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { containerOf, containersOf, describeWithEngine, needExampleImages } from './container-engine.ts';

/** Makes a file of that many megabytes, and stays. The engine counts its length, not the blocks that it occupies. */
const fill = (megabytes: number) =>
  `require('fs').writeFileSync('/big', ''); require('fs').truncateSync('/big', ${megabytes} * 1e6); setInterval(() => {}, 1000);`;

describeWithEngine('memory, CPU and disk of workloads in containers', () => {
  let server: ServerProcess;
  let api: Api;

  beforeAll(async () => {
    await needExampleImages();
    server = await ServerProcess.start({ runtime: 'docker' });
    api = new Api(server);
  });
  afterAll(() => server?.dispose());

  test('a worker and a pod with a GPU get their share of the machine, and are the first to go when memory runs out', async () => {
    const settings = { image: 'podyard/echo-js:dev', disk: 5 };
    const pod = await api.call<{ id: string }>('POST', '/v2/pods', {
      ...settings,
      name: 'share',
      args: JSON.stringify({ entrypoint: ['node', '-e', 'setInterval(() => {}, 1000)'] }),
      gpu: { id: 'NVIDIA GeForce RTX 4090', count: 2 },
    });
    const endpointId = await api.createEndpoint({ ...settings, workers: { min: 1, max: 1 } });
    const containers = () => containersOf(server.installation);
    await until(
      'both run',
      async () => [...(await containers()).values()].filter((is) => is === 'running').length === 2,
    );
    const { NCPU, MemTotal } = await new Docker().info();
    for (const id of (await containers()).keys()) {
      const { HostConfig, Config } = await (await containerOf(server.installation, id)).inspect();
      const gpus = id === pod.id ? 2 : 1; // of 4
      const cpus = Math.max(Math.min(1, 0.9 * NCPU), (0.9 * NCPU * gpus) / 4);
      const memory = Math.max(Math.min(2 ** 30, 0.9 * MemTotal), (0.9 * MemTotal * gpus) / 4);
      expect(HostConfig.NanoCpus! / 1e9).toBeCloseTo(cpus, 1);
      expect(Math.abs(HostConfig.Memory! - memory)).toBeLessThan(2 ** 20);
      expect(HostConfig).toMatchObject({ MemorySwap: HostConfig.Memory, OomScoreAdj: 500 });
      expect(Config.Env).toContain(`RUNPOD_MEM_GB=${Math.floor(HostConfig.Memory! / 2 ** 30)}`);
    }
    await api.delete(endpointId);
    await api.call('DELETE', `/v2/pods/${pod.id}`);
  });

  test('the start and the console say when disks cannot be limited', async () => {
    const { notices } = await api.call<{ notices: string[] }>('GET', '/v2/account/installation');
    const notice = expect.stringMatching(/^The engine cannot limit the disk of a container \(overlay2? on extfs\)/);
    expect(notices).toContainEqual(notice);
    expect(server.stderr).toContain('! The engine cannot limit the disk of a container');
  });

  test('a pod and a worker that write more than their disk and a tenth are stopped, with the reason; others are not', async () => {
    const create = (name: string, megabytes: number) =>
      api.call<{ id: string }>('POST', '/v2/pods', {
        name,
        image: 'podyard/echo-js:dev',
        args: JSON.stringify({ entrypoint: ['node', '-e', fill(megabytes)] }),
        disk: 1,
        cpu: { id: 'cpu3c', vcpuCount: 2 },
      });
    const [over, under] = await Promise.all([create('over', 1300), create('under', 1100)]);
    const endpointId = await api.createEndpoint({
      args: JSON.stringify({ entrypoint: ['node', '-e', fill(1300)] }),
      disk: 1,
      workers: { min: 1, max: 1 },
    });
    const statusOf = async (id: string) => (await api.call<{ status: string }>('GET', `/v2/pods/${id}`)).status;
    await until('the pod is stopped', async () => (await statusOf(over.id)) === 'ERROR', 120_000);
    const reason = 'it wrote 1.2 GB, more than its disk of 1 GB and a tenth';
    const [row] = await server.query('select phase_reason from pods where id = $1', [over.id]);
    expect(row).toEqual({ phase_reason: reason });
    const lines = await server.query<LogEvent>(`select line from log_lines where line = $1`, [`stops: ${reason}`]);
    expect(lines.length).toBeGreaterThan(0);
    await until(
      'the worker is stopped',
      async () => {
        const [worker] = await server.query<{ phase_reason: string; is_lost: boolean }>(
          `select phase_reason, is_lost from workers where endpoint_id = $1 and phase = 'EXITED'`,
          [endpointId],
        );
        return worker?.is_lost === true && worker.phase_reason.startsWith(reason);
      },
      120_000,
    );
    expect(await statusOf(under.id)).toBe('RUNNING');
    expect((await containersOf(server.installation)).has(over.id)).toBe(false);
  });
});
