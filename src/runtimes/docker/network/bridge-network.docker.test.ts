import { afterEach, expect, test } from 'vitest';
import { docker, hasEngine } from '../../../../test/engine.ts';
import { systemClock } from '../../../core/clock.ts';
import { newId } from '../../../core/ids.ts';
import { silentLogger } from '../../../core/logger.ts';
import { Engine } from '../../../engine/engine.ts';
import { removeKeeper } from './bridge-keeper.ts';
import { BridgeNetwork } from './bridge-network.ts';

const engine = new Engine(undefined);
const name = `podyard-test-${newId<string>(6)}`;

/** The names of all networks of this test. */
async function listNames(): Promise<string[]> {
  const networks = await docker.listNetworks({ filters: { name: [name] } });
  return networks.map((network) => network.Name).sort();
}

afterEach(async () => {
  for (const left of await listNames()) {
    await removeKeeper(engine, left);
    await docker.getNetwork(left).remove();
  }
});

test.skipIf(!hasEngine)(
  'a probe network that a killed process left is removed at the next start, a fresh one is not',
  async () => {
    const probe = `${name}-probe-abcd1234`;
    await docker.createNetwork({ Name: probe, Driver: 'bridge' }); // and then the process was killed
    await new BridgeNetwork(engine, name, silentLogger).ensure();
    expect(await listNames()).toEqual([name, probe]); // another process may be using it
    const later = { now: () => systemClock.now() + 61_000 };
    await new BridgeNetwork(engine, name, silentLogger, later).ensure();
    expect(await listNames()).toEqual([name]);
  },
);
