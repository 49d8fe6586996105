import { expect, test } from 'vitest';
import { parseEgress } from '../../../config/egress.ts';
import { silentLogger } from '../../../core/logger.ts';
import type { Engine, EngineRequest } from '../../../engine/engine.ts';
import type { Containers } from '../containers/containers.ts';
import type { BridgeNetwork } from './bridge-network.ts';
import { EgressGuard } from './egress-guard.ts';

test('a worker in a prepared network is moved by the container that holds it, and keeps running', async () => {
  const requests: string[] = [];
  const engine = {
    json: async ({ path, body }: EngineRequest) => {
      requests.push(`${path} ${(body as { Container: string }).Container}`);
    },
  } as unknown as Engine;
  const NetworkSettings = { Networks: { podyard: { IPAddress: '10.0.0.2' } } };
  const common = { Names: [], State: 'running', Created: 1, NetworkSettings };
  const containers = {
    listAlive: async () => [
      { ...common, Id: 'c1', Labels: { 'podyard.id': 'w1' }, holderId: 'h1' },
      { ...common, Id: 'c2', Labels: { 'podyard.id': 'w2' } },
    ],
  } as unknown as Containers;
  const network = { name: 'podyard-internet', ensure: async () => {} } as unknown as BridgeNetwork;
  const settings = parseEgress('internet', undefined);
  const guard = new EgressGuard({ engine, containers, network, settings, installation: 'i', logger: silentLogger });
  expect(await guard.moveWorkloads()).toEqual(['w1', 'w2']);
  expect(requests).toEqual([
    '/networks/podyard/disconnect h1',
    '/networks/podyard-internet/connect h1',
    '/networks/podyard/disconnect c2',
    '/networks/podyard-internet/connect c2',
  ]);
});
