import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ApiServer } from '../api/api-server.ts';
import { inClusterAccess } from '../api/cluster-access.ts';
import type { ClusterView } from './cluster-view.ts';
import type { PodRecord } from './pod-record.ts';
import { PodUsage } from './pod-usage.ts';

const TLS = join(import.meta.dirname, '../../../../test/fixtures/tls');
const pod = {
  key: 'podyard-a',
  uid: 'u',
  nodeName: 'n',
  claims: ['c'],
  runningSince: new Date(),
} as unknown as PodRecord;
/** As a kubelet answers GET /stats/summary (recorded from 1.36, shortened). */
const summary = {
  pods: [
    {
      podRef: { name: 'podyard-a', namespace: 'work', uid: 'u' },
      containers: [{ name: 'workload', cpu: { usageNanoCores: 250_000_000 }, memory: { workingSetBytes: 1024 } }],
      volume: [{ usedBytes: 77, pvcRef: { name: 'c', namespace: 'work' } }],
    },
  ],
};

let folder: string;
const closing: (() => void)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'podyard-account-'));
  cpSync(join(TLS, 'first.crt'), join(folder, 'ca.crt'));
  writeFileSync(join(folder, 'token'), 'the-token');
  writeFileSync(join(folder, 'namespace'), 'work');
});
afterEach(() => {
  for (const close of closing.splice(0)) close();
  rmSync(folder, { recursive: true });
});

/** An HTTPS server with one of the certificates. `requests` are its paths, with the token that came. */
async function serve(name: 'first' | 'second', answers: Record<string, object>) {
  const requests: string[] = [];
  const tls = { cert: readFileSync(join(TLS, `${name}.crt`)), key: readFileSync(join(TLS, `${name}.key`)) };
  const server: Server = createServer(tls, (request, response) => {
    requests.push(`${request.url} ${request.headers.authorization}`);
    const answer = answers[request.url!];
    response.writeHead(answer ? 200 : 403, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? { message: 'no' }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close().closeAllConnections());
  return { port: (server.address() as AddressInfo).port, requests };
}

function usageOf(apiPort: number, kubeletPort: number): PodUsage {
  const access = inClusterAccess({ host: '127.0.0.1', port: String(apiPort) }, folder);
  closing.push(() => access.close());
  const nodes = { get: () => ({ internalIp: '127.0.0.1', kubeletPort }) };
  const pods = { all: () => [pod] };
  return new PodUsage({
    api: new ApiServer(async () => access),
    namespace: 'work',
    nodes,
    pods,
  } as unknown as ClusterView);
}

test('with the right to its statistics the kubelet itself is asked, and the API server no more than for metrics', async () => {
  const api = await serve('first', {});
  const kubelet = await serve('first', { '/stats/summary': summary });
  const usage = usageOf(api.port, kubelet.port);
  expect(await usage.of(pod)).toEqual({ cpus: 0.25, memoryBytes: 1024 });
  expect(await usage.claimBytes('c')).toBe(77);
  expect(kubelet.requests).toEqual(['/stats/summary Bearer the-token']);
  expect(api.requests).toEqual([expect.stringContaining('/apis/metrics.k8s.io/')]);
});

test('a kubelet that the cluster’s authority does not vouch for never gets the token; the API server is asked instead', async () => {
  const api = await serve('first', { '/api/v1/nodes/n/proxy/stats/summary': summary });
  const kubelet = await serve('second', { '/stats/summary': summary });
  expect(await usageOf(api.port, kubelet.port).of(pod)).toEqual({ cpus: 0.25, memoryBytes: 1024 });
  expect(kubelet.requests).toEqual([]);
});

test('without any right there are no figures, and each is asked once in five minutes', async () => {
  const [api, kubelet] = [await serve('first', {}), await serve('first', {})];
  const usage = usageOf(api.port, kubelet.port);
  expect([await usage.of(pod), await usage.of(pod)]).toEqual([null, null]);
  expect([api.requests.length, kubelet.requests.length]).toEqual([2, 1]);
});
