import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { until } from '../e2e/api.ts';
import { ModelHub } from '../model-hub.ts';
import { describeOnOwnCluster } from './cluster.ts';
import { createWithModel, scale, seenByWorkers } from './model-looks.ts';
import { placeOnCluster } from './place.ts';
import { makePodyardImage } from './podyard-image.ts';
import { ServerOnCluster } from './server-on-cluster.ts';

const LIMIT_MS = 300_000;
const IMAGE = 'podyard/node-models:test';
const IMAGES = ['podyard/echo-js:dev', IMAGE];
const WEIGHTS = randomBytes(30_000_000);
const DIGEST = createHash('sha256').update(WEIGHTS).digest('hex');

describeOnOwnCluster('models on two nodes', () => {
  /** Below /srv, which is another folder on the second node. */
  const folder = `podyard-models-${newId(8)}`;
  let hub: ModelHub;
  let removeImage: (() => Promise<void>) | undefined;
  let secondSrv: string;
  beforeAll(async () => {
    hub = await ModelHub.start();
    hub.models.set('org/name', { files: { 'config.json': Buffer.from('{}'), 'model.safetensors': WEIGHTS } });
    removeImage = await makePodyardImage(IMAGE);
  }, LIMIT_MS);
  afterAll(async () => {
    await hub?.close();
    await removeImage?.();
    rmSync(join('/srv', folder), { recursive: true, force: true });
  }, LIMIT_MS);
  const life = ServerOnCluster.use({
    images: IMAGES,
    place: async (cluster) => {
      secondSrv = await cluster.addRealNode(...IMAGES);
      const place = await placeOnCluster(cluster, { gpus: 1 });
      const models = {
        PODYARD_HUB_URL: hub.url,
        PODYARD_KUBERNETES_MODELS_IMAGE: IMAGE,
        PODYARD_KUBERNETES_MODELS_PATH: join('/srv', folder),
      };
      return { ...place, env: { ...place.env, ...models } };
    },
  });
  const nodeOf = async (worker: string): Promise<string> => (await life.pod(worker))!.spec.nodeName;
  /** How many names the weights have on each node: one for the node's own, and one for each worker that sees them. */
  const namesOnNodes = () =>
    ['/srv', secondSrv].map((srv) => {
      const [installation] = readdirSync(join(srv, folder));
      return statSync(join(srv, folder, installation!, 'blobs', `sha256-${DIGEST}`)).nlink;
    });

  test(
    'a node that lacks a model gets it from the machine that has it, and the hub is not asked again, whether it is there or not',
    async () => {
      const { api } = life;
      const id = await createWithModel(api);
      await scale(api, id, 1);
      const [first] = await seenByWorkers(api, id, 1);
      expect(hub.sentBytes).toBe(WEIGHTS.length + 2);

      hub.faults.set('org/name', { status: 503 });
      await scale(api, id, 2);
      const both = await seenByWorkers(api, id, 2);
      const nodes = await Promise.all(both.map(({ worker }) => nodeOf(worker)));
      expect(nodes.sort()).toEqual(['node1', 'node2']);
      expect(both.map(({ worker }) => worker)).toContain(first!.worker);
      for (const seen of both) expect(seen).toMatchObject({ weights: DIGEST, commit: hub.commitOf('org/name') });
      expect(namesOnNodes()).toEqual([2, 2]);
      expect(hub.sentBytes).toBe(WEIGHTS.length + 2);

      // Again on both, which now read nothing from anywhere.
      await scale(api, id, 0);
      await until('they are gone', async () => (await api.workers(id)).length === 0, 60_000);
      await scale(api, id, 2);
      for (const seen of await seenByWorkers(api, id, 2)) expect(seen).toMatchObject({ weights: DIGEST });
      expect(hub.sentBytes).toBe(WEIGHTS.length + 2);
      await api.delete(id);
    },
    LIMIT_MS,
  );
});
