import { expect, test } from 'vitest';
import type { Schemas } from '../../api/client.ts';
import { choiceOptions, type Fields, initialValues, recordOptions, volumeOptions } from './fields.ts';

interface Values {
  name: string;
  workers: { min: number; max: number };
  ports: string[];
  kind: 'a' | 'b';
}

const FIELDS: Fields<Values> = {
  name: { label: 'Name', initial: '' },
  'workers.min': { label: 'Min workers', initial: 0 },
  'workers.max': { label: 'Max workers', initial: 3 },
  ports: { label: 'Ports', initial: [] },
  kind: { label: 'Kind', initial: 'a', choices: { a: 'First', b: 'Second' } },
};

test('a new record has the initial value of each row, at its path', () => {
  expect(initialValues<Values>(FIELDS)).toEqual({ name: '', workers: { min: 0, max: 3 }, ports: [], kind: 'a' });
});

test('choices are offered in their order', () => {
  expect(choiceOptions(FIELDS.kind.choices!)).toEqual([
    { value: 'a', label: 'First' },
    { value: 'b', label: 'Second' },
  ]);
});

test('the compiler refuses a table that lacks a field, has one too many, or offers another value', () => {
  const { name: _, ...others } = FIELDS;
  // @ts-expect-error name is missing
  const lacking: Fields<Values> = others;
  // @ts-expect-error there is no such field
  const more: Fields<Values> = { ...others, name: FIELDS.name, 'workers.idle': { label: 'Idle', initial: 0 } };
  // @ts-expect-error b is not offered
  const fewer: Fields<Values> = { ...FIELDS, kind: { label: 'Kind', initial: 'a', choices: { a: 'First' } } };
  expect([lacking, more, fewer]).toHaveLength(3);
});

test('no options while the records load', () => {
  for (const options of [recordOptions, volumeOptions]) expect(options(undefined)).toEqual([]);
});

test('a record is shown by its name and chosen by its id', () => {
  expect(recordOptions([{ id: 'r1', name: 'mine' }])).toEqual([{ value: 'r1', label: 'mine' }]);
});

test('a volume names its data center', () => {
  const volume = { id: 'v1', name: 'models', dataCenter: 'LOCAL-1' } as Schemas['NetworkVolume'];
  expect(volumeOptions([volume])).toEqual([{ value: 'v1', label: 'models (LOCAL-1)' }]);
});
