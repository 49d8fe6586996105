import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { MENU_GROUPS, menuOf, PAGES } from './pages.ts';
import { pageItems } from './palette/palette-pages.ts';

const FOLDER = fileURLToPath(new URL('../pages/', import.meta.url));
const SOURCES = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.tsx'))
  .map((file) => ({ file, text: readFileSync(join(FOLDER, file), 'utf8') }));

test('every page that is written has an address, except those that no menu leads to', () => {
  const written = SOURCES.flatMap(({ text }) => [...text.matchAll(/export function (\w+Page)\(/g)]).map(
    ([, name]) => name!,
  );
  expect([...PAGES.map(({ name }) => name), 'InvitationPage', 'OpenPodPage'].sort()).toEqual(written.sort());
});

test('the palette leads to every page without a parameter, by its name or as what it creates', () => {
  const reached = pageItems(true).map(({ to }) => to);
  const fixed = PAGES.map(({ path }) => path).filter((path) => !path.includes(':'));
  expect(fixed.filter((path) => !reached.includes(path))).toEqual([]);
});

test('every form that a page opens in a dialog is an action of the palette', () => {
  const forms = SOURCES.filter(({ text }) => hasOwnForm(text)).map(({ file }) => `/${dirname(file)}`);
  const files = SOURCES.filter(({ file, text }) => dirname(file) === '.' && hasOwnForm(text)).map(
    ({ file }) => `/${file.replace('.tsx', '')}`,
  );
  const wanted = new Set([...forms.filter((folder) => folder !== '/.'), ...files]);
  const offered = pageItems(true)
    .map(({ to }) => to!)
    .filter((to) => to.endsWith('?new'))
    .map((to) => to.replace('?new', ''));
  expect(offered.sort()).toEqual([...wanted].sort());
});

test('the menu has every page with a name, but those that the account switch and a command line lead to', () => {
  const shown = menuOf(true).flatMap(({ pages }) => pages.map(({ path }) => path));
  const named = PAGES.flatMap(({ label, path }) => (label === undefined ? [] : [path]));
  expect(named.filter((path) => !shown.includes(path))).toEqual(['/teams', '/login']);
  expect(menuOf(true).map(({ title }) => title)).toEqual(MENU_GROUPS);
});

test('only admins are shown what is for them', () => {
  const labels = (isAdmin: boolean) => pageItems(isAdmin).map(({ label }) => label);
  const hidden = labels(true).filter((label) => !labels(false).includes(label));
  expect(hidden.sort()).toEqual(['All endpoints', 'Create team…', 'Create user…', 'Users']);
});

/** True for a form that belongs to a page, not to a row of its list. */
function hasOwnForm(text: string): boolean {
  return [...text.matchAll(/<FormButton\b[\s\S]*?\n\s+onSubmit/g)].some(([tag]) => !/\bisInRow(\n|=|\s+\w)/.test(tag));
}
