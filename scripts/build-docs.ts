/**
 * Builds the documentation site from docs/**.md into dist/docs. Pages have no inline scripts or styles and load nothing from
 * other hosts. Fails on a link to a missing page, heading or picture. scripts/build-stale.sh calls it when a source has changed.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { DOCS_SECTIONS } from './docs-sections.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DOCS = join(ROOT, 'docs');
const OUT = join(ROOT, 'dist/docs');
/** Built here, then renamed to OUT: concurrent readers and builds never see half a site. */
const BUILDING = join(ROOT, `dist/docs.${process.pid}`);

/** Longer code may be broken behind its punctuation, so that a table with it fits the page. */
const SHORT_CODE = 30;

const { Marked } = await import('marked');
await build().finally(() => rm(BUILDING, { recursive: true, force: true }));

interface Page {
  /** Path below docs/, with its extension. */
  file: string;
  /** URL path below /docs/; empty for the first page. */
  slug: string;
  title: string;
  markdown: string;
  headings: Heading[];
  html: string;
}

interface Heading {
  level: number;
  text: string;
  id: string;
}

interface Section {
  href: string;
  page: string;
  heading: string;
  text: string;
}

async function build(): Promise<void> {
  await mkdir(join(BUILDING, 'assets'), { recursive: true });
  const pages = readPages();
  const assets = new Map<string, string>();
  const assetOf = (file: string): string => {
    const known = assets.get(file) ?? nameOfAsset(file, readFileSync(file));
    assets.set(file, known);
    return `assets/${known}`;
  };
  for (const page of pages) page.html = render(page, pages, assetOf);
  const index = Buffer.from(JSON.stringify(pages.flatMap(sectionsOf)));
  const indexName = nameOfAsset('search.json', index);
  const shared = { style: assetOf(join(DOCS, 'site/site.css')), script: assetOf(join(DOCS, 'site/site.js')) };
  await writeAsset(indexName, index);
  await writeAsset('podyard-yaml.json', readFileSync(join(DOCS, '../api/podyard-yaml.json')));
  for (const [file, name] of assets) await writeAsset(name, readFileSync(file));
  for (const page of pages) {
    const html = layOut(page, pages, { ...shared, index: `assets/${indexName}` });
    await writeFile(join(BUILDING, `${page.slug || 'index'}.html`), html);
  }
  await rm(OUT, { recursive: true, force: true });
  await rename(BUILDING, OUT);
  console.log(`setup: built ${pages.length} pages of documentation`);
}

function nameOfAsset(file: string, body: Buffer): string {
  const hash = createHash('sha256').update(body).digest('base64url').slice(0, 10);
  return `${basename(file, extname(file))}-${hash}${extname(file)}`;
}

async function writeAsset(name: string, body: Buffer): Promise<void> {
  const file = join(BUILDING, 'assets', name);
  await writeFile(file, body);
  if (name.endsWith('.webp')) return; // compressed already
  await writeFile(`${file}.br`, brotliCompressSync(body));
  await writeFile(`${file}.gz`, gzipSync(body));
}

/** Returns all pages in the menu's order; decisions and checklists come last. */
function readPages(): Page[] {
  const listed = DOCS_SECTIONS.flatMap(({ files }) => files);
  const others = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && !listed.includes(file))
    .sort();
  const unlisted = others.find((file) => dirname(file) === 'guide' || dirname(file) === '.');
  if (unlisted) throw new Error(`docs/${unlisted} is not listed in scripts/docs-sections.ts`);
  const pages = [...listed, ...others].map(readPage);
  const twice = pages.find(({ slug }, i) => pages.findIndex((other) => other.slug === slug) !== i);
  if (twice) throw new Error(`two pages have the URL path ${twice.slug}`);
  return pages;
}

