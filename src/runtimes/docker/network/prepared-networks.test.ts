import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { silentLogger } from '../../../core/logger.ts';
import type { Engine } from '../../../engine/engine.ts';
import type { Containers } from '../containers/containers.ts';
import type { EngineMachine } from '../engine/engine-machine.ts';
import type { BridgeNetwork } from './bridge-network.ts';
import { PreparedNetworks } from './prepared-networks.ts';

/** The holders that an engine would have. */
const held = new Set<string>();
const containers = {
  create: async (id: string) => void held.add(id),
  start: async () => {},
  remove: async (id: string) => void held.delete(id),
  listHolders: async () => {
    const holders = [...held].map((id) => ({ id, container: { State: 'running' } }));
    return { holders, used: new Set<string>() };
  },
} as unknown as Containers;
let networks: PreparedNetworks;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  networks = new PreparedNetworks({
    containers,
    engine: {} as Engine,
    network: { name: 'n', nextAddress: async () => '10.0.0.2' } as unknown as BridgeNetwork,
    machine: { read: async () => ({ architecture: 'x86_64' }) } as unknown as EngineMachine,
    egress: { ready: async () => {} },
    installation: 'i',
    logger: silentLogger,
    count: 2,
  });
});
afterEach(async () => {
  vi.useRealTimers();
  await networks.close();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
let starts = 0;
/** Starts that last so long, at once. Returns how many of them found a network. */
async function burst(count: number, ms = 0): Promise<number> {
  const found = Array.from({ length: count }, async () => {
    const prepared = await networks.yieldTo(async () => {
      starts += 1;
      const taken = networks.take(`w${starts}`);
      await new Promise((resolve) => setTimeout(resolve, ms));
      return taken;
    });
    if (prepared) networks.free('', prepared.id);
    return prepared !== null;
  });
  await pass(ms);
  return (await Promise.all(found)).filter(Boolean).length;
}

test('none is prepared while a start is in progress, nor in the second after it', async () => {
  const first = burst(1, 5_000);
  await pass(900);
  expect(held.size).toBe(0);
  await first;
  expect(held.size).toBe(0);
  await pass(1_100);
  expect(held.size).toBe(2);
});

test('after a burst there are as many as it would have used, up to 16, for ten minutes', async () => {
  networks.begin();
  await pass(1_100);
  expect(await burst(5)).toBe(2);
  await pass(1_100);
  expect(held.size).toBe(5);
  expect(await burst(40)).toBe(5);
  await pass(1_100);
  expect(await burst(1)).toBe(1);
  await pass(9 * 60_000);
  expect(held.size).toBe(16);
  await pass(3 * 60_000);
  expect(held.size).toBe(2);
});
