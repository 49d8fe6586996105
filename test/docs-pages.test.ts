/** Rules that hold for every page of the documentation. */
import { readdirSync, readFileSync } from 'node:fs';
import { Marked, type Token, type Tokens } from 'marked';
import { expect, test } from 'vitest';
import { DOCS, type Page, plain, readPages } from '../scripts/docs/pages.ts';

/** A cell of a table is a phrase. What needs more is a sentence below it, or a list. */
const MAX_WORDS_IN_CELL = 25;
const pages = readPages();
const users = pages.filter(({ part }) => part === 'users');

function tablesOf(tokens: readonly Token[]): Tokens.Table[] {
  return tokens.flatMap((token) => {
    if (token.type === 'table') return [token as Tokens.Table];
    if (token.type === 'list') return tablesOf((token as Tokens.List).items);
    return 'tokens' in token && token.tokens ? tablesOf(token.tokens) : [];
  });
}

const longCellsOf = ({ file, markdown }: Page) =>
  tablesOf(new Marked().lexer(markdown))
    .flatMap(({ header, rows }) => [header, ...rows].flat())
    .map(({ text }) => plain(text))
    .filter((text) => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length > MAX_WORDS_IN_CELL)
    .map((text) => `${file}: ${text}`);

test('no cell of a table is longer than a phrase', () => {
  const shown = pages.filter(({ file }) => !file.startsWith('decisions/'));
  expect(shown.flatMap(longCellsOf)).toEqual([]);
});

test('no page for users names a test of the repository', () => {
  const named = users.flatMap(({ file, markdown }) =>
    [...markdown.matchAll(/[\w/.-]+\.test\.ts|`test\/[^`]*`/g)].map(([path]) => `${file}: ${path}`),
  );
  expect(named).toEqual([]);
});

/** Pages that compare, list or explain: there is nothing to run. */
const WITHOUT_EXAMPLE = ['comparison.md', 'errors.md', 'security.md', 'sizing.md'];

test('a page of the guide begins with an example', () => {
  const pages = readdirSync(`${DOCS}/guide`).filter((file) => file.endsWith('.md') && !WITHOUT_EXAMPLE.includes(file));
  const late = pages.filter((file) => {
    const beginning = readFileSync(`${DOCS}/guide/${file}`, 'utf8').split('\n').slice(0, 30);
    return !beginning.some((line) => /^(```| {4}\S)/.test(line));
  });
  expect(pages.length).toBeGreaterThan(30);
  expect(late).toEqual([]);
});

test('the list of decisions has each of them once', () => {
  const list = readFileSync(`${DOCS}/decisions/README.md`, 'utf8');
  const files = readdirSync(`${DOCS}/decisions`).filter((file) => /^\d{4}-/.test(file));
  const listed = [...list.matchAll(/^- \[.+?\]\((\d{4}-[\w-]+\.md)\)/gm)].map(([, file]) => file!);
  expect(files.filter((file) => !listed.includes(file))).toEqual([]);
  expect(listed.filter((file, i) => !files.includes(file) || listed.indexOf(file) !== i)).toEqual([]);
});

test('a decision that was replaced says so itself, and names the one that holds', () => {
  const list = readFileSync(`${DOCS}/decisions/README.md`, 'utf8');
  const replaced = [
    ...list.matchAll(/\((\d{4}-[\w-]+\.md)\)\. _Replaced(?: in part)? by \[\d+\]\((\d{4}-[\w-]+\.md)\)/g),
  ];
  expect(replaced.length).toBeGreaterThan(2);
  for (const [, file, by] of replaced) {
    const text = readFileSync(`${DOCS}/decisions/${file}`, 'utf8');
    expect([file, text.includes(`](${by})`), /Replaced/.test(text)]).toEqual([file, true, true]);
  }
});
