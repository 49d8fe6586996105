import { expect, test } from 'vitest';
import type { Schemas } from '../../api/client.ts';
import { recordOptions, volumeOptions } from './select-options.ts';

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
