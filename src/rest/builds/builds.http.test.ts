import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { digestOf, fileEntry, putFile, putPack, RECIPE, sendFile } from '../../../test/build-requests.ts';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import { newId } from '../../core/ids.ts';
import { readFile, storeFile } from '../../domain/builds/build-files.ts';
import { buildImageOf } from '../../domain/builds/build-image.ts';

let rest: RestFixture;
let alice: Person;
beforeAll(async () => {
  rest = await startRestApp();
});
afterAll(() => rest.close());
beforeEach(async () => {
  alice = await rest.addPerson(newId());
});

const MAIN = 'print("hello")\n';
const call = (method: string, path: string, body?: unknown, key = alice.key) =>
  rest.call(method, path, { key, ...(body === undefined ? {} : { body }) });
const create = (more: object = {}, key = alice.key) =>
  call('POST', '/v2/builds', { name: 'app', files: [fileEntry('main.py', MAIN)], recipe: RECIPE, ...more }, key);
async function created(more: object = {}): Promise<{ id: string }> {
  await sendFile(rest, alice.key, MAIN);
  const response = await create(more);
  expect(response.statusCode, response.body).toBe(201);
  return response.json();
}
const sql = async (text: string, values: unknown[]) => (await rest.database.pool.query(text, values)).rows;
/** As control ends it. */
async function complete(id: string, name = 'app'): Promise<string> {
  const image = buildImageOf(name, id as never);
  await sql(
    `update builds set status = 'COMPLETED', image = $2, digest = $3, started_at = now(), ended_at = now() where id = $1`,
    [id, image, `sha256:${digestOf(id)}`],
  );
  return image;
}

