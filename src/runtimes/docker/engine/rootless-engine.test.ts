import { afterEach, expect, test } from 'vitest';
import { startFakeEngine } from '../../../../test/fake-engine.ts';
import { Engine } from '../../../engine/engine.ts';
import { EngineMachine, refuseOtherNamespace, UnusableEngine } from './engine-machine.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const INFO = { NCPU: 2, MemTotal: 1e9, Driver: 'vfs', DriverStatus: [] };
const VERSION = { Components: [{ Name: 'Podman Engine', Version: '4.3.1' }] };

async function check(info: object, uidMap = '/proc/self/uid_map'): Promise<void> {
  const fake = await startFakeEngine((request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(request.url!.startsWith('/info') ? { ...INFO, ...info } : VERSION));
  });
  const engine = new Engine(fake.socketPath);
  closing.push(
    () => engine.close(),
    () => fake.close(),
  );
  await refuseOtherNamespace(engine, new EngineMachine(engine), uidMap);
}

test('an engine with the network of the machine is used, also by a user of a namespace', async () => {
  await check({ Rootless: false });
  await check({ Rootless: true }, '/dev/null'); // as in the namespace of the engine's user
});

test.each([
  ['Podman', { Rootless: true, CgroupVersion: '2' }],
  ['Docker', { SecurityOptions: ['name=seccomp,profile=builtin', 'name=rootless'], CgroupVersion: '2' }],
])('one without root (%s) is refused with what is missing and what to do', async (_, info) => {
  const refusal = await check(info).catch((error) => error);
  expect(refusal).toBeInstanceOf(UnusableEngine);
  expect(refusal.message).toMatch(/^Podman 4.3.1 runs without root: .* DOCKER_HOST=.* --runtime process$/);
  expect(refusal.message).not.toContain('limit memory');
});

test('the refusal says what control groups of version 1 cost besides', async () => {
  await expect(check({ Rootless: true, CgroupVersion: '1' })).rejects.toThrow(
    'can neither limit memory and CPUs nor freeze',
  );
});
