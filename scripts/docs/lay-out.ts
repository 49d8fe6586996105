/** The frame around a page: its head, the bar at the top, the menu and the way onward. */
import { DOCS_SECTIONS } from '../docs-sections.ts';
import { escapeHtml } from './html.ts';
import type { Page } from './pages.ts';
import { referenceMenuOf } from './reference.ts';

/** Assets by what they do, with their URL paths. */
export interface SharedAssets {
  style: string;
  script: string;
  search: string;
  index: string;
  reference: string;
}

/** Returns the HTML of a page. */
export function layOut(page: Page, pages: readonly Page[], assets: SharedAssets): string {
  const title = page.slug === '' ? 'Podyard' : `${page.title} · Podyard`;
  const isReference = page.part === 'reference';
  const script = isReference ? `\n<script src="${assets.reference}" type="module"></script>` : '';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${assets.style}">
<script src="${assets.script}"></script>${script}
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header>
<button type="button" class="menu-button" aria-expanded="false">Menu</button>
<a class="name" href="./">Podyard</a>
<div class="search needs-script" role="search"><input type="search" placeholder="Search ( / )" aria-label="Search the documentation" data-search="${assets.search}" data-index="${assets.index}"><ul aria-live="polite" aria-label="Results"></ul></div>
<div class="places"><a href="../">Console</a><a href="./"${isReference ? '' : ' aria-current="true"'}>Guide</a><a href="api"${isReference ? ' aria-current="true"' : ''}>API reference</a></div>
<button type="button" class="theme needs-script" aria-label="Light or dark">◐</button>
</header>
<div class="frame">
<nav class="pages" aria-label="Pages">
${menuOf(page, pages)}
</nav>
<main id="content" tabindex="-1">
${page.html}
${onwardOf(page, pages)}
</main>
</div>
</body>
</html>
`;
}

/** Links to the pages before and after, in the menu's order. */
function onwardOf(page: Page, pages: readonly Page[]): string {
  const others = pages.filter(({ part, file }) => part === 'users' && file !== '');
  const at = others.indexOf(page);
  const [before, after] = at < 0 ? [] : [others[at - 1], others[at + 1]];
  const onward = [
    before && `<a rel="prev" href="./${before.slug}">← ${escapeHtml(before.title)}</a>`,
    after && `<a rel="next" href="./${after.slug}">${escapeHtml(after.title)} →</a>`,
  ].filter(Boolean);
  return onward.length === 0 ? '' : `<div class="onward">${onward.join('')}</div>`;
}

function menuOf(current: Page, pages: readonly Page[]): string {
  const listOf = (some: readonly Page[]) => `<ul>${some.map((page) => itemOf(page, page === current)).join('\n')}</ul>`;
  if (current.part === 'reference') {
    return referenceMenuOf(current, pages)
      .map(({ title, pages: own }) => `<h2>${title}</h2>${listOf(own)}`)
      .join('\n');
  }
  const sections = DOCS_SECTIONS.map(({ title, files, isForContributors }) => {
    const own = files.map((file) => pages.find((page) => page.file === file)!);
    if (!isForContributors) return `<h2>${title}</h2>${listOf(own)}`;
    const isOpen = current.part === 'contributors' ? ' open' : '';
    // Decisions and checklists have lists of their own; the menu has the one that is shown.
    const shown = current.part === 'contributors' && !own.includes(current) ? [...own, current] : own;
    return `<details${isOpen}><summary>${title}</summary>${listOf(shown)}</details>`;
  });
  return sections.join('\n');
}

function itemOf(page: Page, isCurrent: boolean): string {
  const parts = isCurrent ? page.headings.filter(({ level }) => level === 2) : [];
  const inner = parts.map(({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`).join('');
  const below = parts.length > 0 ? `<ul>${inner}</ul>` : '';
  const mark = isCurrent ? ' aria-current="page"' : '';
  return `<li><a href="./${page.slug}"${mark}>${escapeHtml(page.menuTitle ?? page.title)}</a>${below}</li>`;
}
