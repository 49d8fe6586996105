import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { until } from './api.ts';
import { ServerProcess } from './server-process.ts';

let database: TestDatabase;
let server: ServerProcess;
beforeAll(async () => {
  database = await createTestDatabase();
  server = await ServerProcess.start({
    runtime: 'process',
    databaseUrl: database.url,
    env: { PODYARD_LOG_LEVEL: 'debug', PODYARD_RATE_LIMIT: 'off' },
  });
});
afterAll(async () => {
  await server?.dispose();
  await database?.drop();
});

const TIMEOUT_MS = 30_000;

async function ask(query: string, variables: object = {}) {
  const response = await fetch(`${server.url}/graphql?api_key=${server.key}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  // biome-ignore lint/suspicious/noExplicitAny: as any client sees it
  const { data, errors } = (await response.json()) as { data?: any; errors?: object[] };
  return { status: response.status, data, errors };
}

test('an endpoint created here runs jobs, and neither the key nor the secret appears in a log line', async () => {
  const canary = `canary-${crypto.randomUUID()}`;
  await ask('mutation ($i: SecretCreateInput) { secretCreate(input: $i) { id } }', { i: { name: 's', value: canary } });
  const { data, errors } = await ask('mutation ($i: EndpointInput!) { saveEndpoint(input: $i) { id templateId } }', {
    i: {
      name: 'echo',
      gpuIds: 'ADA_24',
      workersMax: 1,
      template: { imageName: 'podyard/echo-js:dev', env: [{ key: 'TOKEN', value: '{{ RUNPOD_SECRET_s }}' }] },
    },
  });
  expect(errors).toBeUndefined();
  const { id } = data.saveEndpoint;
  const run = await fetch(`${server.url}/v2/${id}/runsync?wait=60000`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ input: { echo: 'hello' } }),
    signal: AbortSignal.timeout(90_000),
  });
  expect(await run.json()).toMatchObject({ status: 'COMPLETED', output: 'hello' });
  const worker = await ask('query ($id: String!) { myself { endpoint(id: $id) { pods { desiredStatus } } } }', { id });
  expect(worker.data.myself.endpoint.pods).toEqual([{ desiredStatus: 'RUNNING' }]);
  expect((await ask('{')).status).toBe(400);
  await ask('mutation ($id: String!) { deleteEndpoint(id: $id) }', { id });
  await until('the requests are logged', async () => server.stderr.includes('/graphql","status":400'));
  expect(server.stdout + server.stderr).not.toContain(server.key);
  expect(server.stdout + server.stderr).not.toContain(canary);
});

test('hostile documents do not keep others from being answered', async () => {
  const hostile = `{ myself { ${Array.from({ length: 7_000 }, (_, i) => `a${i}: id`).join(' ')} } }`;
  let isOver = false;
  const attack = async () => {
    while (!isOver) expect((await ask(hostile)).status).toBe(400);
  };
  const attackers = Array.from({ length: 4 }, attack);
  try {
    for (let i = 0; i < 20; i++) {
      const answer = await ask('{ myself { id } }');
      expect(answer.data.myself.id).toMatch(/./);
    }
  } finally {
    isOver = true;
    await Promise.all(attackers);
  }
});

test('a CPU pod of a client that names a built-in template runs, is read with `port`, and ends', async () => {
  const { data: made, errors } = await ask(
    `mutation { deployCpuPod(input: { name: "python", imageName: "podyard/echo-js:dev", cloudType: ALL, startSsh: true,
       instanceId: "cpu3c-2-4", dataCenterId: null, ports: "", templateId: "runpod-ubuntu" })
       { id imageName env machineId machine { podHostId } } }`,
  );
  expect(errors).toBeUndefined();
  const { id, imageName } = made.deployCpuPod;
  expect(imageName).toBe('podyard/echo-js:dev');
  const fields =
    'id desiredStatus port ports runtime { uptimeInSeconds ports { privatePort } } machine { maintenanceNote }';
  await until('it runs', async () => {
    const { data } = await ask(`query pod { pod(input: {podId: "${id}"}) { ${fields} } }`);
    return data.pod.runtime !== null;
  });
  const { data: list } = await ask(`query myPods { myself { pods { ${fields} } } }`);
  expect(list.myself.pods).toMatchObject([{ id, desiredStatus: 'RUNNING', port: null, ports: '22/tcp,8888/http' }]);
  expect((await ask(`mutation { podTerminate(input: { podId: "${id}" }) }`)).data).toEqual({ podTerminate: null });
});
