import type { ServerResponse } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { FakeApiServer, fakeObject, openWatch, send, sendList } from '../../../../test/fake-api-server.ts';
import type { Failure } from '../../../core/errors.ts';
import { silentLogger } from '../../../core/logger.ts';
import type { ApiObject, CachedObject } from './objects.ts';
import { Reflector, type Timing } from './reflector.ts';

const PATH = '/api/v1/things';
const QUICK: Partial<Timing> = { firstPauseMs: 5, longestPauseMs: 20, timeoutMs: 5_000 };
const closing: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

type Changes = string[];

async function begin(
  answer: FakeApiServer['answer'],
  timing: Partial<Timing> = {},
): Promise<{ fake: FakeApiServer; things: Reflector<CachedObject>; changes: Changes; next: () => Promise<string> }> {
  const fake = await FakeApiServer.start(answer);
  const transform = ({ metadata: { name, uid, resourceVersion } }: ApiObject) => ({ key: name, uid, resourceVersion });
  const things = new Reflector<CachedObject>({
    name: 'things',
    api: fake.api,
    path: PATH,
    transform,
    logger: silentLogger,
    timing: { ...QUICK, ...timing },
  });
  closing.push(
    () => things.stop(),
    () => fake.close(),
  );
  const changes: Changes = [];
  let wake = () => {};
  things.subscribe((kind, { key, resourceVersion }) => {
    changes.push(`${kind} ${key}@${resourceVersion}`);
    wake();
  });
  let read = 0;
  const next = async () => {
    while (changes.length <= read) await new Promise<void>((resolve) => (wake = resolve));
    return changes[read++]!;
  };
  return { fake, things, changes, next };
}

const isWatch = (url: URL) => url.searchParams.get('watch') === 'true';
const stateOf = (things: Reflector<CachedObject>) =>
  things.current().then(
    () => 'current',
    (error: Failure) => error.kind,
  );
const keysOf = (things: Reflector<CachedObject>) => [...things.all()].map(({ key }) => key).sort();

test('nothing is requested before the first use; then a paged list, and a watch from its version', async () => {
  let emit: ReturnType<typeof openWatch> = () => {};
  const { fake, things, next } = await begin((url, response) => {
    if (isWatch(url)) emit = openWatch(response);
    else if (url.searchParams.get('continue') === 'more') sendList(response, [fakeObject('b', 2)], '5');
    else sendList(response, [fakeObject('a', 1)], '5', 'more');
  });
  expect(fake.requests).toEqual([]);
  await things.current();
  expect(keysOf(things)).toEqual(['a', 'b']);
  expect(fake.requests).toHaveLength(3);
  expect(fake.requests[2]).toContain('resourceVersion=5');
  expect(fake.requests[2]).toContain('allowWatchBookmarks=true');
  await next();
  await next();
  emit('ADDED', fakeObject('c', 6));
  emit('MODIFIED', fakeObject('a', 7));
  emit('DELETED', fakeObject('b', 8));
  expect([await next(), await next(), await next()]).toEqual(['put c@6', 'put a@7', 'gone b@8']);
  expect(keysOf(things)).toEqual(['a', 'c']);
});

test('a watch that the server ends resumes where it ended, bookmarks included', async () => {
  let emit: ReturnType<typeof openWatch> = () => {};
  let watch: ServerResponse | undefined;
  const { fake, things } = await begin((url, response) => {
    if (!isWatch(url)) return sendList(response, [], '1');
    watch = response;
    emit = openWatch(response);
  });
  await things.current();
  emit('ADDED', fakeObject('a', 4));
  emit('BOOKMARK', fakeObject('', 9));
  watch!.end();
  await fake.requested('watch=true', 2);
  await things.current();
  expect(fake.requests.filter((line) => line.includes('watch=true'))[1]).toContain('resourceVersion=9');
  expect(fake.requests.filter((line) => !line.includes('watch=true'))).toHaveLength(1);
});