describe('files', () => {
  test('are missing until they were sent, and then for their user alone', async () => {
    const files = [MAIN, 'b', 'b'].map((content) => ({ digest: digestOf(content), size: content.length }));
    const ask = async (key: string) => (await call('POST', '/v2/builds/missing-files', { files }, key)).json().missing;
    expect(await ask(alice.key)).toEqual([digestOf(MAIN), digestOf('b')]);
    await sendFile(rest, alice.key, MAIN);
    expect(await ask(alice.key)).toEqual([digestOf('b')]);
    expect(await ask(rest.bob.key)).toEqual([digestOf(MAIN), digestOf('b')]);
  });

  test('of any size and content come back as they were sent, and sending one again changes nothing', async () => {
    for (const size of [0, 1, 2 ** 20, 2 ** 20 + 1, 3 * 2 ** 20]) {
      const content = randomBytes(size);
      await sendFile(rest, alice.key, content);
      await sendFile(rest, alice.key, content);
      const rows = await sql(
        `select f.id, coalesce(string_agg(c.data, '' order by c.number), '') as data from build_files f
         left join build_file_chunks c on c.file_id = f.id where f.user_id = $1 and f.digest = $2 group by f.id`,
        [alice.userId, digestOf(content)],
      );
      expect(rows).toHaveLength(1);
      expect(content.equals(rows[0].data)).toBe(true);
    }
  });

  test('whose upload was cut go on from where it was, once, and nothing else can be put together', async () => {
    const content = randomBytes(3.5 * 2 ** 20);
    const file = { digest: digestOf(content), size: content.length };
    const cut = async function* () {
      yield content.subarray(0, 2.5 * 2 ** 20);
      throw new Error('aborted');
    };
    await expect(storeFile(rest.database.pool, alice.userId, file, cut())).rejects.toThrow('aborted');
    const ask = async () => (await call('POST', '/v2/builds/missing-files', { files: [file] })).json();
    const [part] = (await ask()).partial;
    expect(part).toEqual({ digest: file.digest, bytes: 2.5 * 2 ** 20 });
    const sendRest = (start: number, range = `bytes ${start}-${file.size - 1}/${file.size}`) =>
      putFile(rest, alice.key, content.subarray(start), file.digest, { 'content-range': range });
    const refused = await sendRest(2 ** 20);
    expect([refused.statusCode, refused.json().detail]).toEqual([
      409,
      `The file with the digest ${file.digest} cannot be continued here: 2621440 bytes of it are there, not 1048576.`,
    ]);
    for (const range of ['bytes 0-1/*', `bytes ${part.bytes}-${file.size}/${file.size}`, 'bytes 0-1/2'])
      expect((await sendRest(part.bytes, range)).statusCode).toBe(400);
    expect((await sendRest(part.bytes)).statusCode).toBe(204);
    expect(await ask()).toEqual({ missing: [], partial: [] });
    const stored = await buffer(readFile(rest.database.pool, alice.userId, file.digest));
    expect(digestOf(stored)).toBe(file.digest);
    expect((await sendRest(part.bytes)).statusCode).toBe(204); // the answer was lost
  });

  test('of whose beginning another content was sent are refused at their end, and begin anew', async () => {
    const [content, other] = [randomBytes(2 * 2 ** 20), randomBytes(2 ** 20)];
    const file = { digest: digestOf(content), size: content.length };
    const cut = async function* () {
      yield other;
      throw new Error('aborted');
    };
    await expect(storeFile(rest.database.pool, alice.userId, file, cut())).rejects.toThrow('aborted');
    const range = { 'content-range': `bytes 1048576-2097151/2097152` };
    expect((await putFile(rest, alice.key, content.subarray(2 ** 20), file.digest, range)).statusCode).toBe(422);
    expect((await call('POST', '/v2/builds/missing-files', { files: [file] })).json().partial).toEqual([]);
    await sendFile(rest, alice.key, content);
  });

  test('with another digest or size are refused, and nothing of them is kept', async () => {
    const response = await putFile(rest, alice.key, MAIN, digestOf('other'));
    expect([response.statusCode, response.json().detail]).toEqual([
      422,
      `The content has the digest ${digestOf(MAIN)}, not ${digestOf('other')}: it changed meanwhile.`,
    ]);
    await sendFile(rest, alice.key, MAIN);
    const files = [{ digest: digestOf(MAIN), size: 5 }];
    const wrong = await call('POST', '/v2/builds/missing-files', { files });
    expect([wrong.statusCode, wrong.json().detail]).toEqual([
      422,
      `The file with the digest ${digestOf(MAIN)} has ${MAIN.length} bytes, not 5.`,
    ]);
    expect(await sql('select digest from build_files where user_id = $1', [alice.userId])).toEqual([
      { digest: digestOf(MAIN) },
    ]);
  });

  test('beyond the limit of the user are refused', async () => {
    await sql(`insert into user_limits (user_id, name, value) values ($1, 'buildBytes', 10)`, [alice.userId]);
    await sendFile(rest, alice.key, '12345678');
    const response = await putFile(rest, alice.key, 'abc');
    expect([response.statusCode, response.json().detail]).toEqual([
      403,
      "the limit 'buildBytes' allows 10 bytes of files for builds; 8 are in use, and this needs 3 more",
    ]);
  });

  test('need a key that may write builds, a digest and bytes', async () => {
    const narrow = await rest.keyFor(alice, 'builds:read', 'serverless:write');
    expect((await putFile(rest, narrow, MAIN)).statusCode).toBe(403);
    expect((await putFile(rest, 'wrong', MAIN)).statusCode).toBe(401);
    expect((await putFile(rest, alice.key, MAIN, 'abc')).statusCode).toBe(422);
    expect((await call('PUT', `/v2/builds/files/${digestOf('{}')}`, {})).statusCode).toBe(415);
    const json = await rest.inject({
      method: 'POST',
      url: '/v2/builds',
      headers: { authorization: `Bearer ${alice.key}`, 'content-type': 'application/octet-stream' },
      payload: Buffer.from('{}'),
    });
    expect(json.statusCode).toBe(415);
  });
});

