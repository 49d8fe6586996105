import { expect, test } from 'vitest';
import { type PaletteItem, paletteItem, searchPalette } from './palette-items.ts';

const ITEMS: PaletteItem[] = [
  paletteItem('Page', 'Logs and traces', { to: '/logs' }),
  paletteItem('Action', 'Sign out', { run: () => {}, keywords: 'log off' }),
  paletteItem('Endpoint', 'my-sdxl', { to: '/endpoints/aaa', id: 'aaa', detail: 'stability/sdxl:1' }),
  paletteItem('Endpoint', 'sdxl-turbo', { to: '/endpoints/bbb', id: 'bbb', detail: 'stability/turbo:1' }),
  paletteItem('Endpoint', 'SDXL', { to: '/endpoints/ccc', id: 'ccc' }),
  paletteItem('Pod', 'notebook', { to: '/pods/ddd', id: 'ddd', detail: 'sdxl:dev' }),
];
const followUps = {
  Endpoint: ({ to }: PaletteItem) => [
    { label: 'Logs', to: `${to}/logs` },
    { label: 'Roll back…', to: `${to}/releases` },
  ],
};
const labels = (query: string) => searchPalette(ITEMS, query, followUps).map(({ label }) => label);

test('the whole name comes first, then its beginning, then a word of it, then the rest', () => {
  expect(labels('sdxl')).toEqual(['SDXL', 'sdxl-turbo', 'my-sdxl', 'notebook']);
});

test('an id finds its record', () => {
  expect(labels('bbb')).toEqual(['sdxl-turbo']);
});

test('all words must occur, in any order and place', () => {
  expect(labels('turbo endpoint')).toEqual(['sdxl-turbo']);
  expect(labels('turbo pod')).toEqual([]);
  expect(labels('log off')).toEqual(['Sign out']);
});

test('a name and the beginning of a section lead to it', () => {
  const [best] = searchPalette(ITEMS, 'turbo lo', followUps);
  expect(best).toMatchObject({ label: 'sdxl-turbo › Logs', to: '/endpoints/bbb/logs' });
  expect(labels('notebook logs')).toEqual([]); // pods have none here
});

test('what is done with a record may come first, and have several words', () => {
  expect(labels('logs turbo')).toEqual(['sdxl-turbo › Logs']);
  expect(labels('roll back turbo')).toEqual(['sdxl-turbo › Roll back…']);
  expect(labels('turbo roll b')).toEqual(['sdxl-turbo › Roll back…']);
});

test('a name of 190 characters is found by its end', () => {
  const long = paletteItem('Secret', `${'a'.repeat(180)} the-end 🌊`, { id: 'eee', to: '/secrets' });
  expect(searchPalette([...ITEMS, long], 'the-end 🌊')).toEqual([long]);
});

test('without a query, everything is offered in its order', () => {
  expect(labels('  ')).toEqual(ITEMS.map(({ label }) => label));
});

test('at most fifty of ten thousand are shown, the best first', () => {
  const many = Array.from({ length: 10_000 }, (_, n) =>
    paletteItem('Endpoint', `endpoint-${n}`, {
      to: `/endpoints/${n}`,
      id: `id${n}x`,
      detail: 'registry/org/image:tag',
    }),
  );
  expect(searchPalette(many, 'endpoint image', followUps)).toHaveLength(50);
  const [best] = searchPalette(many, 'endpoint-9999');
  expect(best!.label).toBe('endpoint-9999');
});
