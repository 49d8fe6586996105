import { expect, test } from 'vitest';
import { firstLoadScripts } from '../first-load.ts';

const MANIFEST = {
  'index.html': { file: 'main.js', imports: ['_react'] },
  'overview.tsx': { file: 'overview.js', imports: ['_table', '_react'] },
  _table: { file: 'table.js', imports: ['_react', '_icons'] },
  _icons: { file: 'icons.js', imports: ['_table'] },
  _react: { file: 'react.js' },
  'billing.tsx': { file: 'billing.js', imports: ['_charts'] },
  _charts: { file: 'charts.js' },
};

test('the first load is the entry, the overview and all that they import, however deep', () => {
  expect([...firstLoadScripts(MANIFEST, ['index.html', 'overview.tsx'])].sort()).toEqual([
    'icons.js',
    'main.js',
    'overview.js',
    'react.js',
    'table.js',
  ]);
});

test('a module that the build does not have is an error, not a smaller first load', () => {
  expect(() => firstLoadScripts(MANIFEST, ['overwiev.tsx'])).toThrow('the build has no overwiev.tsx');
});
