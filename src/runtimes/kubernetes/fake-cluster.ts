import type { ServerResponse } from 'node:http';
import { readKubernetesSettings } from '../../config/kubernetes-settings.ts';
import { silentLogger } from '../../core/logger.ts';
import { openAccess } from './cluster-access.ts';
import { FakeApiServer, openWatch, send, sendList } from './fake-api-server.ts';
import { createKubernetesRuntime } from './kubernetes-runtime.ts';
import type { Pod } from './objects.ts';
import { ANNOTATIONS, CONTAINER, LABELS } from './pod-record.ts';

/** A test's own answers; returns true when it has answered. */
type Answer = (request: URL, response: ServerResponse, method: string) => boolean;

/** A runtime on a fake cluster where the pod `w1` runs with 2 CPUs. `change` updates the pod and notifies the watch. */
export async function startFakeCluster(answer: Answer) {
  const pod: Pod = {
    metadata: {
      name: 'podyard-w1',
      uid: 'u1',
      resourceVersion: '1',
      labels: { [LABELS.id]: 'w1', [LABELS.kind]: 'worker', [LABELS.installation]: 'inst' },
      annotations: { [ANNOTATIONS.cpus]: '2' },
    },
    spec: { nodeName: 'node1', containers: [{ name: CONTAINER }] },
    status: {
      phase: 'Running',
      podIP: '10.0.0.1',
      containerStatuses: [{ name: CONTAINER, state: { running: { startedAt: '2026-01-01T00:00:00Z' } } }],
    },
  };
  let notify = (_type: string, _object: object): unknown => undefined;
  const fake = await FakeApiServer.start((url, response, method) => {
    if (answer(url, response, method)) return;
    const isPods = url.pathname.endsWith('/pods');
    if (url.searchParams.get('watch') === 'true') {
      const watch = openWatch(response);
      if (isPods) notify = watch;
    } else if (isPods) sendList(response, [pod], '1');
    else if (url.pathname === '/api/v1/nodes') sendList(response, [], '1');
    else send(response, { message: `${url.pathname} is not there` }, 404);
  });
  const runtime = createKubernetesRuntime({
    settings: readKubernetesSettings({ PODYARD_KUBERNETES_NAMESPACE: 'here' }),
    installation: 'inst',
    logger: silentLogger,
    access: async () => openAccess(`http://127.0.0.1:${fake.port}`),
  });
  return {
    fake,
    runtime,
    pod,
    /** Updates the pod's status and notifies the watch. Returns the pod. */
    change: (status: Pod['status']): Pod => {
      pod.metadata.resourceVersion = String(Number(pod.metadata.resourceVersion) + 1);
      if (status) pod.status = status;
      notify('MODIFIED', pod);
      return pod;
    },
    close: async () => {
      await runtime.close();
      await fake.close();
    },
  };
}
