import { Ajv } from 'ajv';
import { expect, test } from 'vitest';
import { useUniqueItems } from './unique-items.ts';

const validate = useUniqueItems(new Ajv({ allErrors: true })).compile({
  type: 'array',
  items: { type: 'object', required: ['id'] },
  uniqueItems: true,
});
const messages = (items: unknown) => (validate(items) ? [] : validate.errors!.map(({ message }) => message));

test('equal items are named, whatever the order of their members; different ones are not', () => {
  expect(messages([{ id: 1, b: { c: [1], d: 2 } }, { id: 2 }, { b: { d: 2, c: [1] }, id: 1 }])).toEqual([
    'must NOT have duplicate items (items ## 2 and 0 are identical)',
  ]);
  expect(messages([{ id: 1 }, { id: '1' }, { id: 1, b: null }, { id: [1] }])).toEqual([]);
});

test('members that are called like methods of objects are values like others', () => {
  for (const name of ['toString', 'valueOf', 'constructor', 'toJSON', '__proto__']) {
    const item = JSON.parse(`{"id":1,"${name}":null}`);
    expect(messages([item, { id: 1 }])).toEqual([]);
    expect(messages([{ id: 2 }, item, structuredClone(item)])).toHaveLength(1);
  }
});

test('many different items are compared once each', () => {
  expect(messages(Array.from({ length: 100_000 }, (_, id) => ({ id })))).toEqual([]);
});
