import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { ControlLoops } from '../../../test/control-loops.ts';
import type { EndpointId, ReleaseId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { updateEndpoint } from '../../domain/endpoints/update-endpoint.ts';
import { moveImage } from '../../domain/releases/move-image.ts';
import { pinReleaseImage } from '../../domain/releases/release-images.ts';
import { rollbackRelease } from '../../domain/releases/rollback-release.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import { SimulatedWorld } from '../../runtimes/simulated/simulated-world.ts';

const soon = { timeout: 30_000, interval: 20 };
const failures = new Map<string, string>();
/** How long a registry takes to answer for an image. */
const pullMs = new Map<string, number>();
const world = new SimulatedWorld({
  pools: [{ pool: 'ADA_24', gpuTypeId: 'NVIDIA GeForce RTX 4090', dataCenterId: 'DC-1', total: 8 }],
  pull: (image) => {
    const failure = failures.get(image);
    return failure === undefined ? { ms: pullMs.get(image) ?? 0 } : { failure };
  },
});
const started: { id: string; image: string }[] = [];
let resolutions = 0;
const watched = (runtime: Runtime): Runtime => {
  const [start, prepare] = [runtime.start.bind(runtime), runtime.prepare.bind(runtime)];
  return Object.assign(runtime, {
    start: (...args: Parameters<Runtime['start']>) => {
      started.push({ id: args[0].id, image: args[0].image });
      return start(...args);
    },
    prepare: (...args: Parameters<Runtime['prepare']>) => {
      if (args[1]?.resolve) resolutions += 1;
      return prepare(...args);
    },
  } satisfies Partial<Runtime>);
};
let control: ControlLoops;
beforeAll(async () => {
  control = await ControlLoops.start(world, watched);
});
afterAll(() => control.close());
afterEach(async () => {
  await control.sql('update endpoints set workers_min = 0, workers_max = 0');
  world.contents.clear();
  failures.clear();
  await vi.waitFor(
    async () => expect(await control.sql("select from workers where phase <> 'EXITED'")).toEqual([]),
    soon,
  );
});

const digestOf = (content: string) => `sha256:${createHash('sha256').update(content).digest('hex')}`;
const referenceOf = (name: string, content: string) => `${name}@${digestOf(content)}`;
const one = { workers: { min: 1, max: 1 } };
const actor = () => ({ userId: control.userId, keyId: 'k' as never, scopes: [{ kind: 'all' as const }] });
const update = (id: EndpointId, fields: object) =>
  change({ pool: control.database.pool, bus: control.bus }, actor(), updateEndpoint, { id, update: fields });
const rollBack = (id: EndpointId, releaseId: ReleaseId) =>
  change({ pool: control.database.pool, bus: control.bus }, actor(), rollbackRelease, { id, releaseId });
const releases = (id: EndpointId) =>
  control.sql(
    `select id, version, image_digest as digest, image_problem as problem, diff, image_asked_at is not null as asked
     from releases where endpoint_id = $1 order by version`,
    id,
  );
/** Waits until an endpoint's only live worker is of this version and runs; returns what it was started with. */
const imageOfWorker = async (id: EndpointId, version: number): Promise<string> => {
  let worker = '';
  await vi.waitFor(async () => {
    const rows = await control.sql(
      "select id, version, phase from workers where endpoint_id = $1 and phase <> 'EXITED'",
      id,
    );
    expect(rows).toMatchObject([{ version, phase: 'RUNNING' }]);
    worker = rows[0].id;
  }, soon);
  return started.findLast((start) => start.id === worker)!.image;
};
const replaceWorker = async (id: EndpointId) => {
  const before = (await control.workers(id))[0]!.id;
  await control.sql("update workers set wanted = 'STOP' where id = $1", before);
  control.bus.publish('worker', before);
  await vi.waitFor(async () => {
    const live = await control.workers(id);
    expect(live.map((worker) => worker.id)).not.toContain(before);
    expect(live).toHaveLength(1);
  }, soon);
};

test('all workers of a release run what its image stood for when the first one started, whatever the tag names by then', async () => {
  world.contents.set('ml:1', 'monday');
  const id = await control.endpoint({ ...one, image: 'ml:1' });
  expect(await imageOfWorker(id, 1)).toBe(referenceOf('ml', 'monday'));
  world.contents.set('ml:1', 'tuesday');
  await replaceWorker(id);
  expect(await imageOfWorker(id, 1)).toBe(referenceOf('ml', 'monday'));
  expect(await releases(id)).toMatchObject([{ version: 1, digest: digestOf('monday'), problem: null }]);
});

test('a change of something else keeps what the image stood for; another image is resolved', async () => {
  world.contents.set('ml:1', 'monday');
  const id = await control.endpoint({ ...one, image: 'ml:1' });
  await imageOfWorker(id, 1);
  world.contents.set('ml:1', 'tuesday');
  await update(id, { env: { LEVEL: '2' } });
  expect(await imageOfWorker(id, 2)).toBe(referenceOf('ml', 'monday'));
  await update(id, { image: 'ml:2' });
  expect(await imageOfWorker(id, 3)).toBe(referenceOf('ml', 'ml:2'));
  await update(id, { image: 'ml:1' });
  expect(await imageOfWorker(id, 4)).toBe(referenceOf('ml', 'tuesday'));
});

test('an image that is named again makes a release if it names something else by now, and a roll-back brings back the old one', async () => {
  world.contents.set('ml:1', 'monday');
  const id = await control.endpoint({ ...one, image: 'ml:1' });
  await imageOfWorker(id, 1);
  world.contents.set('ml:1', 'tuesday');
  expect((await update(id, { image: 'ml:1' })).version).toBe(1); // the update itself resolves nothing
  expect(await imageOfWorker(id, 2)).toBe(referenceOf('ml', 'tuesday'));
  const moved = { field: 'image', old: referenceOf('ml:1', 'monday'), new: referenceOf('ml:1', 'tuesday') };
  const [first, second] = await releases(id);
  expect(second).toMatchObject({ version: 2, digest: digestOf('tuesday'), diff: [moved] });
  expect((await control.sql('select image from endpoints where id = $1', id))[0].image).toBe('ml:1');

  const before = resolutions;
  await rollBack(id, first.id);
  expect(await imageOfWorker(id, 3)).toBe(referenceOf('ml', 'monday'));
  expect(resolutions).toBe(before);
  const [, , third] = await releases(id);
  expect(third).toMatchObject({
    digest: digestOf('monday'),
    diff: [{ field: 'image', old: moved.new, new: moved.old }],
  });
  expect((await rollBack(id, first.id)).version).toBe(3); // that is what it runs
});

test('an image that is named again and names the same makes no release', async () => {
  const id = await control.endpoint({ ...one, image: 'ml:1' });
  await imageOfWorker(id, 1);
  const before = resolutions;
  await update(id, { image: 'ml:1' });
  await vi.waitFor(async () => expect(await releases(id)).toMatchObject([{ version: 1, asked: false }]), soon);
  expect(resolutions).toBe(before + 1);
});

test('named again with other changes, the release that those make is checked', async () => {
  world.contents.set('ml:1', 'monday');
  const id = await control.endpoint({ ...one, image: 'ml:1' });
  await imageOfWorker(id, 1);
  world.contents.set('ml:1', 'tuesday');
  expect((await update(id, { image: 'ml:1', env: { A: '1' } })).version).toBe(2);
  expect(await imageOfWorker(id, 3)).toBe(referenceOf('ml', 'tuesday'));
});

test('an answer about a release that has a successor by now makes none', async () => {
  const id = await control.endpoint({ ...one, image: 'ml:1' });
  await imageOfWorker(id, 1);
  await update(id, { image: 'ml:2' });
  await imageOfWorker(id, 2);
  const late = { digest: digestOf('late'), reference: referenceOf('ml', 'late') };
  await change({ pool: control.database.pool, bus: control.bus }, actor(), moveImage, {
    id,
    version: 1,
    identity: late,
  });
  expect((await releases(id)).map(({ version }) => version)).toEqual([1, 2]);
});

test('what was asked for before a restart is resolved after it, once', async () => {
  const id = await control.endpoint({ ...one, image: 'ml:1' });
  await imageOfWorker(id, 1);
  world.contents.set('ml:1', 'tuesday');
  await control.sql('update releases set image_asked_at = now() where endpoint_id = $1', id); // no hint came
  await control.resolver.runOnce();
  await control.resolver.runOnce();
  expect(await releases(id)).toMatchObject([{ asked: false }, { version: 2, digest: digestOf('tuesday') }]);
});

test('two leaders agree: the digest that is set first stays', async () => {
  const id = await control.endpoint({ image: 'ml:1' });
  const { pool } = control.database;
  const settled = await Promise.all(
    ['monday', 'tuesday'].map((content) =>
      pinReleaseImage(
        pool,
        { endpointId: id, version: 1 },
        { digest: digestOf(content), reference: referenceOf('ml', content) },
      ),
    ),
  );
  expect(settled[0]).toEqual(settled[1]);
  const content = settled[0]!.digest === digestOf('monday') ? 'monday' : 'tuesday';
  await control.sql('update endpoints set workers_min = 1 where id = $1', id);
  control.notify(id);
  expect(await imageOfWorker(id, 1)).toBe(referenceOf('ml', content));
});

test('an image that is gone from machine and registry is a problem of the release, until it is back', async () => {
  const gone = referenceOf('ml', 'monday');
  world.contents.set('ml:1', 'monday');
  const id = await control.endpoint({ workers: { min: 1, max: 2 }, image: 'ml:1' });
  await imageOfWorker(id, 1);
  world.images.delete(gone);
  failures.set(gone, `Image '${gone}' does not exist`);
  const [kept] = await control.workers(id);
  await control.sql('update endpoints set workers_min = 2 where id = $1', id);
  control.notify(id);
  await vi.waitFor(async () => expect(await releases(id)).toMatchObject([{ problem: failures.get(gone) }]), soon);
  expect(await control.workers(id)).toContainEqual(expect.objectContaining({ id: kept!.id, phase: 'RUNNING' }));
  await vi.waitFor(async () => {
    const [failed] = await control.sql(
      "select phase_reason as reason from workers where endpoint_id = $1 and phase = 'EXITED' order by created_at desc limit 1",
      id,
    );
    expect(failed.reason).toContain(failures.get(gone));
  }, soon);

  failures.clear();
  await vi.waitFor(async () => {
    const live = await control.workers(id);
    expect(live.filter(({ phase }) => phase === 'RUNNING')).toHaveLength(2);
  }, soon);
  expect(await releases(id)).toMatchObject([{ digest: digestOf('monday'), problem: null }]);
});

test('an image that cannot be resolved anew is a problem of the release, whose workers go on', async () => {
  const id = await control.endpoint({ ...one, image: 'ml:1' });
  await imageOfWorker(id, 1);
  world.images.delete('ml:1');
  failures.set('ml:1', "Image 'ml:1' does not exist");
  await update(id, { image: 'ml:1' });
  await vi.waitFor(
    async () => expect(await releases(id)).toMatchObject([{ asked: false, problem: "Image 'ml:1' does not exist" }]),
    soon,
  );
  expect(await control.workers(id)).toMatchObject([{ phase: 'RUNNING' }]);
});

test('a user whose many images are not answered for leaves the others their turn', async () => {
  const stranger = await control.endpoint({ workers: { min: 0, max: 0 }, image: 'theirs:1' });
  await control.sql("insert into users (id, name) values ('mallory', 'mallory')");
  for (let n = 0; n < 12; n++) {
    pullMs.set(`silent:${n}`, 20_000);
    const id = await control.endpoint({ workers: { min: 0, max: 0 }, image: `silent:${n}` });
    await control.sql("update endpoints set user_id = 'mallory', name = $2 where id = $1", id, `silent ${n}`);
    await control.sql('update releases set image_asked_at = clock_timestamp() where endpoint_id = $1', id);
  }
  await control.sql('update releases set image_asked_at = clock_timestamp() where endpoint_id = $1', stranger);
  control.bus.publish('endpoint', stranger);
  await vi.waitFor(async () => expect(await releases(stranger)).toMatchObject([{ asked: false }]), soon);
  const waiting = await control.sql(
    "select from releases join endpoints e on e.id = endpoint_id where e.user_id = 'mallory' and image_asked_at is not null",
  );
  expect(waiting).toHaveLength(12);
});
