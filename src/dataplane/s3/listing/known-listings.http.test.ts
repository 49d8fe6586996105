/** Listings of the public conformance lists for S3, in our words: known-cases.http.test.ts has the other cases. */
import {
  HeadObjectCommand,
  ListObjectsCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type S3Person, type S3TestServer, startS3Server } from '../../../../test/s3-server.ts';

let server: S3TestServer;
let alice: S3Person;
let s3: S3Client;

beforeAll(async () => {
  server = await startS3Server();
  alice = await server.addPerson('alice');

  s3 = server.client(await server.addKey(alice, 'files:write'));
});
afterAll(() => server.close());

/** Adds a volume with these keys, and returns what lists it. */
async function filled(keys: readonly string[]) {
  const bucket = await server.addVolume(alice);
  for (const Key of keys)
    await s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body: Buffer.from(Key.endsWith('/') ? '' : Key) }));
  const tell = (page: Pick<ListObjectsV2CommandOutput, 'Contents' | 'CommonPrefixes'>) => ({
    keys: (page.Contents ?? []).map(({ Key }) => Key),
    prefixes: (page.CommonPrefixes ?? []).map(({ Prefix }) => Prefix),
  });
  return {
    async first(more: object) {
      const page = await s3.send(new ListObjectsCommand({ Bucket: bucket, ...more }));
      return { ...page, ...tell(page) };
    },
    async second(more: object) {
      const page = await s3.send(new ListObjectsV2Command({ Bucket: bucket, ...more }));
      return { ...page, ...tell(page) };
    },
  };
}
type Listing = [name: string, keys: string[], more: object, expected: { keys: string[]; prefixes?: string[] }];
const LISTINGS: Listing[] = [
  ['nothing', [], {}, { keys: [] }],
  [
    'a delimiter',
    ['foo/bar', 'foo/baz/xyzzy', 'quux/thud', 'asdf'],
    { Delimiter: '/' },
    { keys: ['asdf'], prefixes: ['foo/', 'quux/'] },
  ],
  ['an empty delimiter', ['foo/bar', 'asdf'], { Delimiter: '' }, { keys: ['asdf', 'foo/bar'] }],
  [
    'a delimiter that no key has',
    ['bar', 'baz', 'cab', 'foo'],
    { Delimiter: '/' },
    { keys: ['bar', 'baz', 'cab', 'foo'] },
  ],
  [
    'a prefix and a delimiter',
    ['asdf', 'boo/bar', 'boo/baz/xyzzy', 'cquux/thud'],
    { Delimiter: '/', Prefix: 'boo/' },
    { keys: ['boo/bar'], prefixes: ['boo/baz/'] },
  ],
  [
    'a prefix that is a key with a slash at its end',
    ['asdf/'],
    { Delimiter: '/', Prefix: 'asdf/' },
    { keys: ['asdf/'] },
  ],
  ['a directory that is an object as well', ['asdf/'], { Delimiter: '/' }, { keys: [], prefixes: ['asdf/'] }],
  [
    'a prefix that ends at a name',
    ['foo/1', 'foobar', 'foo.txt'],
    { Delimiter: '/', Prefix: 'foo' },
    { keys: ['foo.txt', 'foobar'], prefixes: ['foo/'] },
  ],
  [
    'a prefix with a slash, undelimited',
    ['foo/bar', 'foo/baz', 'quux'],
    { Prefix: 'foo/' },
    { keys: ['foo/bar', 'foo/baz'] },
  ],
  ['a prefix that no key has', ['foo/bar', 'foo/baz'], { Prefix: 'd' }, { keys: [] }],
  ['a prefix that no text has', ['foo/bar'], { Prefix: '\n' }, { keys: [] }],
  ['a prefix of one letter', ['bar', 'bax', 'cab'], { Prefix: 'ba' }, { keys: ['bar', 'bax'] }],
  ['an empty prefix', ['foo/bar', 'quux'], { Prefix: '' }, { keys: ['foo/bar', 'quux'] }],
  [
    'signs in keys',
    ['foo/1999', 'foo/1999#', 'foo/1999+', 'foo/2000'],
    { Prefix: 'foo/1999' },
    { keys: ['foo/1999', 'foo/1999#', 'foo/1999+'] },
  ],
  [
    'special names',
    ['_bla/1', '_bla/2', '_bla/3', '_bla/4', 'abcd'],
    { Prefix: '_bla/' },
    { keys: ['_bla/1', '_bla/2', '_bla/3', '_bla/4'] },
  ],
];

