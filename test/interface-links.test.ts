/** The rules in docs/interface and the tests that prove them name each other, and everything they name exists. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const ROOT = new URL('..', import.meta.url).pathname;
const PAGES = [
  'rest.md',
  'revision-2026-08.md',
  'rest-v1.md',
  'graphql.md',
  'queue.md',
  'batches.md',
  'teams.md',
  'terminals.md',
  'notices.md',
  'audit.md',
  'sessions.md',
  's3.md',
  'worker-api.md',
  'builds.md',
  'logs.md',
  'models.md',
];
/** The path of a page, followed by any number of quoted headings. */
const CITATION = /docs\/interface\/([\w-]+\.md)((?:(?:,| and)+ "[^"]+")*)/g;
/** Names of descriptions that were never in the repository. */
const OUTSIDE = /(?<![\w/-])(?:contract|data-plane)\.md|(?<![\w/.-])(?:rest|graphql)\.md(?:,? section|, ")/;

const exists = (file: string): boolean => existsSync(`${ROOT}${file}`);
const read = (file: string): string => readFileSync(`${ROOT}${file}`, 'utf8');
/** Joins comment lines, because a citation may continue on the next one. */
const unwrap = (text: string): string => text.replace(/\s*\n\s*(?:\*|\/\/|#)?\s*/g, ' ');

interface Section {
  heading: string;
  tests: string[];
}

function readSections(page: string): Section[] {
  const [, ...texts] = read(`docs/interface/${page}`).split(/^## /m);
  return texts.map((text) => ({
    heading: text.slice(0, text.indexOf('\n')),
    tests: [...(/^Tests: .*/ms.exec(text)?.[0] ?? '').matchAll(/`([^`]+\.test\.ts)`/g)].map(([, file]) => file!),
  }));
}
const sections = new Map(PAGES.map((page) => [page, readSections(page)]));
const findSection = (page: string, heading: string) =>
  sections.get(page)?.find((section) => section.heading === heading);

function listFiles(...paths: string[]): string[] {
  const files = execFileSync('git', ['ls-files', '--', ...paths], { cwd: ROOT, encoding: 'utf8' }).split('\n');
  return files.filter((file) => /\.(tsx?|m?js|py|md|sh|sql|ya?ml)$/.test(file) && exists(file));
}
const sources = listFiles('src', 'test', 'console', 'workers', 'bench', 'scripts', 'deploy', '*.md').filter(
  (file) => file !== 'test/interface-links.test.ts',
);

interface Citation {
  page: string;
  headings: string[];
}

function listCitations(text: string): Citation[] {
  return [...unwrap(text).matchAll(CITATION)].map(([, page, list]) => ({
    page: page!,
    headings: [...list!.matchAll(/"([^"]+)"/g)].map(([, heading]) => heading!),
  }));
}

/** Returns the blocks of a test file without a section in the comment above them or in that of the file. */
function listUncited(text: string): string[] {
  const citesSection = (comment: string | undefined) =>
    comment !== undefined && listCitations(comment).some(({ headings }) => headings.length > 0);
  const ofFile = [...text.matchAll(/^\/\*\*(?:(?!\*\/).)*\*\/(?=\n(?!describe|test))/gms)].map(([comment]) => comment);
  if (ofFile.some(citesSection)) return [];
  const pieces = text.split(/^(?=(?:describe|test)\b)/m);
  return pieces.slice(1).flatMap((block, i) => {
    const above = /\/\*\*(?:(?!\*\/).)*\*\/\n$/s.exec(pieces[i]!)?.[0];
    return citesSection(above) ? [] : [block.slice(0, block.indexOf('\n'))];
  });
}

test('every citation of docs/interface names a page and headings that exist', () => {
  const broken = sources.flatMap((file) =>
    listCitations(read(file)).flatMap(({ page, headings }) => [
      ...(exists(`docs/interface/${page}`) ? [] : [`${file}: ${page}`]),
      ...headings.filter((heading) => !findSection(page, heading)).map((heading) => `${file}: ${page}, "${heading}"`),
    ]),
  );
  expect(broken).toEqual([]);
});

test.each(PAGES)('every section of %s names tests that exist', (page) => {
  const broken = sections.get(page)!.flatMap(({ heading, tests }) => {
    if (tests.length === 0) return [`"${heading}" names no test`];
    return tests.filter((file) => !exists(file)).map((file) => `"${heading}": ${file}`);
  });
  expect(broken).toEqual([]);
});

test('every conformance test names the sections that it proves, and each of these names it', () => {
  const files = sources.filter((file) => /^test\/conformance\/.*\.test\.ts$/.test(file));
  const broken = files.flatMap((file) => {
    const text = read(file);
    const proven = listCitations(text).flatMap(({ page, headings }) => headings.map((heading) => ({ page, heading })));
    const unnamed = proven.filter(({ page, heading }) => !findSection(page, heading)?.tests.includes(file));
    return [
      ...listUncited(text).map((block) => `${file} names no section for ${block}`),
      ...unnamed.map(({ page, heading }) => `${page}, "${heading}" does not name ${file}`),
    ];
  });
  expect(broken).toEqual([]);
});

test('nothing refers to a description of the interface outside the repository', () => {
  expect(sources.filter((file) => OUTSIDE.test(unwrap(read(file))))).toEqual([]);
});
