import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { digestOf, RECIPE } from '../../../test/build-requests.ts';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { newEndpoint } from '../../../test/new-endpoint.ts';
import type { Builder } from '../../builders/builder.ts';
import { Failure } from '../../core/errors.ts';
import { type BuildId, newId, type UserId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { systemActor } from '../../domain/access/actor.ts';
import { createUser } from '../../domain/access/users.ts';
import { buildImageOf } from '../../domain/builds/build-image.ts';
import { insertBuild, UPLOAD } from '../../domain/builds/build-store.ts';
import { change } from '../../domain/change.ts';
import { createEndpoint } from '../../domain/endpoints/create-endpoint.ts';
import { updateEndpoint } from '../../domain/endpoints/update-endpoint.ts';
import { keepBuildsLoop } from './keep-builds.ts';

let database: TestDatabase;
let anna: UserId;
let images: Set<string>;
let busy: string[];
let trimmedTo: number[];
let disk: { freeBytes: number; totalBytes: number };
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  anna = (await createUser(database.pool, { name: newId(), email: null })).id;
  images = new Set();
  busy = [];
  trimmedTo = [];
  disk = { freeBytes: 50, totalBytes: 100 };
});
afterEach(async () => {
  await database.pool.query('delete from builds');
});

const bus = { publish: () => {} };
const builder: Builder = {
  name: 'engine',
  build: () => Promise.reject(new Error('not here')),
  list: async () =>
    [...images].map((buildId) => ({ buildId, image: buildImageOf('app', buildId as BuildId), sizeBytes: 1 })),
  remove: async (buildId) => {
    if (busy.includes(buildId)) throw new Failure('conflict', 'in use');
    images.delete(buildId);
  },
  trimCache: async (maxBytes) => {
    trimmedTo.push(maxBytes);
    return 1;
  },
  tidy: async () => {},
  hindrance: async () => null,
};
const keep = (kept = 2) =>
  keepBuildsLoop({
    pool: database.pool,
    logger: silentLogger,
    builder,
    kept,
    cacheBytes: 7,
    readDisk: async () => disk,
  }).runOnce();

async function built(name = 'app', userId = anna): Promise<BuildId> {
  const id = newId<BuildId>();
  const input = { name, recipe: RECIPE, args: {}, secrets: {}, registries: {}, usesCache: true };
  await insertBuild(database.pool, { ...input, id, userId, origin: UPLOAD, retryOf: null, entries: [] });
  await database.pool.query(
    "update builds set status = 'COMPLETED', image = $2, digest = $3, started_at = now(), ended_at = now() where id = $1",
    [id, buildImageOf(name, id), `sha256:${digestOf(id)}`],
  );
  images.add(id);
  return id;
}
const imagesOf = async () => {
  const { rows } = await database.pool.query('select id from builds where image is not null order by number');
  return rows.map(({ id }) => id);
};
const endpoint = (image: string) => newEndpoint({ image, workers: { min: 0, max: 0 } });

test('the newest images of each user and name stay, the others are given up and removed', async () => {
  const berta = (await createUser(database.pool, { name: newId(), email: null })).id;
  const own = [await built(), await built(), await built()];
  const others = [await built('other'), await built('app', berta)];
  await keep();
  expect(await imagesOf()).toEqual([own[1], own[2], ...others]);
  expect([...images].toSorted()).toEqual([own[1]!, own[2]!, ...others].toSorted());
  disk.freeBytes = 9;
  await keep();
  expect(await imagesOf()).toEqual([own[2], ...others]);
});

test('an image that an endpoint, or a release that it can be rolled back to, has stays', async () => {
  const context = { pool: database.pool, bus };
  const ids = [await built(), await built(), await built(), await built(), await built()];
  const image = (i: number) => buildImageOf('app', ids[i]!);
  const { id } = await change(context, systemActor(anna), createEndpoint, endpoint(image(0)));
  await change(context, systemActor(anna), updateEndpoint, { id, update: { image: image(2) } });
  await keep(1);
  expect(await imagesOf()).toEqual([ids[0], ids[2], ids[4]]);
  await database.pool.query('update endpoints set version = version + 20 where id = $1', [id]);
  await keep(1);
  expect(await imagesOf()).toEqual([ids[2], ids[4]]);
});

test('an image that a workload has yet, and one whose build is gone, are removed once they can be', async () => {
  const ids = [await built(), await built()];
  busy = [ids[0]!];
  await keep(1);
  expect([await imagesOf(), [...images].length]).toEqual([[ids[1]], 2]);
  busy = [];
  images.add('gone');
  await keep(1);
  expect([...images]).toEqual([ids[1]]);
});

test('the image of a build that has not ended is left alone, and an old build without an image is deleted', async () => {
  const [running, old] = [await built(), await built()];
  await database.pool.query("update builds set status = 'BUILDING', image = null, ended_at = null where id = $1", [
    running,
  ]);
  await database.pool.query("update builds set image = null, ended_at = now() - interval '31 days' where id = $1", [
    old,
  ]);
  await keep();
  expect([...images]).toEqual([running]);
  const { rows } = await database.pool.query('select id from builds');
  expect(rows).toEqual([{ id: running }]);
});

test('files that were not used for a week are deleted, and those that were never sent to their end', async () => {
  const insert = (digest: string, age: string, isComplete: boolean) =>
    database.pool.query(
      `insert into build_files (id, user_id, digest, size_bytes, used_at, completed_at)
       values ($1, $2, $1, 1, now() - $3::interval, case when $4 then now() end)`,
      [digest, anna, age, isComplete],
    );
  await insert('old', '8 days', true);
  await insert('used', '6 days', true);
  await insert('cut', '2 days', false);
  await insert('sending', '1 hour', false);
  await keep();
  const { rows } = await database.pool.query('select id from build_files order by id');
  expect(rows.map(({ id }) => id)).toEqual(['sending', 'used']);
});

test('the cache of the builder has its size, and goes when the disk is nearly full', async () => {
  await keep();
  expect(trimmedTo).toEqual([7]);
  disk = { freeBytes: 9, totalBytes: 100 };
  await keep();
  expect(trimmedTo).toEqual([7, 0]);
});
