import { afterAll, beforeAll } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { FakeWorker } from '../fake-worker.ts';
import { Cluster } from './cluster.ts';
import { needImages } from './images.ts';
import type { KubeObject } from './kube-client.ts';
import type { ClusterPlace } from './place.ts';

/** A server whose workloads are pods of a cluster, for the tests of one `describe`. */
export class ServerOnCluster {
  cluster!: Cluster;
  place!: ClusterPlace;
  server!: ServerProcess;
  api!: Api;
  #database: TestDatabase | undefined;

  /** Registers hooks that start and stop the server. */
  static use(options: {
    place: (cluster: Cluster) => Promise<ClusterPlace>;
    images?: string[];
    env?: Record<string, string>;
  }): ServerOnCluster {
    const life = new ServerOnCluster();
    beforeAll(() => life.#start(options));
    afterAll(() => life.#end());
    return life;
  }

  async #start({ place, images = [], env }: Parameters<typeof ServerOnCluster.use>[0]): Promise<void> {
    this.cluster = await Cluster.use();
    await needImages(this.cluster, ...images);
    [this.#database, this.place] = await Promise.all([createTestDatabase(), place(this.cluster)]);
    this.server = await ServerProcess.start({
      runtime: 'kubernetes',
      databaseUrl: this.#database.url,
      ...this.place,
      env: { ...this.place.env, ...env },
    });
    this.api = new Api(this.server);
  }

  async #end(): Promise<void> {
    await this.server?.dispose();
    await this.cluster?.dispose();
    await this.#database?.drop();
  }

  /** Returns the pod of a workload; undefined when there is none. */
  pod(id: string): Promise<KubeObject | undefined> {
    return this.cluster.client.find(`${this.path('pods')}/podyard-${id}`);
  }

  /** Returns the API path of a kind in the server's namespace. */
  path(kind: string): string {
    return `/api/v1/namespaces/${this.place.namespace}/${kind}`;
  }

  /** Returns the environment of a workload. */
  async environment(id: string): Promise<Record<string, string>> {
    const { data } = await this.cluster.client.get(`${this.path('secrets')}/podyard-${id}`);
    const entries = Object.entries(data as Record<string, string>);
    return Object.fromEntries(entries.map(([name, value]) => [name, Buffer.from(value, 'base64').toString()]));
  }

  /** Returns a fake worker that plays the program in that worker's pod. */
  async play(workerId: string): Promise<FakeWorker> {
    const env = await this.environment(workerId);
    return new FakeWorker({
      apiUrl: new URL(env.RUNPOD_WEBHOOK_GET_JOB!).origin,
      endpointId: env.RUNPOD_ENDPOINT_ID!,
      workerId,
      token: env.RUNPOD_AI_API_KEY!,
    });
  }
}
