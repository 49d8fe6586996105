import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { bigintArray, booleanArray, doubleArray, textArray } from './arrays.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

async function echo(type: string, array: Buffer): Promise<unknown> {
  return (await database.pool.query(`select $1::${type}[] as array`, [array])).rows[0].array;
}

const withoutNul = fc.string({ unit: 'binary' }).map((value) => value.replaceAll('\0', ''));

test('text[] arrives as it was sent: quotes, braces, backslashes, the word NULL, any script, nulls, empty', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(withoutNul)), async (values) => {
      expect(await echo('text', textArray(values))).toEqual(values);
    }),
  );
  const awkward = ['', 'NULL', 'null', '"', '\\', '{}', ',', '{"a":"\\u0000"}', 'ü€😀', '\t\r\n'];
  expect(await echo('text', textArray(awkward))).toEqual(awkward);
  expect(await echo('text', textArray([]))).toEqual([]);
});

test('a Buffer in text[] is sent as its bytes, even a mebibyte', async () => {
  const large = Buffer.alloc(2 ** 20, 'ä');
  const values = [Buffer.from('{"input":"ü"}'), null, 'plain', large];
  expect(await echo('text', textArray(values))).toEqual(['{"input":"ü"}', null, 'plain', large.toString()]);
});

test.for([Buffer.from([0x61, 0x00]), Buffer.from([0xc3, 0x28])])(
  'bytes that are no text fail the statement as a value fault, not the connection',
  async (bytes) => {
    await expect(echo('text', textArray([bytes]))).rejects.toMatchObject({ code: '22021' });
    expect(await echo('text', textArray(['next']))).toEqual(['next']);
  },
);

test('bigint[] keeps every safe integer and null', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(fc.maxSafeInteger())), async (values) => {
      const sent = values.map((value) => (value === 0 ? 0 : value)); // there is no -0 among integers
      expect(await echo('bigint', bigintArray(sent))).toEqual(
        sent.map((value) => (value === null ? null : String(value))),
      );
    }),
  );
});

test('double precision[] keeps every number, infinities, NaN and null', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(fc.double())), async (values) => {
      expect(await echo('double precision', doubleArray(values))).toEqual(values);
    }),
  );
});

test('boolean[] keeps its values', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean()), async (values) => {
      expect(await echo('boolean', booleanArray(values))).toEqual(values);
    }),
  );
});