test.each(['in the watch', 'as the answer'])(
  'when the version has expired (%s), everything is listed again',
  async (how) => {
    let lists = 0;
    const { fake, things, changes } = await begin((url, response) => {
      if (!isWatch(url)) {
        lists += 1;
        return sendList(
          response,
          lists === 1 ? [fakeObject('old', 1), fakeObject('stays', 2)] : [fakeObject('stays', 2)],
          `${lists}0`,
        );
      }
      if (lists > 1) openWatch(response);
      else if (how === 'as the answer') send(response, { message: 'too old', reason: 'Expired' }, 410);
      else openWatch(response)('ERROR', { code: 410, message: 'too old' });
    });
    things.start();
    await fake.requested('watch=true', 2);
    await things.current();
    expect(keysOf(things)).toEqual(['stays']);
    expect(changes).toContain('gone old@1');
    expect(changes.filter((line) => line === 'put stays@2')).toHaveLength(1);
  },
);

test('while the server is away reads are refused and the cache stays; then the watch resumes', async () => {
  const { fake, things } = await begin(
    (url, response) => {
      if (isWatch(url)) openWatch(response);
      else sendList(response, [fakeObject('a', 1)], '1');
    },
    { timeoutMs: 50 },
  );
  await expect.poll(() => stateOf(things)).toBe('current');
  const resume = await fake.vanish();
  await expect.poll(() => stateOf(things)).toBe('unavailable');
  expect(keysOf(things)).toEqual(['a']);
  await resume();
  await fake.requested('watch=true', 2);
  await expect.poll(() => stateOf(things)).toBe('current');
  expect(fake.requests.filter((line) => !line.includes('watch=true'))).toHaveLength(1);
});

test('a hanging server is noticed, during a watch and before one', async () => {
  let isHanging = false;
  const { fake, things } = await begin(
    (url, response) => {
      if (isHanging) return;
      if (isWatch(url)) openWatch(response);
      else sendList(response, [], '1');
    },
    { watchSeconds: 1, graceMs: 200, timeoutMs: 50 },
  );
  await expect.poll(() => stateOf(things)).toBe('current');
  isHanging = true; // the watch never ends, and the next one never begins
  await fake.requested('watch=true', 2);
  await expect.poll(() => stateOf(things)).toBe('unavailable');
  isHanging = false;
  await expect.poll(() => stateOf(things)).toBe('current');
});

test('an object from a response is known at once, unless the watch is ahead of it', async () => {
  let emit: ReturnType<typeof openWatch> = () => {};
  const { things, next } = await begin((url, response) => {
    if (isWatch(url)) emit = openWatch(response);
    else sendList(response, [], '5');
  });
  await things.current();
  things.put(fakeObject('mine', 8));
  expect(keysOf(things)).toEqual(['mine']);
  emit('ADDED', fakeObject('mine', 8));
  emit('MODIFIED', fakeObject('mine', 9));
  emit('DELETED', fakeObject('mine', 10));
  expect([await next(), await next(), await next()]).toEqual(['put mine@8', 'put mine@9', 'gone mine@10']);
  things.put(fakeObject('mine', 9)); // an outdated response
  expect(keysOf(things)).toEqual([]);
});

test('a list started before an object was created does not remove it', async () => {
  let release = () => {};
  let lists = 0;
  const { fake, things } = await begin(
    (url, response) => {
      if (isWatch(url)) {
        openWatch(response);
        if (lists === 1) response.end();
        return;
      }
      lists += 1;
      if (lists === 1) sendList(response, [], '5');
      else release = () => sendList(response, [], '6');
    },
    { relistMs: 0 },
  );
  things.start();
  await fake.requested('limit=500', 2);
  things.put(fakeObject('new', 7));
  release();
  await fake.requested('watch=true', 2);
  await things.current();
  expect(keysOf(things)).toEqual(['new']);
});

test('a forbidden read fails at once and is not retried in a loop', async () => {
  const { fake, things } = await begin((_, response) =>
    send(response, { message: 'forbidden', reason: 'Forbidden' }, 403),
  );
  await expect(things.current())
    .rejects.toMatchObject({ kind: 'unavailable' })
    .catch(() => {});
  await expect(things.current()).rejects.toMatchObject({ status: 403 });
  expect(fake.requests).toHaveLength(1);
});

test('waiting reads fail when the watch is stopped', async () => {
  const { fake, things } = await begin(() => {});
  const waits = stateOf(things);
  await fake.requested(PATH, 1);
  things.stop();
  expect(await waits).toBe('unavailable');
  expect(await stateOf(things)).toBe('unavailable');
});
