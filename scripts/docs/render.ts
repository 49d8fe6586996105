/** Renders the markdown of a page. Fails on a link to a missing page, heading or picture. */
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Marked } from 'marked';
import { escapeHtml } from './html.ts';
import { DOCS, type Page, plain } from './pages.ts';

/** Longer code may be broken behind its punctuation, so that a table with it fits the page. */
const SHORT_CODE = 30;

/** Takes a file into the site, and returns its URL path. */
export interface SiteFiles {
  picture: (file: string) => string;
  /** For readers to copy, under its own name. */
  download: (file: string) => string;
}

/** Files of the repository that readers get with the site: they may have installed a package. */
const DOWNLOADS = /^\.\.\/(?:deploy|api)\//;

/** Returns the HTML of a page's text. */
export function render(page: Page, pages: readonly Page[], files: SiteFiles): string {
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
        const titles = header.map((cell) => (cell.text === '' ? '<td></td>' : `<th>${inlineOf(cell)}</th>`)).join('');
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
        const address = addressOf(href, page, pages, files);
        return address === null ? inner : `<a href="${escapeHtml(address)}">${inner}</a>`;
      },
      image({ href, text }) {
        const pictureOf = (file: string, kind: string) => {
          const address = files.picture(join(DOCS, dirname(page.file), file));
          return `<img${kind} src="${address}" alt="${escapeHtml(text)}" loading="lazy">`;
        };
        if (!href.endsWith('-light.webp')) return pictureOf(href, '');
        const dark = href.replace('-light.', '-dark.');
        return pictureOf(href, ' class="shown-light"') + pictureOf(dark, ' class="shown-dark"');
      },
      checkbox() {
        return '<span aria-hidden="true">☐ </span>'; // an input that nobody can use needs a label
      },
      html({ text }) {
        return /^<!--.*-->\s*$/s.test(text) ? '' : text;
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
 * A file to copy is taken into the site. Null for other files of the repository that are not pages.
 */
function addressOf(href: string, page: Page, pages: readonly Page[], files: SiteFiles): string | null {
  if (href.startsWith('http://127.0.0.1:8080/docs/')) return href.replace('http://127.0.0.1:8080/docs/', './');
  if (href.startsWith('http://127.0.0.1:8080/')) return href.replace('http://127.0.0.1:8080/', '../');
  if (/^[a-z]+:/.test(href)) return href;
  const [path = '', anchor] = href.split('#');
  const file = path === '' ? page.file : join(dirname(page.file), path).replace(/\/$/, '');
  const target = pages.find((other) => other.file === file);
  if (!target) {
    const listed = pages.find((other) => other.file === `${file}/README.md`);
    if (listed) return `./${listed.slug}`;
    const found = statSync(join(DOCS, file), { throwIfNoEntry: false });
    if (found?.isFile() && DOWNLOADS.test(file)) return files.download(join(DOCS, file));
    if (found) return null;
    throw new Error(`docs/${page.file} links to ${href}, which does not exist`);
  }
  if (anchor !== undefined && !target.headings.some(({ id }) => id === anchor)) {
    throw new Error(`docs/${page.file} links to ${href}, which has no such heading`);
  }
  if (path === '') return `#${anchor}`;
  return `./${target.slug}${anchor === undefined ? '' : `#${anchor}`}`;
}
