import { asciiJson } from '../../core/text/ascii-json.ts';
import { newRequestId, PROBLEM_JSON, type Problem, renderProblem } from '../../http/problem.ts';
import type { ClientExchange, RawHeaders } from '../wire/client-exchange.ts';

/** Where a page of an error leads to. */
interface Link {
  text: string;
  url: string;
}

/** Answers with the rendered error: a page for browsers, a problem record for other clients. */
export function refuse(
  exchange: ClientExchange,
  error: unknown,
  moreHeaders: RawHeaders = [],
  link: Link | null = null,
): void {
  const { status, headers, problem } = renderProblem(error);
  headers.push(...moreHeaders, 'Cache-Control', 'no-store', 'x-request-id', newRequestId());
  const wantsPage = exchange.headers.get('accept')?.includes('text/html') === true;
  headers.push('Content-Type', wantsPage ? 'text/html; charset=utf-8' : PROBLEM_JSON);
  exchange.answer(status, problem.title, headers, wantsPage ? page(problem, link) : asciiJson(problem));
}

function page({ status, title, detail }: Problem, link: Link | null): string {
  const more = link === null ? '' : `<p><a href="${escapeHtml(link.url)}">${escapeHtml(link.text)}</a></p>\n`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${status} ${title}</title>
<style>html{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:20vh auto;padding:0 1rem;color:#1a1b1e;background:#fff}a{color:#1864ab}@media(prefers-color-scheme:dark){body{color:#e9ecef;background:#1a1b1e}a{color:#74c0fc}}</style>
<main>
<h1>${status} ${title}</h1>
<p>${escapeHtml(detail)}</p>
${more}</main>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
