import type { Page } from './pages.ts';

/** Where a server finds the page for addresses that lead nowhere (src/rest/pages/docs-files.ts). */
const SLUG = '404';

/** Returns the page for wrong addresses. The script fills the list with the pages that the words of the address find. */
export function notFoundPage(): Page {
  const html = `<h1>This page does not exist</h1>
<p>The address may have changed, or have a typing error.</p>
<div class="nearest needs-script"><h2>The nearest pages</h2><ul aria-live="polite"></ul></div>
<h2>Where to begin</h2>
<ul>
<li><a href="./start">Start in five minutes</a></li>
<li><a href="./install">Install</a></li>
<li><a href="./troubleshooting">Troubleshooting</a></li>
<li><a href="./api">API reference</a></li>
<li><a href="./">All pages</a></li>
</ul>`;
  const empty = { file: '', markdown: '', headings: [], sections: [] };
  return { ...empty, slug: SLUG, part: 'users', title: 'This page does not exist', html };
}
