import { Failure } from '../../core/errors.ts';
import { PROBLEM_JSON, type Problem, toProblem } from '../../http/problem.ts';
import { newRequestId } from '../../http/request-id.ts';
import type { ClientExchange, RawHeaders } from './client-exchange.ts';

/** Answers with a refusal: a page for browsers, the problem record for all others. */
export function refuse(exchange: ClientExchange, error: unknown, headers: RawHeaders = []): void {
  const problem = toProblem(error);
  const own = [...headers, 'Cache-Control', 'no-store', 'x-request-id', newRequestId()];
  if (problem.status === 401) own.push('WWW-Authenticate', 'Bearer');
  if (error instanceof Failure && error.retryAfterSeconds !== undefined) {
    own.push('Retry-After', String(error.retryAfterSeconds));
  }
  const wantsPage = exchange.headers.get('accept')?.includes('text/html') === true;
  if (wantsPage)
    exchange.answer(problem.status, problem.title, ['Content-Type', 'text/html; charset=utf-8', ...own], page(problem));
  else exchange.answer(problem.status, problem.title, ['Content-Type', PROBLEM_JSON, ...own], JSON.stringify(problem));
}

function page({ status, title, detail }: Problem): string {
  const text = detail.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${status} ${title}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:20vh auto;padding:0 1rem;color-scheme:light dark}</style>
<h1>${status} ${title}</h1>
<p>${text}</p>
</html>
`;
}
