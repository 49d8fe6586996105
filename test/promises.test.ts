import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const DOCS = join(import.meta.dirname, '../docs');
const ROW = /^\| \[[^\]]+\]\(([^)]+)\)\s*\| (.+?)\s*\| \[[^\]]+\]\(([^)]+)\)\s*\|$/;
/** The same words, however a page breaks its lines. */
const words = (text: string) => text.replace(/\s+/g, ' ');

test('every promise stands on its page, and the test that shows it exists', async () => {
  const table = (await readFile(join(DOCS, 'promises.md'), 'utf8'))
    .split('\n')
    .filter((line) => line.startsWith('| ['));
  expect(table.length).toBeGreaterThan(30);
  for (const line of table) {
    const [, page, promise, shownBy] = ROW.exec(line) ?? [];
    expect(words(await readFile(join(DOCS, page ?? line), 'utf8')), page).toContain(promise);
    expect(existsSync(join(DOCS, shownBy!)), shownBy).toBe(true);
  }
});