describe('small files that are sent together', () => {
  const storedOf = async () =>
    sql(
      `select f.digest, f.size_bytes::int as size, coalesce(c.data, '') as data from build_files f
       left join build_file_chunks c on c.file_id = f.id where f.user_id = $1 and f.completed_at is not null`,
      [alice.userId],
    );

  test('are stored each, also an empty one, one that is there twice, and those that were sent before', async () => {
    const contents = [Buffer.from('a'), Buffer.alloc(0), randomBytes(256 * 1024), Buffer.from('a')];
    await sendFile(rest, alice.key, contents[0]!);
    for (const _ of ['first', 'again']) {
      const response = await putPack(rest, alice.key, contents);
      expect([response.statusCode, response.body]).toEqual([204, '']);
    }
    const stored = await storedOf();
    expect(stored).toHaveLength(3);
    for (const { digest, size, data } of stored) expect([digestOf(data), data.length]).toEqual([digest, size]);
  });

  test('two requests at once store a file once', async () => {
    const contents = Array.from({ length: 200 }, (_, i) => Buffer.from(`${i}`));
    const answers = await Promise.all([1, 2, 3].map(() => putPack(rest, alice.key, contents)));
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([204, 204, 204]);
    expect(await storedOf()).toHaveLength(200);
  });

  const A = Buffer.from('a');
  const a = { digest: digestOf(A), size: 1 };
  test.each<[string, object, number, RegExp]>([
    ['another content', { content: Buffer.from('b') }, 422, /has the digest 3e23e8.*, not ca9781/],
    ['less content', { content: Buffer.alloc(0) }, 422, /have 1 bytes together, and 0 were sent/],
    ['more content', { content: Buffer.from('aa') }, 422, /have 1 bytes together, and 2 were sent/],
    ['no line', { files: 'x'.repeat(10) }, 400, /must begin with a line of JSON/],
    ['a line that is not JSON', { files: '{\n' }, 400, /not valid JSON/],
    ['no list', { files: { a: 1 } }, 400, /must be an array of objects/],
    ['a wrong digest', { files: [{ digest: 'A', size: 1 }] }, 400, /64 hexadecimal digits/],
    ['a negative size', { files: [a, { ...a, size: -1 }] }, 400, /'size', 0 to 262144/],
    ['a large file', { files: [{ ...a, size: 262_145 }] }, 400, /'size', 0 to 262144/],
    [
      'too many files',
      { files: Array.from({ length: 1_001 }, () => a) },
      400,
      /may have 1000 files; this one has 1001/,
    ],
    ['too much', { content: Buffer.alloc(5 * 2 ** 20) }, 413, /may have 4322304 bytes/],
  ])('%s is refused, and nothing is stored', async (_, change, status, text) => {
    const { statusCode, body } = await putPack(rest, alice.key, [A], change);
    expect([statusCode, JSON.parse(body).detail]).toEqual([status, expect.stringMatching(text)]);
    expect(await storedOf()).toEqual([]);
  });

  test('need the scope builds:write, and count for the limit', async () => {
    const reader = await rest.keyFor(alice, 'builds:read');
    expect((await putPack(rest, reader, [A])).statusCode).toBe(403);
    await sql(`insert into user_limits (user_id, name, value) values ($1, 'buildBytes', 0)`, [alice.userId]);
    expect((await putPack(rest, alice.key, [A])).statusCode).toBe(403);
  });
});

