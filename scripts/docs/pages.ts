/** The pages of the documentation: what is read from docs/, and in which part of the site it stands. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DOCS_SECTIONS } from '../docs-sections.ts';

export const DOCS = fileURLToPath(new URL('../../docs', import.meta.url));

/** In whose part of the site a page stands. Search has nothing of the contributors'. */
export type Part = 'users' | 'contributors' | 'reference';

export interface Page {
  /** Path below docs/, with its extension. Empty for a page that has no file. */
  file: string;
  /** URL path below /docs/; empty for the first page. */
  slug: string;
  part: Part;
  title: string;
  /** Its name in the menu, if that is not its title. */
  menuTitle?: string;
  /** Without what only the repository's readers need. Empty for a page that has no file. */
  markdown: string;
  headings: Heading[];
  html: string;
  sections: Section[];
}

export interface Heading {
  level: number;
  text: string;
  id: string;
}

/** A result of the search: a heading with the text below it. */
export interface Section {
  href: string;
  page: string;
  heading: string;
  text: string;
  /** Where its sentences begin: without code and tables. */
  prose: string;
  /** Words by which people look for it and which it does not have: `<!-- also: … -->` below its heading. */
  alsoCalled: string;
  /** Beside other sections with the same words: 1 in a guide. */
  worth: number;
}

const ALSO_CALLED = /^<!-- also: (.+) -->$/;
/** Where a rule is tested: for whoever changes it. The site shows it to nobody. */
const TESTS_OF_RULE = /^Tests: (?:.+\n)+/gm;
const CODE_BLOCK = /^```.*?^```/gms;

/** Guides before the rules of the interface, and these before lists. */
const WORTH: readonly [RegExp, number][] = [
  [/^guide\/index/, 0.2],
  [/^guide\//, 1],
  [/^operations/, 0.95],
  [/^interface\/(graphql|rest-v1|revision)/, 0.5],
  [/^interface\//, 0.75],
  [/./, 0.6],
];

/** Returns all pages that have a file, in the menu's order. Those that no section lists are the contributors'. */
export function readPages(): Page[] {
  const listed = DOCS_SECTIONS.flatMap(({ files }) => files);
  const others = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && !listed.includes(file))
    .sort();
  const unlisted = others.find((file) => /^(guide\/[^/]+|[^/]+)$/.test(file));
  if (unlisted) throw new Error(`docs/${unlisted} is not listed in scripts/docs-sections.ts`);
  const users = DOCS_SECTIONS.filter(({ isForContributors }) => !isForContributors).flatMap(({ files }) => files);
  return [...listed, ...others].map((file) => readPage(file, users.includes(file) ? 'users' : 'contributors'));
}

function readPage(file: string, part: Part): Page {
  const markdown = readFileSync(join(DOCS, file), 'utf8').replaceAll('\r\n', '\n').replace(TESTS_OF_RULE, '');
  const headings = headingsOf(markdown);
  const title = headings.find(({ level }) => level === 1)?.text;
  if (!title) throw new Error(`docs/${file} has no title`);
  const page = { file, slug: slugOf(file), part, title, markdown, headings, html: '' };
  return { ...page, sections: sectionsOf(page) };
}

/** Returns the URL path of a file's page. A server sends who asks for the file there (src/rest/pages/docs-files.ts). */
function slugOf(file: string): string {
  const name = file.replace(/\.md$/, '').replace(/^guide\//, '');
  if (name === 'index') return '';
  return (dirname(name) !== '.' ? name.replace(/\/README$/, '') : name).replaceAll('/', '-');
}

function headingsOf(markdown: string): Heading[] {
  const headings: Heading[] = [];
  for (const [, hashes, raw] of markdown.replace(CODE_BLOCK, '').matchAll(/^(#{1,3}) (.+)$/gm)) {
    const text = plain(raw!);
    headings.push({ level: hashes!.length, text, id: idOf(text, headings) });
  }
  return headings;
}

/** The same ids as common markdown viewers give headings, so that links work there too. */
export function idOf(text: string, before: readonly Heading[]): string {
  const id = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
  const same = before.filter((heading) => heading.text.toLowerCase() === text.toLowerCase()).length;
  return same === 0 ? id : `${id}-${same}`;
}

/** Returns markdown's text as it is read. */
export function plain(markdown: string): string {
  return markdown.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*|]/g, '');
}

function sectionsOf({ file, slug, title, markdown, headings }: Omit<Page, 'sections'>): Section[] {
  const worth = WORTH.find(([files]) => files.test(file))![1];
  const sections: Section[] = [];
  const remaining = [...headings];
  let isCode = false;
  for (const line of markdown.split('\n')) {
    if (line.startsWith('```')) {
      isCode = !isCode;
    } else if (!isCode && /^#{1,3} /.test(line)) {
      const { level, text, id } = remaining.shift()!;
      const href = level === 1 ? `./${slug}` : `./${slug}#${id}`;
      sections.push({
        href,
        page: title,
        heading: level === 1 ? '' : text,
        text: '',
        prose: '',
        alsoCalled: '',
        worth,
      });
    } else {
      const words = ALSO_CALLED.exec(line)?.[1];
      if (words) sections.at(-1)!.alsoCalled = words;
      else if (!/^\|[ :|-]+\|$/.test(line)) {
        sections.at(-1)!.text += `${plain(line).trim()} `;
        if (!isCode && !/^(\|| {4}|!\[)/.test(line)) sections.at(-1)!.prose += `${plain(line).trim()} `;
      }
    }
  }
  return sections;
}
