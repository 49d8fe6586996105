import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { ENTRIES } from './entries.ts';
import { insertResults, renderResults } from './insert-results.ts';

const README = new URL('../README.md', import.meta.url);
const RESULTS = {
  date: '2026-11-23',
  commit: 'abc1234',
  command: 'npm run bench -- api',
  output: 'one\n\n.cache/bench/api.json\n',
};

test('a block is replaced whole, and nothing else of the page', () => {
  const page = 'a\n\n<!-- results: x -->\n\nold\n\n<!-- end -->\n\nb\n\n<!-- results: y -->\n\n<!-- end -->\n';
  const text = renderResults(RESULTS);
  expect(text).toBe('2026-11-23, commit abc1234, `npm run bench -- api`:\n\n```\none\n```');
  const once = insertResults(page, 'x', text);
  expect(once).toBe(page.replace('old', text));
  expect(insertResults(once, 'x', text)).toBe(once);
  expect(() => insertResults(page, 'z', text)).toThrow('<!-- results: z -->');
});

test('bench/README.md has a block for each table', async () => {
  const page = await readFile(README, 'utf8');
  for (const { name } of ENTRIES)
    expect(insertResults(page, name, 'new')).toContain(`<!-- results: ${name} -->\n\nnew\n`);
  expect(page.match(/<!-- results: /g)).toHaveLength(ENTRIES.length);
});

test.each(ENTRIES)('the page describes the options of $name', async ({ args: [bench = ''], quick }) => {
  const page = (await readFile(README, 'utf8')).replaceAll(/<!-- results: .*?<!-- end -->/gs, '');
  const section = page.split(/^## /m).find((text) => text.startsWith(`${bench}\n`));
  for (const option of quick.filter((arg) => arg.startsWith('--'))) expect(section).toContain(option);
});