describe('a build', () => {
  test('is queued, listed and read by its user alone', async () => {
    const build = await created();
    expect(build).toMatchObject({
      ...{ name: 'app', status: 'QUEUED', image: null, digest: null, reason: null, failedStep: null, steps: [] },
      ...{ source: { type: 'UPLOAD' }, endpointId: null, retryOf: null, startedAt: null, endedAt: null },
    });
    expect((await call('GET', `/v2/builds/${build.id}`)).json()).toEqual(build);
    expect((await call('GET', '/v2/builds')).json()).toEqual({ builds: [build], nextCursor: null });
    const { bob } = rest;
    expect((await call('GET', '/v2/builds', undefined, bob.key)).json().builds).toEqual([]);
    const missing = await call('GET', '/v2/builds/b0000000000000');
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/logs'],
      ['POST', '/cancel'],
      ['POST', '/retry'],
    ] as const) {
      const response = await call(method, `/v2/builds/${build.id}${path}`, undefined, bob.key);
      expect([response.statusCode, response.body]).toEqual([404, missing.body]);
    }
  });

  test('with files that were not sent is a conflict that lists them', async () => {
    const response = await create({ files: [fileEntry('main.py', 'never sent'), fileEntry('b.py', 'nor this')] });
    expect(response.statusCode).toBe(409);
    expect(response.json().errors).toEqual([digestOf('never sent'), digestOf('nor this')]);
    await sendFile(rest, rest.bob.key, 'of bob alone');
    expect((await create({ files: [fileEntry('main.py', 'of bob alone')] })).statusCode).toBe(409);
    expect((await call('GET', '/v2/builds')).json().builds).toEqual([]);
  });

  const file = (path: string) => fileEntry(path, MAIN);
  test.each<[string, object, string]>([
    [
      'an absolute path',
      { files: [file('/etc/passwd')] },
      "/files/0: '/etc/passwd' is absolute: give its path in the folder",
    ],
    ['..', { files: [file('a/../../b')] }, "/files/0: 'a/../../b' has an empty name, '.' or '..' in it"],
    ['an empty name', { files: [file('a//b')] }, "/files/0: 'a//b' has an empty name, '.' or '..' in it"],
    ['a path twice', { files: [file('main.py'), file('main.py')] }, "/files/1: 'main.py' is listed twice"],
    [
      'a file that is a folder',
      { files: [file('a/b'), file('a')] },
      "/files/0: 'a/b' is in 'a', which is a file or a link",
    ],
    [
      'a file behind a link',
      { files: [{ path: 'a', link: 'b' }, file('a/x/y')] },
      "/files/1: 'a/x/y' is in 'a', which is a file or a link",
    ],
    [
      'an absolute link',
      { files: [{ path: 'a', link: '/etc' }] },
      "/files/0: 'a' is a link to '/etc', outside of the folder",
    ],
    [
      'a link outward',
      { files: [{ path: 'a/b', link: '../../etc' }] },
      "/files/0: 'a/b' is a link to '../../etc', outside of the folder",
    ],
    [
      'a link that leaves by another one',
      {
        files: [
          { path: 'a/up', link: '..' },
          { path: 'a/out', link: 'up/..' },
        ],
      },
      "/files/1: 'a/out' is a link to 'up/..', which has '..' after a name",
    ],
    ['a reserved path', { files: [file('.podyard/x')] }, "/files/0: '.podyard/x' is in '.podyard', which is reserved"],
    ['a file without a size', { files: [{ path: 'a', digest: digestOf('a') }] }, '/files/0: must have size and mode'],
    ['neither content nor link', { files: [{ path: 'a' }] }, "/files/0: must have required property 'digest'"],
    ['an upper-case name', { name: 'App' }, '/name: must match pattern'],
    ['an unknown property', { image: 'x' }, "$: additional property 'image' is not allowed"],
    [
      'a Dockerfile that is not there',
      { recipe: { ...RECIPE, dockerfile: 'D' } },
      "/recipe/dockerfile: the folder has no file 'D'",
    ],
    [
      'a lock file that is not there',
      { recipe: { ...RECIPE, lockFiles: ['r'] } },
      "/recipe/lockFiles/0: the folder has no file 'r'",
    ],
    [
      'a secret that is not given',
      { recipe: { ...RECIPE, secretIds: ['T'] } },
      "/recipe/secretIds/0: the build has no secret 'T'",
    ],
    ['nothing to serve', { recipe: { ...RECIPE, entry: null } }, '/recipe/entry: must say what is served'],
    ['an odd secret', { secrets: { 'a b': 'X' } }, "/secrets: name 'a b' must match pattern"],
  ])('with %s is a 422 that says where', async (_, more, error) => {
    await sendFile(rest, alice.key, MAIN);
    const response = await create(more);
    expect([response.statusCode, response.json().errors]).toEqual([
      422,
      expect.arrayContaining([expect.stringContaining(error)]),
    ]);
  });

  test('of more than 2 GiB or 20,000 files is refused, and 20,000 are not too many', async () => {
    await sendFile(rest, alice.key, MAIN);
    const large = { path: 'a', digest: digestOf('a'), size: 512 * 2 ** 20, mode: 0 };
    const files = Array.from({ length: 5 }, (_, i) => ({ ...large, path: `f${i}` }));
    expect((await create({ files })).json().errors[0]).toContain(
      'the folder has 2684354560 bytes, and may have 2147483648',
    );
    const many = (count: number) => Array.from({ length: count }, (_, i) => fileEntry(`folder/${i}.py`, MAIN));
    expect((await create({ files: many(20_001) })).json().errors[0]).toContain(
      '/files: must NOT have more than 20000 items',
    );
    expect((await create({ files: many(20_000) })).statusCode).toBe(201);
  });

  test('names secrets of the user, whose values nothing shows, and its key must be permitted to use them', async () => {
    await sendFile(rest, alice.key, MAIN);
    expect((await create({ secrets: { token: 'TOKEN' } })).json().detail).toBe("secrets: there is no secret 'TOKEN'");
    await call('POST', '/v2/account/secrets', { name: 'TOKEN', value: 'canary-1f0c' });
    const narrow = await rest.keyFor(alice, 'builds:write');
    const refused = await create({ secrets: { token: 'TOKEN' } }, narrow);
    expect([refused.statusCode, refused.json().detail]).toEqual([
      403,
      "access denied: a reference to secret 'TOKEN' needs the scope account:read",
    ]);
    expect((await create({}, narrow)).statusCode).toBe(201);
    const { id } = (await create({ secrets: { token: 'TOKEN' } })).json();
    const rows = await sql('select b::text as row from builds b where id = $1', [id]);
    expect(rows[0].row).toContain('TOKEN');
    expect(rows[0].row).not.toContain('canary');
  });

  test('names registries of the user, and its key must be permitted to read them', async () => {
    await sendFile(rest, alice.key, MAIN);
    const body = { name: 'ours', username: 'puller', password: 'canary-2b7d' };
    const { id } = (await call('POST', '/v2/registries', body)).json();
    const registries = { 'registry.example.com:5000': id };
    expect((await create({ registries })).statusCode).toBe(201);
    await sendFile(rest, rest.bob.key, MAIN);
    const foreign = await create({ registries }, rest.bob.key);
    expect([foreign.statusCode, foreign.json().detail]).toEqual([400, `registries: there is no registry '${id}'`]);
    const refused = await create({ registries }, await rest.keyFor(alice, 'builds:write'));
    expect([refused.statusCode, refused.json().detail]).toEqual([
      403,
      `access denied: a reference to registry '${id}' needs the scope registries:read`,
    ]);
    const odd = await create({ registries: { 'https://registry.example.com': id } });
    expect(odd.json().errors[0]).toContain("/registries: name 'https://registry.example.com' must match pattern");
  });

  test('is not queued as the 21st', async () => {
    await sendFile(rest, alice.key, MAIN);
    for (let i = 0; i < 20; i++) expect((await create()).statusCode).toBe(201);
    const response = await create();
    expect([response.statusCode, response.json().detail]).toEqual([
      429,
      '20 builds wait or run: wait for one, or cancel one',
    ]);
  });

  test('is cancelled at once while it waits, and once', async () => {
    const { id } = await created();
    const response = await call('POST', `/v2/builds/${id}/cancel`);
    expect(response.json()).toMatchObject({ status: 'CANCELLED', reason: 'it was cancelled before it began' });
    const again = await call('POST', `/v2/builds/${id}/cancel`);
    expect([again.statusCode, again.json().detail]).toEqual([409, 'The build is CANCELLED already.']);
  });

  test('is repeated once it has ended, with the same folder', async () => {
    const { id } = await created({ args: { A: 'b' } });
    expect((await call('POST', `/v2/builds/${id}/retry`)).statusCode).toBe(409);
    await complete(id);
    const response = await call('POST', `/v2/builds/${id}/retry`);
    expect([response.statusCode, response.json()]).toMatchObject([201, { status: 'QUEUED', retryOf: id, name: 'app' }]);
    const rows = await sql(
      'select b.args, b.recipe, f.entries from builds b join build_folders f on f.build_id = b.id where b.id = any($1)',
      [[id, response.json().id]],
    );
    expect(rows[0]).toEqual(rows[1]);
    await sql('delete from build_files where user_id = $1', [alice.userId]);
    await complete(response.json().id);
    expect((await call('POST', `/v2/builds/${id}/retry`)).json()).toMatchObject({
      status: 409,
      errors: [digestOf(MAIN)],
    });
  });

  test('is listed by name and in pages', async () => {
    const ids = [];
    for (const name of ['a', 'b', 'a', 'a']) ids.push((await created({ name })).id);
    const page = async (query: string) => {
      const response = await call('GET', `/v2/builds?${query}`);
      expect(response.statusCode, response.body).toBe(200);
      return response.json();
    };
    const first = await page('name=a&limit=2');
    expect(first.builds.map(({ id }: { id: string }) => id)).toEqual([ids[3], ids[2]]);
    const second = await page(`name=a&limit=2&cursor=${first.nextCursor}`);
    expect([second.builds.map(({ id }: { id: string }) => id), second.nextCursor]).toEqual([[ids[0]], null]);
    expect((await call('GET', '/v2/builds?limit=0')).statusCode).toBe(422);
    expect((await call('GET', '/v2/builds?cursor=x')).statusCode).toBe(422);
  });
});

