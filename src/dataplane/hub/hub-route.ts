import { Failure } from '../../core/errors.ts';

/** A request as the public hub's clients send it, below a workload's own address. */
export type HubRoute =
  | { kind: 'file'; name: string; revision: string; path: string }
  /** `path`: as the hub is asked, with the query. */
  | { kind: 'json'; method: 'GET' | 'POST'; path: string; isPersonal: boolean };

const PREFIX = '/hub/';
const NAME = /^[A-Za-z0-9_](?:[\w.-]{0,94}[A-Za-z0-9_])?$/;
const MAX_PATH = 4_000;
/** Questions about a model, with their methods; `null`: the model itself. */
const QUESTIONS = new Map<string | null, 'GET' | 'POST'>([
  [null, 'GET'],
  ['revision', 'GET'],
  ['tree', 'GET'],
  ['refs', 'GET'],
  ['auth-check', 'GET'],
  ['paths-info', 'POST'],
]);

/** True for the path of a request to the pull-through hub. */
export function isHubPath(url: string): boolean {
  return url.startsWith(PREFIX);
}

/** Splits `/hub/<token>/<rest>`; the rest begins with a slash. */
export function splitHubPath(url: string): { token: string; rest: string } {
  const end = url.indexOf('/', PREFIX.length);
  if (end < 0) return { token: url.slice(PREFIX.length), rest: '/' };
  return { token: url.slice(PREFIX.length, end), rest: url.slice(end) };
}

/** Throws `notFound` with a sentence for what this hub does not serve: everything but models, and all that changes something. */
export function parseHubRoute(method: string, target: string): HubRoute {
  const queryAt = target.indexOf('?');
  const pathname = queryAt < 0 ? target : target.slice(0, queryAt);
  const search = queryAt < 0 ? '' : target.slice(queryAt);
  if (target.length > MAX_PATH) throw notFound('the path is too long');
  const parts = pathname.slice(1).split('/').map(decode);
  if (parts[0] === 'api') return parseQuestion(method, parts.slice(1), search);
  if (['datasets', 'spaces', 'buckets', 'kernels'].includes(parts[0]!)) throw notFound(`it has no ${parts[0]}`);
  const at = parts[1] === 'resolve' ? 1 : 2;
  const names = parts.slice(0, at);
  const [revision, ...path] = parts.slice(at + 1);
  if (
    parts[at] !== 'resolve' ||
    !names.every(isName) ||
    !isText(revision) ||
    path.length === 0 ||
    !path.every(isSegment)
  ) {
    throw notFound('it has only files of models, at /<owner>/<name>/resolve/<revision>/<path>');
  }
  if (method !== 'GET' && method !== 'HEAD') throw new Failure('methodNotAllowed', 'this hub is read only');
  return { kind: 'file', name: names.join('/'), revision, path: path.join('/') };
}

function parseQuestion(method: string, [area, ...parts]: string[], search: string): HubRoute {
  if (area === 'whoami-v2' && parts.length === 0) {
    checkMethod(method, 'GET');
    return { kind: 'json', method: 'GET', path: '/api/whoami-v2', isPersonal: true };
  }
  if (area !== 'models' || parts.length === 0) throw notFound('it answers about single models only');
  const at = parts.length === 1 || QUESTIONS.has(parts[1]!) ? 1 : 2;
  const names = parts.slice(0, at);
  const [what = null, ...rest] = parts.slice(at);
  const expected = QUESTIONS.get(what);
  const needsRevision = what === 'revision' || what === 'tree' || what === 'paths-info';
  const isWhole = names.every(isName) && rest.every(isSegment) && (!needsRevision || rest.length > 0);
  if (expected === undefined || !isWhole) throw notFound('it does not answer this about a model');
  checkMethod(method, expected);
  const path = ['/api/models', ...names, ...(what === null ? [] : [what]), ...rest.map(encodeURIComponent)].join('/');
  return { kind: 'json', method: expected, path: path + search, isPersonal: what === 'auth-check' };
}

function checkMethod(method: string, expected: string): void {
  if (method !== expected) throw new Failure('methodNotAllowed', `this is asked with ${expected}`);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw notFound('the path is not UTF-8');
  }
}

function isName(part: string): boolean {
  return NAME.test(part) && !part.includes('..') && !part.includes('--');
}

/** A revision may have slashes, as `refs/pr/1`. */
function isText(part: string | undefined): part is string {
  return part !== undefined && part.length <= 200 && part.split('/').every(isSegment);
}

function isSegment(part: string): boolean {
  return part !== '' && part !== '.' && part !== '..' && !/[\p{Cc}\\]/u.test(part);
}

function notFound(what: string): Failure {
  return new Failure(
    'notFound',
    `the hub of this machine serves models alone: ${what}. Unset HF_ENDPOINT to ask the public hub`,
  );
}
