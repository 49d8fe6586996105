import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readKubernetesSettings } from '../src/config/kubernetes-settings.ts';
import { silentLogger } from '../src/core/logger.ts';
import { ApiServer } from '../src/runtimes/kubernetes/api/api-server.ts';
import { openAccess } from '../src/runtimes/kubernetes/api/cluster-access.ts';
import type { ApiObject, Pod } from '../src/runtimes/kubernetes/api/objects.ts';
import { createKubernetesRuntime } from '../src/runtimes/kubernetes/kubernetes-runtime.ts';
import { ANNOTATIONS, CONTAINER, LABELS } from '../src/runtimes/kubernetes/pods/pod-record.ts';

/** A fake API server that does what a real one does not do on demand: hang, forget, break off. */
export class FakeApiServer {
  readonly api: ApiServer;
  /** Requests so far, as `<method> <path>?<query>`. */
  readonly requests: string[] = [];
  readonly #server = createServer((request, response) => this.#take(request, response));
  #port = 0;
  readonly #waiting: (() => void)[] = [];
  answer: (request: URL, response: ServerResponse, method: string) => void;

  static async start(answer: FakeApiServer['answer']): Promise<FakeApiServer> {
    const fake = new FakeApiServer(answer);
    fake.#server.listen(0, '127.0.0.1');
    await once(fake.#server, 'listening');
    fake.#port = (fake.#server.address() as AddressInfo).port;
    return fake;
  }

  private constructor(answer: FakeApiServer['answer']) {
    this.answer = answer;
    this.api = new ApiServer(async () => openAccess(`http://127.0.0.1:${this.port}`));
  }

  get port(): number {
    return this.#port;
  }

  /** Resolves after `times` requests whose line contains `words`. */
  async requested(words: string, times: number): Promise<void> {
    const count = () => this.requests.filter((line) => line.includes(words)).length;
    while (count() < times) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Breaks all connections. New ones are refused until the returned function is called. */
  async vanish(): Promise<() => Promise<void>> {
    const { port } = this;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
    return async () => {
      this.#server.listen(port, '127.0.0.1');
      await once(this.#server, 'listening');
    };
  }

  async close(): Promise<void> {
    await this.api.close();
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url!, 'http://fake');
    this.requests.push(`${request.method} ${decodeURIComponent(request.url!)}`);
    this.answer(url, response, request.method!);
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

export function send(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export function sendList(response: ServerResponse, items: object[], resourceVersion: string, next?: string): void {
  send(response, { metadata: { resourceVersion, continue: next }, items });
}

/** Opens a watch. Returns the function that sends events. */
export function openWatch(response: ServerResponse): (type: string, object: object) => void {
  response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
  return (type, object) => response.write(`${JSON.stringify({ type, object })}\n`);
}

export function fakeObject(name: string, resourceVersion: number, more: object = {}): ApiObject {
  return { metadata: { name, uid: `uid-${name}`, resourceVersion: String(resourceVersion), ...more } };
}

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