describe('the log', () => {
  const line = (id: string, number: number, text: string) =>
    sql(`insert into build_lines (build_id, number, at, stream, text) values ($1, $2, now(), 'stdout', $3)`, [
      ...[id, number, text],
    ]);

  test('has every line, goes on after the last event that was seen, and says how the build ended', async () => {
    const { id } = await created();
    await line(id, 1, 'one');
    await line(id, 2, 'two\u2028three');
    await complete(id);
    const read = (headers: object) =>
      rest.inject({
        method: 'GET',
        url: `/v2/builds/${id}/logs`,
        headers: { authorization: `Bearer ${alice.key}`, ...headers },
      });
    const events = await read({});
    expect(events.headers['content-type']).toBe('text/event-stream');
    expect(events.body).toContain('id: 1\ndata: {"number":1,"step":null,"stream":"stdout","text":"one"');
    expect(events.body).toContain('"text":"two\\u2028three"');
    const [, end] = /\nevent: end\ndata: (.+)\n\n$/.exec(events.body)!;
    expect(JSON.parse(end!)).toEqual({ status: 'COMPLETED', image: expect.stringMatching(`:${id}$`) });
    const later = await read({ 'last-event-id': '1' });
    expect(later.body).not.toContain('"one"');
    expect(later.body).toContain('id: 2\n');
    const lines = await read({ accept: 'application/x-ndjson' });
    expect(lines.headers['content-type']).toBe('application/x-ndjson');
    expect(
      lines.body
        .trim()
        .split('\n')
        .map((text) => JSON.parse(text).number),
    ).toEqual([1, 2]);
    expect((await read({ 'last-event-id': 'x' })).statusCode).toBe(422);
  });
});

