import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { freePort } from '../free-port.ts';
import { Api, type LogEvent, until } from './api.ts';
import { type RuntimePlace, ServerProcess, type TestedRuntime } from './server-process.ts';

interface Pod {
  id: string;
  status: string;
  actions: string[];
  cost: number;
  image: string;
  startedAt: string | null;
  ssh: { direct: { host: string; port: number; command: string } | null };
  runtime: {
    uptime: number;
    memory: { util: number };
    ports: { private: number; public: number | null; type: string; ip: string | null }[];
  } | null;
}

/** A server that describes itself, writes files, and exits on request. */
const PROGRAM = `
const { createServer } = require('node:http');
const fs = require('node:fs');
const started = Date.now() + '/' + process.pid;
createServer((req, res) => {
  const url = new URL(req.url, 'http://pod');
  if (url.pathname === '/write') fs.writeFileSync(url.searchParams.get('file'), url.searchParams.get('text'));
  if (url.pathname === '/print') for (let i = 0; i < 50; i++) console.log(url.searchParams.get('text') + ' ' + i);
  const file = url.searchParams.get('file');
  const text = file !== null && fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : null;
  res.end(JSON.stringify({ started, env: process.env, text }), () => {
    if (url.pathname === '/exit') process.exit(Number(url.searchParams.get('code')));
  });
}).listen(Number(process.env.WEB_PORT), '0.0.0.0', () => console.log('serving'));
process.on('SIGTERM', () => process.exit(0));
`;
const GPU = 'NVIDIA GeForce RTX 4090';