describe.each(['first', 'second'] as const)('a listing, %s version, of', (version) => {
  test.each(LISTINGS)('%s', async (_, keys, more, { keys: found, prefixes = [] }) => {
    const page = await (await filled(keys))[version](more);
    expect(page).toMatchObject({ keys: found, prefixes, IsTruncated: false });
    if (version === 'second') expect(page).toMatchObject({ KeyCount: found.length + prefixes.length });
  });

  test('keys in URL encoding, which clients ask for', async () => {
    const { endpoint } = server;
    const bucket = await server.addVolume(alice);
    for (const Key of ['foo+1/bar', 'foo/bar/xyzzy', 'quux ab/thud', 'asdf+b'])
      await s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body: 'x' }));
    const query = `?encoding-type=url&delimiter=/${version === 'second' ? '&list-type=2' : ''}`;
    const answer = await fetch(`${endpoint}/${bucket}${query}`, {
      headers: { authorization: `Bearer ${alice.apiKey}` },
    });
    const text = await answer.text();
    expect(text).toContain('<EncodingType>url</EncodingType>');
    expect([...text.matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key]) => key)).toEqual(['asdf%2Bb']);
    expect(
      [...text.matchAll(/<CommonPrefixes><Prefix>(.*?)<\/Prefix>/g)].map(([, key]) => decodeURIComponent(key!)),
    ).toEqual(['foo+1/', 'foo/', 'quux ab/']);
  });

  test('pages of one and two, where prefixes count as keys', async () => {
    const house = await filled(['asdf', 'boo/bar', 'boo/baz/xyzzy', 'cquux/thud', 'cquux/bla']);
    const pages = async (Prefix: string, MaxKeys: number) => {
      const seen: unknown[] = [];
      let from: object = {};
      for (;;) {
        const page = await house[version]({ Delimiter: '/', Prefix, MaxKeys, ...from });
        seen.push([page.keys, page.prefixes]);
        if (!page.IsTruncated) return seen;
        from =
          'NextContinuationToken' in page
            ? { ContinuationToken: page.NextContinuationToken }
            : { Marker: (page as { NextMarker?: string }).NextMarker };
      }
    };
    expect(await pages('', 1)).toEqual([
      [['asdf'], []],
      [[], ['boo/']],
      [[], ['cquux/']],
    ]);
    expect(await pages('', 2)).toEqual([
      [['asdf'], ['boo/']],
      [[], ['cquux/']],
    ]);
    expect(await pages('boo/', 1)).toEqual([
      [['boo/bar'], []],
      [[], ['boo/baz/']],
    ]);
    expect(await pages('boo/', 2)).toEqual([[['boo/bar'], ['boo/baz/']]]);
  });

  test('so many keys', async () => {
    const house = await filled(['bar', 'baz', 'foo', 'quxx']);
    expect(await house[version]({ MaxKeys: 1 })).toMatchObject({ keys: ['bar'], IsTruncated: true, MaxKeys: 1 });
    expect(await house[version]({ MaxKeys: 0 })).toMatchObject({ keys: [], IsTruncated: false });
    expect(await house[version]({})).toMatchObject({ keys: ['bar', 'baz', 'foo', 'quxx'], MaxKeys: 1_000 });
    expect(await house[version]({ MaxKeys: 4 })).toMatchObject({ IsTruncated: false });
  });

  test('what a key has, as a read of it says', async () => {
    const bucket = await server.addVolume(alice);
    await s3.send(new PutObjectCommand({ Bucket: bucket, Key: 'foo', Body: 'content' }));
    const command =
      version === 'first'
        ? new ListObjectsCommand({ Bucket: bucket })
        : new ListObjectsV2Command({ Bucket: bucket, FetchOwner: true });
    const { Contents } = await s3.send(command as ListObjectsV2Command);
    const head = await s3.send(new HeadObjectCommand({ Bucket: bucket, Key: 'foo' }));
    const [found] = Contents!;
    expect(found).toMatchObject({
      ETag: head.ETag,
      Size: head.ContentLength,
      StorageClass: 'STANDARD',
      Owner: { ID: alice.userId },
    });
    expect(Math.floor(found!.LastModified!.getTime() / 1_000)).toBe(head.LastModified!.getTime() / 1_000);
  });
});

test('the second version names owners only where they are asked for', async () => {
  const house = await filled(['foo']);
  expect((await house.second({})).Contents![0]!.Owner).toBeUndefined();
  expect((await house.second({ FetchOwner: false })).Contents![0]!.Owner).toBeUndefined();
});

test.each([
  ['none', {}, ['bar', 'baz', 'foo', 'quxx']],
  ['an empty one', { Marker: '' }, ['bar', 'baz', 'foo', 'quxx']],
  ['one that no text has', { Marker: '\n' }, ['bar', 'baz', 'foo', 'quxx']],
  ['one that is no key', { Marker: 'blah' }, ['foo', 'quxx']],
  ['one behind all', { Marker: 'zzz' }, []],
  ['one before all', { Marker: 'aaa' }, ['bar', 'baz', 'foo', 'quxx']],
])('a marker: %s', async (_, more, keys) => {
  expect((await (await filled(['bar', 'baz', 'foo', 'quxx'])).first(more)).keys).toEqual(keys);
});

test('a token goes before the key that a listing starts after', async () => {
  const house = await filled(['bar', 'baz', 'foo', 'quxx']);
  const page = await house.second({ MaxKeys: 1, StartAfter: 'bar' });
  expect(page.keys).toEqual(['baz']);
  const rest = await house.second({ StartAfter: 'bar', ContinuationToken: page.NextContinuationToken });
  expect(rest.keys).toEqual(['foo', 'quxx']);
});
