import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FakeApiServer, sendList } from '../../../../test/fake-api-server.ts';
import { readKubernetesSettings } from '../../../config/kubernetes-settings.ts';
import { silentLogger } from '../../../core/logger.ts';
import { hasGpuNodes } from './device-slices.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'podyard-kubeconfig-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function settingsFor(server: string) {
  const file = join(folder, 'config');
  const cluster = { name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } };
  const context = { name: 'c', context: { cluster: 'c', user: 'u' } };
  const users = [{ name: 'u', user: {} }];
  const config = { kind: 'Config', clusters: [cluster], contexts: [context], users, 'current-context': 'c' };
  writeFileSync(file, JSON.stringify(config));
  return readKubernetesSettings({ PODYARD_KUBECONFIG: file });
}

test('while the API server is away, the answer is that of the last start', async () => {
  const fake = await FakeApiServer.start((_, response) => sendList(response, [], '1'));
  const origin = `http://127.0.0.1:${fake.port}`;
  expect(await hasGpuNodes(settingsFor(origin), silentLogger, true)).toBe(false);
  await fake.close();
  for (const lastKnown of [true, false]) {
    expect(await hasGpuNodes(settingsFor(origin), silentLogger, lastKnown)).toBe(lastKnown);
  }
});