describe('an endpoint', () => {
  const endpoint = (image: string, key = alice.key) =>
    call('POST', '/v2/serverless', { name: 'e', image, gpu: { pools: ['ADA_24'] }, workers: { max: 0 } }, key);

  test('takes the image of a finished build of its user, and its release says so', async () => {
    const { id } = await created();
    const image = await complete(id);
    const response = await endpoint(image);
    expect(response.statusCode, response.body).toBe(201);
    const endpointId = response.json().id;
    expect((await call('GET', `/v2/builds/${id}`)).json().endpointId).toBe(endpointId);
    expect((await call('GET', `/v2/builds?endpointId=${endpointId}`)).json().builds).toHaveLength(1);
    const failed = (await created({ name: 'e' })).id;
    await created({ name: 'f' });
    const pool = rest.database.pool;
    await pool.query("update builds set status = 'FAILED', ended_at = now() where id = $1", [failed]);
    const ofEndpoint = async (key = alice.key) =>
      (await call('GET', `/v2/builds?endpointId=${endpointId}`, undefined, key))
        .json()
        .builds.map(({ id: one }: { id: string }) => one);
    expect(await ofEndpoint()).toEqual([failed, id]);
    const twin = (await endpoint('python:3.12')).json().id; // of the same name
    const itsOwn = (await created({ name: 'e', endpointId: twin })).id;
    await pool.query("update builds set status = 'FAILED', ended_at = now() where id = $1", [itsOwn]);
    expect(await ofEndpoint()).not.toContain(itsOwn);
    expect((await call('GET', `/v2/builds?endpointId=${twin}`)).json().builds[0].id).toBe(itsOwn);
    expect(await ofEndpoint((await rest.addPerson(newId())).key)).toEqual([]);
    await pool.query("update builds set status = 'COMPLETED' where id = $1", [failed]); // no endpoint has taken it
    expect(await ofEndpoint()).toEqual([id]);
    const { releases } = (await call('GET', `/v2/serverless/${endpointId}/releases`)).json();
    expect(releases[0]).toMatchObject({ source: 'GIT_BUILD', buildId: id });
    await call('PATCH', `/v2/serverless/${endpointId}`, { image: 'python:3.12' });
    const later = (await call('GET', `/v2/serverless/${endpointId}/releases`)).json().releases;
    expect(later.map(({ source, buildId }: { source: string; buildId: string }) => [source, buildId])).toEqual([
      ['MANUAL', null],
      ['GIT_BUILD', id],
    ]);
  });

  test('shows its builds in the revision that has them', async () => {
    const { id } = await created();
    const image = await complete(id);
    const other = await created();
    const endpointId = (await endpoint(image)).json().id;
    const path = `/2026-08/v2/serverless/${endpointId}/builds`;
    const build = (await call('GET', `/v2/builds/${id}`)).json();
    expect((await call('GET', path)).json()).toEqual({ builds: [build] });
    expect((await call('GET', `${path}/${id}`)).json()).toEqual(build);
    expect((await call('GET', `${path}/${other.id}`)).statusCode).toBe(404);
    expect((await call('GET', `${path}/${id}`, undefined, rest.bob.key)).statusCode).toBe(404);
    await sql(
      `insert into build_lines (build_id, number, at, stream, text) values ($1, 1, now(), 'stdout', 'Step 1')`,
      [id],
    );
    const log = await call('GET', `${path}/${id}/logs`);
    expect(log.body).toBe(': stream begins\n\nid: 1\ndata: Step 1\n\nevent: end\ndata: {"status":"COMPLETED"}\n\n');
    const narrow = await rest.keyFor(alice, `serverless/${endpointId}:read`);
    expect((await call('GET', path, undefined, narrow)).statusCode).toBe(200);
    expect((await call('GET', '/v2/builds', undefined, narrow)).statusCode).toBe(403);
  });

  test('takes no image of another user, of an unfinished build, or that was removed', async () => {
    const { id } = await created();
    const image = buildImageOf('app', id as never);
    const refusal = async (name: string, key = alice.key) => {
      const response = await endpoint(name, key);
      return [response.statusCode, response.json().detail];
    };
    expect(await refusal(image)).toEqual([400, `image: build '${id}' is QUEUED`]);
    await complete(id);
    const unknown = (name: string) => [400, `image: there is no build with the image '${name}'`];
    expect(await refusal(image, rest.bob.key)).toEqual(unknown(image));
    expect(await refusal('builds.podyard.internal/app:latest')).toEqual(unknown('builds.podyard.internal/app:latest'));
    expect(await refusal(image.replace('app', 'other'))).toEqual([400, `image: build '${id}' made '${image}'`]);
    const narrow = await rest.keyFor(alice, 'serverless:write');
    expect(await refusal(image, narrow)).toEqual([
      403,
      `access denied: a reference to build '${id}' needs the scope builds:read`,
    ]);
    await sql('update builds set image = null where id = $1', [id]);
    expect(await refusal(image)).toEqual([400, `image: the image of build '${id}' was removed: build it again`]);
  });
});
