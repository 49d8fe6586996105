import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../e2e/api.ts';
import { run as podyard } from '../e2e/podyard-command.ts';
import { Cluster, describeOnCluster } from './cluster.ts';
import { placeOnCluster } from './place.ts';
import { makePodyardImage } from './podyard-image.ts';
import { ServerOnCluster } from './server-on-cluster.ts';

const LIMIT_MS = 300_000;

/** Prints what S3 put, and writes what S3 gets. */
const MEETS = JSON.stringify({
  entrypoint: [
    'node',
    '-e',
    `const fs = require('fs');
     const at = process.env.RUNPOD_VOLUME_PATH;
     process.on('SIGTERM', () => process.exit());
     fs.mkdirSync(at + '/out', { recursive: true });
     fs.writeFileSync(at + '/out/from-pod', 'of the pod', { mode: 0o600 });
     console.log('read ' + fs.readFileSync(at + '/in/from-s3', 'utf8'));
     fs.appendFileSync(at + '/in/from-s3', ' and the pod');
     console.log('wrote');
     const timer = setInterval(() => {
       if (fs.readdirSync(at + '/.podyard-s3').length > 0) console.log('sees an upload'), clearInterval(timer);
     }, 100);
     setInterval(() => {}, 1000);`,
  ],
});

describeOnCluster('files of volumes on a cluster', () => {
  let removeImage: (() => Promise<void>) | undefined;
  let image = 'podyard/server:test';
  beforeAll(async () => {
    const cluster = await Cluster.use();
    if (!cluster.isOwn) return;
    image = 'podyard/files:test';
    removeImage = await makePodyardImage(image);
    await cluster.importImages(image);
  }, LIMIT_MS);
  afterAll(() => removeImage?.(), LIMIT_MS);
  const life = ServerOnCluster.use({
    images: ['podyard/echo-js:dev'],
    place: async (cluster) => {
      const place = await placeOnCluster(cluster, { gpus: 4 });
      const own = { PODYARD_KUBERNETES_MODELS_IMAGE: image, PODYARD_KUBERNETES_ACCESS_MODE: 'ReadWriteOnce' };
      return { ...place, env: { ...place.env, ...own } };
    },
  });
  const filesPod = (volume: string) =>
    life.cluster.client.find(`${life.path('pods')}/podyard-files-${volume.toLowerCase()}`);

  test(
    'S3 and pods see the same files, also after the program that serves them was killed',
    async () => {
      const { api, server } = life;
      const env = { PODYARD_URL: server.url, PODYARD_API_KEY: server.key };
      const made = { name: 'data', size: 10, dataCenter: 'LOCAL-1' };
      const { id: volume } = await api.call<{ id: string }>('POST', '/v2/network-volumes', made);
      const key = JSON.parse(await podyard(['s3-keys', 'create', 'test', '--scope', 'files:write', '--json'], env));
      const s3 = new S3Client({
        ...{ endpoint: `${server.url}/s3`, region: 'LOCAL-1', forcePathStyle: true },
        credentials: { accessKeyId: key.id, secretAccessKey: key.secret },
      });
      const get = async (name: string) =>
        (await s3.send(new GetObjectCommand({ Bucket: volume, Key: name }))).Body!.transformToString();

      await s3.send(new PutObjectCommand({ Bucket: volume, Key: 'in/from-s3', Body: 'of S3' }));
      const id = await api.createEndpoint({ args: MEETS, networkVolumes: [volume], workers: { min: 1, max: 1 } });
      const [worker] = await until('there is one', async () => {
        const found = await api.workers(id);
        return found.length === 1 && found;
      });
      await api.logs(id, worker!.id, (lines) => lines.some(({ line }) => line === 'wrote'), { atMostMs: 120_000 });
      expect(await get('in/from-s3')).toBe('of S3 and the pod');
      expect(await get('out/from-pod')).toBe('of the pod');
      const listed = await s3.send(new ListObjectsV2Command({ Bucket: volume }));
      expect(listed.Contents?.map(({ Key }) => Key)).toEqual(['in/from-s3', 'out/from-pod']);

      // Killed in the middle of a put: the client learns of it, no half file appears, and the next request has it again.
      const before = await filesPod(volume);
      expect(before!.spec.nodeName).toBe((await life.pod(worker!.id))!.spec.nodeName);
      const headers = { authorization: `Bearer ${server.key}`, 'content-length': 2 ** 20 };
      const half = request(`${server.url}/s3/${volume}/half`, { method: 'PUT', headers });
      const answered = once(half, 'response');
      half.write(randomBytes(2 ** 19));
      await api.logs(id, worker!.id, (lines) => lines.some(({ line }) => line === 'sees an upload'), {
        atMostMs: 60_000,
      });
      const path = `${life.path('pods')}/${before!.metadata.name}`;
      await life.cluster.client.delete(path);
      await until('it is gone', async () => (await filesPod(volume))?.metadata.uid !== before!.metadata.uid, 60_000);
      half.end(randomBytes(2 ** 19));
      const [answer] = await answered;
      expect(answer.statusCode).toBe(503);
      answer.resume();
      const again = await s3.send(new ListObjectsV2Command({ Bucket: volume }));
      expect(again.Contents?.map(({ Key }) => Key)).toEqual(['in/from-s3', 'out/from-pod']);

      const folder = await mkdtemp(join(tmpdir(), 'podyard-volume-'));
      await writeFile(join(folder, 'large'), randomBytes(40 * 2 ** 20));
      await podyard(['volumes', 'cp', join(folder, 'large'), `${volume}:large`], env);
      await podyard(['volumes', 'cp', `${volume}:large`, join(folder, 'back')], env);
      expect((await readFile(join(folder, 'back'))).equals(await readFile(join(folder, 'large')))).toBe(true);
      await rm(folder, { recursive: true });
      expect(await podyard(['volumes', 'ls', `${volume}:`], env)).toContain('large');

      s3.destroy();
      await api.delete(id);
      const remove = () => api.call('DELETE', `/v2/network-volumes/${volume}`).then(() => true);
      await until('its worker is gone, and the volume with it', remove, 90_000);
      const isEmpty = async () => (await life.cluster.client.list(life.path('persistentvolumeclaims'))).length === 0;
      await until('the claim is gone', isEmpty, 90_000);
      expect(await filesPod(volume)).toBeUndefined();
    },
    LIMIT_MS,
  );
});
