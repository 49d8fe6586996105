import { expect, test } from 'vitest';
import { noSuchItem } from './no-such-item.ts';

test.each([
  ['GPU pool', 'ADA24', "there is no GPU pool 'ADA24'. Did you mean 'ADA_24'?"],
  ['GPU pool', 'ada_24', "there is no GPU pool 'ada_24'. Did you mean 'ADA_24'?"],
  ['GPU pool', 'NVIDIA L4', "there is no GPU pool 'NVIDIA L4'. It is a GPU type of the pool 'AMPERE_24'"],
  ['GPU pool', 'NOPE', "there is no GPU pool 'NOPE'"],
  [
    'GPU type',
    'NVIDIA GeForce RTX 409',
    "there is no GPU type 'NVIDIA GeForce RTX 409'. Did you mean 'NVIDIA GeForce RTX 4090'?",
  ],
  ['GPU type', 'rtx 4090', "there is no GPU type 'rtx 4090'. Did you mean 'NVIDIA GeForce RTX 4090'?"],
  ['GPU type', 'ADA_24', "there is no GPU type 'ADA_24'. It is a GPU pool, with the types 'NVIDIA GeForce RTX 4090'"],
  ['GPU type', 'NVIDIA GeForce RTX 7777', "there is no GPU type 'NVIDIA GeForce RTX 7777'"],
  ['GPU type', 'X', "there is no GPU type 'X'"],
  ['GPU type', '', "there is no GPU type ''"],
  ['CPU flavor', 'cpu3cc', "there is no CPU flavor 'cpu3cc'. Did you mean 'cpu3c'?"],
  ['data center', 'LOCAL1', "there is no data center 'LOCAL1'. Did you mean 'LOCAL-1'?"],
  ['data center', 'MOON-1', "there is no data center 'MOON-1'"],
] as const)('a %s that is not in the catalog is refused with what was probably meant: %s', (thing, name, text) => {
  expect(noSuchItem(thing, name)).toBe(text);
});

test('several types that fit are all named', () => {
  expect(noSuchItem('GPU type', 'H100')).toMatch(/\. Did you mean 'NVIDIA H100 [^']+' or 'NVIDIA H100 [^']+'/);
});
