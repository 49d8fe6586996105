import { expect, test } from 'vitest';
import { CONTAINER_FIELDS, containerBody, containerValues, NEW_CONTAINER } from './container-values.ts';

const CONTAINER = {
  image: 'podyard/echo-js:dev',
  args: '--verbose',
  disk: 5,
  ports: ['8000/http'],
  env: { MODEL: 'small', EMPTY: '' },
  registry: null,
};

test('a record round-trips through the form values', () => {
  expect(containerValues(CONTAINER).env).toEqual([
    { key: 'MODEL', value: 'small' },
    { key: 'EMPTY', value: '' },
  ]);
  expect(containerBody(containerValues(CONTAINER))).toEqual(CONTAINER);
});

test('fields outside the container are left out', () => {
  expect(Object.keys(containerValues({ ...CONTAINER, id: 'e1' } as typeof CONTAINER))).toEqual(
    Object.keys(CONTAINER_FIELDS),
  );
});

test('variables without a name are dropped, and the last of equal names wins', () => {
  const env = [
    { key: '', value: 'ignored' },
    { key: 'A', value: '1' },
    { key: 'A', value: '2' },
  ];
  expect(containerBody({ ...NEW_CONTAINER, env }).env).toEqual({ A: '2' });
});