/** The life of a pod on a real server, with its storage mounted at `mount`. */
export function podTests(runtime: TestedRuntime, mount: string, place: () => RuntimePlace = () => ({})): void {
  let server: ServerProcess;
  let api: Api;
  const made: string[] = [];
  beforeAll(async () => {
    server = await ServerProcess.start({ runtime, ...place() });
    api = new Api(server);
  });
  afterAll(() => server?.dispose());
  afterEach(async () => {
    for (const id of made.splice(0)) await api.call('DELETE', `/v2/pods/${id}`).catch(() => {});
  });

  const get = (id: string) => api.call<Pod>('GET', `/v2/pods/${id}`);
  const act = (id: string, action: string) => api.call<Pod>('POST', `/v2/pods/${id}/action`, { action });
  const create = async (more: object = {}): Promise<{ id: string; port: number }> => {
    const port = await freePort();
    const { id } = await api.call<Pod>('POST', '/v2/pods', {
      name: 'e2e',
      image: 'podyard/echo-js:dev',
      args: JSON.stringify({ entrypoint: ['node', '-e', PROGRAM] }),
      ports: [`${port}/tcp`],
      env: { WEB_PORT: String(port), GREETING: 'hello' },
      gpu: { id: GPU },
      mounts: { persistent: { size: 10, path: mount } },
      ...more,
    });
    made.push(id);
    return { id, port };
  };
  /** Returns the answer of the program at the address in the record; waits for a container other than `not`. */
  const ask = (
    id: string,
    path = '/',
    not?: string,
  ): Promise<{ started: string; env: NodeJS.ProcessEnv; text: string | null }> =>
    until(
      `pod ${id} answers`,
      async () => {
        const pod = await get(id);
        const [port] = pod.runtime?.ports ?? [];
        if (!port) throw new Error(`it is ${pod.status}; log: ${(await systemLines(id)).join(' | ')}`);
        const response = await fetch(`http://${port.ip}:${port.public}${path}`, { signal: AbortSignal.timeout(5_000) });
        const answer = (await response.json()) as { started: string; env: NodeJS.ProcessEnv; text: string | null };
        return answer.started !== not && answer;
      },
      60_000,
    );
  const systemLines = async (id: string) =>
    (
      await server.query<{ line: string }>(
        "select line from log_lines where workload_id = $1 and source = 'system' order by seq",
        [id],
      )
    ).map(({ line }) => line);
  const workloads = async () => (await server.listWorkloads()).map(({ id }) => id);
  const storedPods = async (): Promise<string[]> => {
    const root = join(server.dataDir, 'storage', server.installation, 'pods');
    return (await place().listStored?.('pod')) ?? readdir(root).catch(() => []);
  };
  const lines = (events: readonly LogEvent[], start: string) =>
    events.map(({ line }) => line).filter((line) => line.startsWith(start));
  const statusIs = (id: string, status: string) =>
    until(`pod ${id} is ${status}`, async () => (await get(id)).status === status, 60_000);

  test('a pod runs, stops, starts, restarts, changes and terminates', async () => {
    const { id, port } = await create();
    const file = `${mount}/kept`;
    const first = await ask(id, `/write?file=${file}&text=kept`);
    expect(first.env).toMatchObject({
      GREETING: 'hello',
      RUNPOD_POD_ID: id,
      RUNPOD_GPU_COUNT: '1',
      RUNPOD_DC_ID: 'LOCAL-1',
    });
    const running = await get(id);
    expect(running).toMatchObject({ status: 'RUNNING', actions: ['stop', 'restart', 'terminate'] });
    expect(first.env[`RUNPOD_TCP_PORT_${port}`]).toBe(String(running.runtime!.ports[0]!.public));
    expect(running.cost).toBeGreaterThan(0);
    expect(await act(id, 'stop')).toMatchObject({ status: 'EXITED', cost: 0, runtime: null });
    await until('its container is gone', async () => !(await workloads()).includes(id));
    expect((await get(id)).status).toBe('EXITED');

    const path = `/?file=${file}`;
    await act(id, 'start');
    const second = await ask(id, path, first.started);
    expect(second.text).toBe('kept');

    expect(await act(id, 'restart')).toMatchObject({ status: 'STARTING' });
    const third = await ask(id, path, second.started);
    expect(third.text).toBe('kept');

    await api.call('PATCH', `/v2/pods/${id}`, { env: { WEB_PORT: String(port), GREETING: 'changed' } });
    const fourth = await ask(id, path, third.started);
    expect(fourth).toMatchObject({ text: 'kept', env: { GREETING: 'changed' } });
    await api.call('PATCH', `/v2/pods/${id}`, { image: 'podyard/echo-js:v2' });
    expect((await ask(id, path, fourth.started)).text).toBe('kept');

    await act(id, 'terminate');
    await expect(get(id)).rejects.toMatchObject({ status: 404 });
    await until('it is gone', async () => {
      const [row] = await server.query<{ gone: boolean }>(
        'select gone_at is not null as gone from pods where id = $1',
        [id],
      );
      return row?.gone;
    });
    expect(await workloads()).not.toContain(id);
    await until('its storage is gone', async () => !(await storedPods()).includes(id));
    const runs = await server.query<{ ended: boolean }>(
      'select ended_at is not null as ended from pod_runs where pod_id = $1',
      [id],
    );
    expect(runs.map(({ ended }) => ended)).toEqual([true, true, true, true, true]);
  });

  test('the memory usage of a pod is shown in percent', async () => {
    const { id } = await create({ gpu: undefined, mounts: undefined, cpu: { id: 'cpu3c', vcpuCount: 2 } });
    await ask(id);
    const measured = await until('it is measured', async () => {
      const { runtime: figures } = await get(id);
      return figures !== null && figures.memory.util > 0 && figures;
    });
    expect(measured.memory.util).toBeLessThanOrEqual(100);
  });

  if (runtime === 'docker') {
    test('a pod is reached at its SSH address, and its container has the keys and the Jupyter password', async () => {
      const key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 alice@laptop';
      await api.call('PUT', '/v2/account/ssh-keys', { sshKeys: [key] });
      const cpu = { id: 'cpu3c', vcpuCount: 2 };
      const more = { ports: ['22/tcp'], env: { WEB_PORT: '22' }, gpu: undefined, mounts: undefined, cpu };
      const { id } = await create({ ...more, startSsh: true, startJupyter: true });
      await ask(id);
      const { host, port, command } = (await get(id)).ssh.direct!;
      expect(command).toBe(`ssh root@${host} -p ${port}`);
      const response = await fetch(`http://${host}:${port}/`, { signal: AbortSignal.timeout(5_000) });
      const { env } = (await response.json()) as { env: NodeJS.ProcessEnv };
      expect(env).toMatchObject({ PUBLIC_KEY: `${key}\n`, RUNPOD_TCP_PORT_22: String(port) });
      const { password } = await api.call<{ password: string }>('GET', `/v2/pods/${id}/jupyter`);
      expect(env.JUPYTER_PASSWORD).toBe(password);
      expect((await act(id, 'stop')).ssh.direct).toBeNull();
    });
  }

  if (runtime !== 'process') return; // the rest depends only on what contract.ts proves of every runtime

  test('a pod survives a killed server and is adopted by the next one; its log has no gap', async () => {
    const { id } = await create({ gpu: undefined, mounts: undefined, cpu: { id: 'cpu3c', vcpuCount: 2 } });
    const before = await ask(id, '/print?text=early');
    const path = `/v2/pods/${id}/logs`;
    const early = await api.logsAt(path, (events) => lines(events, 'early').length === 50);
    const at = early.find(({ line }) => line === 'early 20')!;
    await server.kill();
    await server.start();
    expect((await ask(id, '/print?text=late')).started).toBe(before.started);
    const resumed = await api.logsAt(path, (events) => lines(events, 'late').length === 50, { after: at.id });
    const numbered = (word: string, from: number) => Array.from({ length: 50 - from }, (_, i) => `${word} ${from + i}`);
    expect(lines(resumed, 'early')).toEqual(numbered('early', 21));
    expect(lines(resumed, 'late')).toEqual(numbered('late', 0));
    expect((await systemLines(id)).filter((line) => line.startsWith('ended'))).toEqual([]);

    await act(id, 'stop');
    await server.kill();
    await server.start();
    await until('the next server has stopped it', async () => !(await workloads()).includes(id), 60_000);
  });

  test('a pod is stopped and terminated at its times, also when the server was killed meanwhile', async () => {
    const { id } = await create({ gpu: undefined, mounts: undefined, cpu: { id: 'cpu3c', vcpuCount: 2 } });
    await ask(id);
    const set = (times: { stopAfter: string | null; terminateAfter: string | null }) =>
      api.call('PUT', `/v2/pods/${id}/lifetime`, times);
    const stopAfter = new Date(Date.now() + 1_000).toISOString();
    await set({ stopAfter, terminateAfter: null });
    await statusIs(id, 'EXITED');
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(stopAfter));
    const reason = `stopAfter was ${stopAfter}`;
    expect(await api.call('GET', `/v2/pods/${id}?include=REASON`)).toMatchObject({ reason, cost: 0 });
    await until('its container is gone', async () => !(await workloads()).includes(id), 60_000);
    await until('its log says why', async () => (await systemLines(id)).includes(`stops: ${reason}`));

    const terminateAfter = new Date(Date.now() + 1_000).toISOString();
    await set({ stopAfter: null, terminateAfter });
    await server.kill();
    await until('its time has come', async () => Date.now() > Date.parse(terminateAfter));
    await server.start();
    await until(
      'it is gone',
      async () => (await api.call<{ pods: Pod[] }>('GET', '/v2/pods')).pods.every((pod) => pod.id !== id),
      60_000,
    );
  });

  test('a container that exits with any code, or is removed, is restarted', async () => {
    const { id } = await create();
    const first = await ask(id, '/exit?code=0');
    const second = await ask(id, '/exit?code=7', first.started);
    const third = await ask(id, '/', second.started);
    const ends = async () => (await systemLines(id)).filter((line) => line.startsWith('ended'));
    await until('both ends are stored', async () => (await ends()).length === 2); // a line not yet stored is lost with the server
    await server.kill();
    await server.loseWorkload(id); // like a restart of the engine or the machine
    await server.start();
    await ask(id, '/', third.started);
    await until('the third end is stored', async () => (await ends()).length === 3);
    expect((await ends())[1]).toMatch(/code 7/);

    await api.call('DELETE', `/v2/pods/${id}`);
    await server.kill();
    await server.start();
    await until('nothing of it is left', async () => (await workloads()).length === 0, 60_000);
    await until('its storage is gone', async () => (await storedPods()).length === 0);
  });

  test('a pod with an unknown image is in ERROR, with the reason in its system log, until it is changed and started', async () => {
    const { id } = await create({ image: '127.0.0.1:9/no/such:image' });
    await statusIs(id, 'ERROR');
    expect(await get(id)).toMatchObject({ actions: ['start', 'terminate'], cost: 0 });
    const log = await api.logsAt(
      `/v2/pods/${id}/logs`,
      (events) => lines(events, 'could not be started: ').length === 1,
    );
    expect(log.every(({ source }) => source === 'system')).toBe(true);
    await api.call('PATCH', `/v2/pods/${id}`, { image: 'podyard/echo-js:dev' });
    await act(id, 'start');
    await ask(id);
  });

  test('pods and workers share the same GPUs', async () => {
    const ofGpus = (count: number) => create({ gpu: { id: GPU, count }, mounts: {} });
    const pods = await Promise.all([ofGpus(2), ofGpus(1)]);
    const refused = ofGpus(2);
    await expect(refused).rejects.toThrow(/There are no longer any instances available/);
    const endpointId = await api.createEndpoint({ gpu: { pools: ['ADA_24'], count: 2 }, workers: { min: 1, max: 1 } });
    await until('the worker waits', async () => {
      const workers = await api.workers(endpointId);
      if (workers[0]?.status !== 'THROTTLED') throw new Error(JSON.stringify(workers));
      return true;
    });
    await act(pods[0]!.id, 'stop');
    await until('the worker has its place', async () => (await api.workers(endpointId))[0]?.status === 'IDLE', 60_000);
    await expect(act(pods[0]!.id, 'start')).rejects.toThrow(/There are no longer any instances available/);
    await api.delete(endpointId);
  });
}
