import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { until } from '../e2e/api.ts';
import { ModelHub } from '../model-hub.ts';
import { Cluster, describeOnCluster, describeOnOwnCluster } from './cluster.ts';
import { createWithModel, HUB, scale, seenByWorkers } from './model-looks.ts';
import { placeOnCluster } from './place.ts';
import { makePodyardImage } from './podyard-image.ts';
import { ServerOnCluster } from './server-on-cluster.ts';

const LIMIT_MS = 300_000;
const IMAGES = ['podyard/echo-js:dev'];
const WEIGHTS = randomBytes(30_000_000);
const DIGEST = createHash('sha256').update(WEIGHTS).digest('hex');

describeOnCluster('models on a cluster', () => {
  let hub: ModelHub;
  let removeImage: (() => Promise<void>) | undefined;
  let image = 'podyard/server:test';
  beforeAll(async () => {
    hub = await ModelHub.start();
    hub.models.set('org/name', { files: { 'config.json': Buffer.from('{"a":1}'), 'model.safetensors': WEIGHTS } });
    const cluster = await Cluster.use();
    if (!cluster.isOwn) return;
    image = 'podyard/models:test';
    removeImage = await makePodyardImage(image);
    await cluster.importImages(image);
  }, LIMIT_MS);
  afterAll(async () => {
    await hub?.close();
    await removeImage?.();
  }, LIMIT_MS);
  const useServer = (env: Record<string, string> = {}) =>
    ServerOnCluster.use({
      images: IMAGES,
      place: async (cluster) => {
        const place = await placeOnCluster(cluster, { gpus: 4 });
        const own = { PODYARD_HUB_URL: hub.url, PODYARD_KUBERNETES_MODELS_IMAGE: image, ...env };
        return { ...place, env: { ...place.env, ...own } };
      },
    });

  const expected = () => ({
    commit: hub.commitOf('org/name'),
    ...{ weights: DIGEST, sdk: DIGEST },
    ...{ config: '{"a":1}', hub: HUB, blob: 'EROFS', beside: 'done' },
  });

  describeOnOwnCluster('in a folder of the node', () => {
    const folder = `/var/tmp/podyard-models-${newId(8)}`;
    const life = useServer({ PODYARD_KUBERNETES_MODELS_PATH: folder });
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    test(
      'workers find them beside their volume; each byte comes once from the hub and once to the node',
      async () => {
        const { api } = life;
        hub.sent.clear();
        const volume = { name: 'mine', size: 10, dataCenter: 'LOCAL-1' };
        const { id: volumeId } = await api.call<{ id: string }>('POST', '/v2/network-volumes', volume);
        const id = await createWithModel(api, { networkVolumes: [volumeId] });
        await scale(api, id, 2);
        const found = await seenByWorkers(api, id, 2);
        for (const { worker: _, ...what } of found) expect(what).toEqual({ ...expected(), volume: 'done' });
        expect(hub.sentBytes).toBe(WEIGHTS.length + 7);

        const [installation] = readdirSync(folder);
        const store = join(folder, installation!);
        const blob = join(store, 'blobs', `sha256-${DIGEST}`);
        expect(statSync(blob).nlink).toBe(3); // it, and what each worker sees
        const detail = await api.call<{ timeline: { stage: string }[] }>(
          'GET',
          `/v2/serverless/${id}/workers/${found[0]!.worker}`,
        );
        expect(detail.timeline.map(({ stage }) => stage).join(' ')).toContain('create models start');

        await scale(api, id, 0);
        await until('they are gone', async () => (await api.workers(id)).length === 0, 60_000);
        await scale(api, id, 1);
        const [again] = await seenByWorkers(api, id, 1);
        expect(again).toMatchObject(expected());
        expect(readdirSync(join(store, 'workers'))).toEqual([again!.worker]);
        expect(statSync(blob).nlink).toBe(2);
        await api.delete(id);
      },
      LIMIT_MS,
    );

    test(
      'a file of the node that was changed by hand is copied again',
      async () => {
        const { api } = life;
        const [installation] = readdirSync(folder);
        const blob = join(folder, installation!, 'blobs', `sha256-${DIGEST}`);
        rmSync(blob);
        const id = await createWithModel(api, {});
        await scale(api, id, 1);
        const [found] = await seenByWorkers(api, id, 1);
        expect(found).toMatchObject({ weights: DIGEST });
        expect(existsSync(blob)).toBe(true);
        await api.delete(id);
      },
      LIMIT_MS,
    );
  });

  describeOnCluster('in a folder of each worker', () => {
    const life = useServer();

    test(
      'workers find them, and the hub sends each byte once',
      async () => {
        const { api } = life;
        hub.sent.clear();
        const id = await createWithModel(api, {});
        await scale(api, id, 2);
        for (const { worker, ...what } of await seenByWorkers(api, id, 2)) {
          expect(what).toMatchObject(expected());
          expect((await life.pod(worker)).spec.volumes).toContainEqual({ name: 'models', emptyDir: {} });
        }
        expect(hub.sentBytes).toBe(WEIGHTS.length + 7);
        await api.delete(id);
      },
      LIMIT_MS,
    );
  });

  describeOnCluster('without the image that copies them', () => {
    const life = useServer({ PODYARD_KUBERNETES_MODELS_IMAGE: 'podyard/none:0' });

    test(
      'a worker is a failed start with that reason',
      async () => {
        const { api } = life;
        const id = await createWithModel(api, {});
        await scale(api, id, 1);
        const why = 'the image that copies models to the node cannot be pulled';
        const state = await until(
          'the endpoint says why',
          async () => {
            const found = JSON.stringify(await api.call('GET', `/v2/serverless/${id}/state`));
            return found.includes(why) && found;
          },
          120_000,
        );
        expect(state).not.toContain('echo-js');
        await api.delete(id);
      },
      LIMIT_MS,
    );
  });
});
