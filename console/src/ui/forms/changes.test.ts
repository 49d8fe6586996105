import { expect, test } from 'vitest';
import { changesOf, countSet } from './changes.ts';
import { CONTAINER_FIELDS, NEW_CONTAINER } from './container-values.ts';

const changes = (after: object, names?: Map<string, string>) =>
  changesOf(CONTAINER_FIELDS, NEW_CONTAINER, { ...NEW_CONTAINER, ...after }, names);

test('what changed is named as the form names it, with units and the names of records', () => {
  expect(changes({})).toEqual([]);
  expect(changes({ disk: 40, ports: ['22/tcp'], registry: 'r1' }, new Map([['r1', 'mine']]))).toEqual([
    { label: 'Container disk', before: '20 GB', after: '40 GB' },
    { label: 'Ports', before: 'none', after: '22/tcp' },
    { label: 'Registry credentials', before: 'none', after: 'mine' },
  ]);
});

test('of variables there are names and never values', () => {
  const before = {
    ...NEW_CONTAINER,
    env: [
      { key: 'A', value: 'secret-1' },
      { key: 'B', value: 'secret-2' },
    ],
  };
  const after = {
    ...NEW_CONTAINER,
    env: [
      { key: 'A', value: 'secret-3' },
      { key: 'C', value: 'secret-4' },
      { key: '', value: 'x' },
    ],
  };
  const found = changesOf(CONTAINER_FIELDS, before, after);
  expect(found.map(({ label, after }) => `${label} ${after}`)).toEqual(['A another value', 'B removed', 'C set']);
  expect(JSON.stringify(found)).not.toContain('secret-');
});

test('a name that reorders text is shown with what it hides', () => {
  expect(changes({ image: 'a\u202eb' })).toEqual([{ label: 'Image', before: 'none', after: 'a\\u202eb' }]);
});

test('fields that are not as in a new record are counted', () => {
  expect(countSet(CONTAINER_FIELDS, ['args', 'disk', 'registry'], NEW_CONTAINER)).toBe(0);
  expect(countSet(CONTAINER_FIELDS, ['args', 'disk', 'registry'], { ...NEW_CONTAINER, disk: 5, args: 'x' })).toBe(2);
});
