import { expect, test } from 'vitest';
import type { Runtime } from '../../../runtimes/runtime.ts';
import { workerPorts } from './worker-env.ts';

const docker = { name: 'docker' } as Runtime;
const processes = { name: 'process' } as Runtime;

test.each([
  [{}, { http: 80, health: 80 }],
  [{ PORT: '' }, { http: 80, health: 80 }],
  [{ PORT: '5000' }, { http: 5000, health: 5000 }],
  [
    { PORT: ' 5000 ', PORT_HEALTH: '5001' },
    { http: 5000, health: 5001 },
  ],
  [{ PORT_HEALTH: '5001' }, { http: 80, health: 5001 }],
])('with the variables %j the ports are %j', async (env, ports) => {
  expect(await workerPorts(env as Record<string, string>, docker)).toEqual(ports);
});

test.each(['0', '65536', 'http', '8.5', '-1'])('PORT %j is refused with a message that names it', async (PORT) => {
  await expect(workerPorts({ PORT }, docker)).rejects.toThrow(
    `the variable PORT is '${PORT}', but must be a port from 1 to 65535`,
  );
});

test('processes on one machine get a port each, unless the user chose one', async () => {
  const { http, health } = await workerPorts({}, processes);
  expect(health).toBe(http);
  expect(http).toBeGreaterThan(1023);
  expect(await workerPorts({ PORT: '5000' }, processes)).toEqual({ http: 5000, health: 5000 });
});
