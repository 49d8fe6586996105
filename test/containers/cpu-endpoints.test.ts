import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { containerOf, describeWithEngine, needExampleImages } from './container-engine.ts';

/** A worker that returns its variables, and greets on TCP port 2222. */
const WORKER = `
  import { createServer } from 'node:net';
  import { start } from '/worker/podyard-worker.js';
  createServer((socket) => socket.end('hello from ' + process.env.RUNPOD_POD_ID)).listen(2222);
  await start({ handler: () => process.env });
`;
const SSH_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB me@example.com';

describeWithEngine('workers of CPU endpoints in containers', () => {
  let server: ServerProcess;
  let api: Api;
  beforeAll(async () => {
    await needExampleImages();
    server = await ServerProcess.start({ runtime: 'docker' });
    api = new Api(server);
  });
  afterAll(() => server?.dispose());

  const statusWith = async (key: string, path: string) =>
    (await fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${key}` } })).status;

  test('a worker has what its flavor has, its own key, and public TCP ports', async () => {
    await api.call('PUT', '/v2/account/ssh-keys', { sshKeys: [SSH_KEY] });
    const { id, cpu } = await api.call<{ id: string; cpu: object[] }>('POST', '/2026-08/v2/serverless', {
      name: 'on cpus',
      type: 'QUEUE',
      image: 'podyard/echo-js:dev',
      args: JSON.stringify({ entrypoint: ['node', '--input-type=module', '-e', WORKER] }),
      cpu: [{ id: 'cpu3c', vcpuCount: 2 }],
      ports: ['2222/tcp'],
      scaling: { type: 'REQUEST_COUNT', requestCount: 1 },
      workers: { min: 1, max: 1 },
    });
    expect(cpu).toEqual([{ id: 'cpu3c', vcpuCount: 2, memory: 4 }]);
    const env = (await api.runToEnd(id, {})).output as Record<string, string>;
    expect(env).toMatchObject({
      PUBLIC_KEY: `${SSH_KEY}\n`,
      RUNPOD_GPU_COUNT: '0',
      RUNPOD_CPU_COUNT: '2',
      RUNPOD_MEM_GB: '4',
      RUNPOD_DC_ID: 'LOCAL-1',
      RUNPOD_PUBLIC_IP: '127.0.0.1',
    });
    const workerId = env.RUNPOD_POD_ID!;
    const { HostConfig } = await (await containerOf(server.installation, workerId)).inspect();
    expect(HostConfig).toMatchObject({ NanoCpus: 2e9, Memory: 4 * 2 ** 30 });
    expect(await greetingAt(env.RUNPOD_PUBLIC_IP!, Number(env.RUNPOD_TCP_PORT_2222))).toBe(`hello from ${workerId}`);

    const key = env.RUNPOD_API_KEY!;
    expect(await statusWith(key, `/v2/serverless/${id}`)).toBe(200);
    expect(await statusWith(key, `/v2/${id}/health`)).toBe(200);
    expect(await statusWith(key, '/v2/serverless')).toBe(403);
    expect(await statusWith(key, '/v2/account/secrets')).toBe(403);
    expect(JSON.stringify(await api.call('GET', '/v2/account/api-keys'))).not.toContain(workerId);
    await api.delete(id);
    await until('the key is gone', async () => (await statusWith(key, `/v2/serverless/${id}`)) === 401);
  });
});

async function greetingAt(host: string, port: number): Promise<string> {
  const socket = connect({ host, port });
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