function readPage(file: string): Page {
  const markdown = readFileSync(join(DOCS, file), 'utf8').replaceAll('\r\n', '\n');
  const headings: Heading[] = [];
  for (const [, hashes, raw] of markdown.replace(/^```.*?^```/gms, '').matchAll(/^(#{1,3}) (.+)$/gm)) {
    const text = plain(raw!);
    headings.push({ level: hashes!.length, text, id: idOf(text, headings) });
  }
  const title = headings.find(({ level }) => level === 1)?.text;
  if (!title) throw new Error(`docs/${file} has no title`);
  const name = file.replace(/\.md$/, '').replace(/^guide\//, '');
  const slug = name === 'index' ? '' : name.replaceAll('/', '-');
  return { file, slug, title, markdown, headings, html: '' };
}

/** The same ids as common markdown viewers give headings, so that links work there too. */
function idOf(text: string, before: readonly Heading[]): string {
  const id = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
  const same = before.filter((heading) => heading.text.toLowerCase() === text.toLowerCase()).length;
  return same === 0 ? id : `${id}-${same}`;
}

function plain(markdown: string): string {
  return markdown.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1').replace(/[`*]/g, '');
}

function render(page: Page, pages: readonly Page[], assetOf: (file: string) => string): string {
  const remaining = [...page.headings];
  const marked = new Marked<string, string>({
    renderer: {
      heading({ tokens, depth }) {
        const inner = this.parser.parseInline(tokens);
        if (depth > 3) return `<h${depth}>${inner}</h${depth}>\n`;
        const { id, text } = remaining.shift()!;
        if (depth === 1) return `<h1 id="${id}">${inner}</h1>\n`;
        const label = escapeHtml(`Link to “${text}”`);
        return `<h${depth} id="${id}">${inner}<a class="anchor" href="#${id}" aria-label="${label}">#</a></h${depth}>\n`;
      },
      code({ text, lang }) {
        const file = /\bfile=(\S+)/.exec(lang ?? '')?.[1];
        const caption = file ? `<figcaption>${escapeHtml(file)}</figcaption>` : '';
        const body = /^sh\b/.test(lang ?? '') ? markComments(text) : escapeHtml(text);
        const kind = /\boutput$/.test(lang ?? '') ? 'code output' : 'code';
        return `<figure class="${kind}">${caption}<pre tabindex="0"><code>${body}\n</code></pre></figure>\n`;
      },
      table({ header, rows }) {
        const inlineOf = ({ tokens }: (typeof header)[number]) => this.parser.parseInline(tokens);
        const titles = header.map((cell) => `<th>${inlineOf(cell)}</th>`).join('');
        // Narrow windows show each cell beside its column's title.
        const titleOf = (column: number) => escapeHtml(plain(header[column]!.text));
        const cellsOf = (row: typeof header) =>
          row.map((cell, column) => `<td data-title="${titleOf(column)}">${inlineOf(cell)}</td>`).join('');
        const body = rows.map((row) => `<tr>${cellsOf(row)}</tr>`).join('\n');
        const kind = header.length > 2 ? ' class="wide"' : '';
        return `<div class="table" tabindex="0"><table${kind}><thead><tr>${titles}</tr></thead><tbody>${body}</tbody></table></div>\n`;
      },
      codespan({ text }) {
        if (text.length <= SHORT_CODE) return `<code>${escapeHtml(text)}</code>`;
        return `<code class="long">${text
          .split(/(?<=[/=_,])/)
          .map(escapeHtml)
          .join('<wbr>')}</code>`;
      },
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens);
        const address = addressOf(href, page, pages);
        return address === null ? inner : `<a href="${escapeHtml(address)}">${inner}</a>`;
      },
      image({ href, text }) {
        const pictureOf = (file: string, kind: string) => {
          const address = assetOf(join(DOCS, dirname(page.file), file));
          return `<img${kind} src="${address}" alt="${escapeHtml(text)}" loading="lazy">`;
        };
        if (!href.endsWith('-light.webp')) return pictureOf(href, '');
        const dark = href.replace('-light.', '-dark.');
        return pictureOf(href, ' class="shown-light"') + pictureOf(dark, ' class="shown-dark"');
      },
    },
  });
  return marked.parse(page.markdown, { async: false });
}

function markComments(text: string): string {
  return escapeHtml(text).replace(/(^|\s)(#\s.*)$/gm, '$1<span class="comment">$2</span>');
}

/**
 * Returns a link's URL in the site. `http://127.0.0.1:8080` becomes the server that shows the page; other absolute URLs stay.
 * Null for files of the repository that are not pages.
 */
function addressOf(href: string, page: Page, pages: readonly Page[]): string | null {
  if (href.startsWith('http://127.0.0.1:8080/')) return href.replace('http://127.0.0.1:8080/', '../');
  if (/^[a-z]+:/.test(href)) return href;
  const [path = '', anchor] = href.split('#');
  const file = path === '' ? page.file : relative('.', join(dirname(page.file), path));
  const target = pages.find((other) => other.file === file);
  if (!target) {
    if (statSync(join(DOCS, file), { throwIfNoEntry: false })) return null;
    throw new Error(`docs/${page.file} links to ${href}, which does not exist`);
  }
  if (anchor !== undefined && !target.headings.some(({ id }) => id === anchor)) {
    throw new Error(`docs/${page.file} links to ${href}, which has no such heading`);
  }
  if (path === '') return `#${anchor}`;
  return `./${target.slug}${anchor === undefined ? '' : `#${anchor}`}`;
}

function sectionsOf(page: Page): Section[] {
  const sections: Section[] = [];
  const remaining = [...page.headings];
  let isCode = false;
  for (const line of page.markdown.split('\n')) {
    if (line.startsWith('```')) isCode = !isCode;
    if (!isCode && /^#{1,3} /.test(line)) {
      const { level, text, id } = remaining.shift()!;
      const href = level === 1 ? `./${page.slug}` : `./${page.slug}#${id}`;
      sections.push({ href, page: page.title, heading: level === 1 ? '' : text, text: '' });
    } else sections.at(-1)!.text += `${plain(line)} `;
  }
  return sections;
}

function layOut(page: Page, pages: readonly Page[], assets: { style: string; script: string; index: string }): string {
  const title = page.slug === '' ? 'Podyard' : `${page.title} · Podyard`;
  const main = pages.filter(({ file }) => DOCS_SECTIONS.some(({ files }) => files.includes(file)));
  const at = main.indexOf(page);
  const [before, after] = at < 0 ? [] : [main[at - 1], main[at + 1]];
  const onward = [
    before && `<a rel="prev" href="./${before.slug}">← ${escapeHtml(before.title)}</a>`,
    after && `<a rel="next" href="./${after.slug}">${escapeHtml(after.title)} →</a>`,
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${assets.style}">
<script src="${assets.script}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header>
<button type="button" class="menu-button" aria-expanded="false">Menu</button>
<a class="name" href="./">Podyard</a>
<div class="search needs-script" role="search"><input type="search" placeholder="Search ( / )" aria-label="Search the documentation" data-index="${assets.index}"><ul aria-live="polite" aria-label="Results"></ul></div>
<div class="places"><a href="../">Console</a><a href="api">API reference</a></div>
<button type="button" class="theme needs-script" aria-label="Light or dark">◐</button>
</header>
<div class="frame">
<nav class="pages" aria-label="Pages">
${menuOf(page, pages)}
</nav>
<main id="content" tabindex="-1">
${page.html}
<div class="onward">${onward.filter(Boolean).join('')}</div>
</main>
</div>
</body>
</html>
`;
}

function menuOf(current: Page, pages: readonly Page[]): string {
  const itemOf = (page: Page): string => {
    const isCurrent = page === current;
    const parts = page.headings.filter(({ level }) => level === 2);
    const inner = parts.map(({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`).join('');
    const below = isCurrent && parts.length > 0 ? `<ul>${inner}</ul>` : '';
    const mark = isCurrent ? ' aria-current="page"' : '';
    return `<li><a href="./${page.slug}"${mark}>${escapeHtml(page.title)}</a>${below}</li>`;
  };
  const listOf = (some: readonly Page[]) => `<ul>${some.map(itemOf).join('\n')}</ul>`;
  const sections = DOCS_SECTIONS.map(({ title, files }) => {
    const own = files.map((file) => pages.find((page) => page.file === file)!);
    return `<h2>${title}</h2>${listOf(own)}`;
  });
  const others = pages.filter(({ file }) => !DOCS_SECTIONS.some(({ files }) => files.includes(file)));
  const isOpen = others.includes(current) ? ' open' : '';
  return `${sections.join('\n')}\n<details${isOpen}><summary>For contributors</summary>${listOf(others)}</details>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${char.codePointAt(0)};`);
}
