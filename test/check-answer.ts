import { readFileSync } from 'node:fs';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { knownRevisionIn, REST_REVISIONS, type RestRevision, withoutRevision } from '../src/core/rest-revisions.ts';
import { useUniqueItems } from '../src/rest/setup/unique-items.ts';
import { resolveResponses } from './resolve-responses.ts';

/**
 * Checks every answer that a test sees against the committed OpenAPI description of its revision. Stricter than JSON Schema: an answer must have
 * no property that the description does not name.
 */
export interface Answer {
  method: string;
  /** Path and query, as sent. */
  url: string;
  status: number;
  headers: OutgoingHttpHeaders;
  /** Undefined when it was not kept, and is then not checked. */
  body: string | undefined;
  /** The revision that answered. Default: the one in the path, else the oldest. */
  revision?: RestRevision;
}

export interface Operation {
  operationId: string;
  parameters?: { in: 'path' | 'query' | 'header'; name: string; schema: object }[];
  requestBody?: { content: Record<string, { schema: object }> };
  responses: Record<string, DescribedResponse>;
}

interface DescribedResponse {
  content?: Record<string, { schema: object }>;
  headers: Record<string, { $ref: string }>;
}

interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; headers: Record<string, { required?: boolean; schema: object }> };
}

const FILES: Record<RestRevision, string> = {
  '2026-07': '../api/openapi.json',
  '2026-08': '../api/openapi-2026-08.json',
};

const PROBLEM_JSON = 'application/problem+json';
/** The description and the pages that show it. */
const NOT_DESCRIBED = /^\/(v2\/openapi\.json|docs(\/.*)?|assets\/.*)?$/s;
/** Statuses that any request can get, whether or not it reaches an operation. */
const BEFORE_ROUTING = [429, 500, 503];
const WITHOUT_OPERATION = [400, 404, ...BEFORE_ROUTING];
const MAX_PARAM_LENGTH = 500;
const MAX_SHOWN = 500;

const DOCUMENT = 'description';
const formats = {
  'date-time': (text: string) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text),
  uri: (text: string) => URL.canParse(text),
  float: true,
} as const;

/** The description of one revision, ready to check answers. */
class Book {
  readonly description: Description;
  readonly paths: { path: string; operations: Record<string, Operation>; pattern: RegExp }[];
  readonly #ajv = useUniqueItems(new Ajv2020({ strict: false, allErrors: true, formats }));
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(file: string) {
    this.description = resolveResponses(JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')));
    this.#ajv.addSchema(closeObjects(this.description) as object, DOCUMENT);
    // Prefers the match with fewer parameters, as the router does.
    this.paths = Object.entries(this.description.paths)
      .map(([path, operations]) => ({
        path,
        operations,
        parameters: path.split('{').length,
        pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]*')}$`),
      }))
      .toSorted((one, other) => one.parameters - other.parameters);
  }

  schemaProblem(at: string[], value: unknown): string | undefined {
    const pointer = at
      .map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`)
      .join('');
    let validate = this.#compiled.get(pointer);
    if (!validate) {
      validate = this.#ajv.compile({ $ref: `${DOCUMENT}#${pointer}` });
      this.#compiled.set(pointer, validate);
    }
    if (validate(value)) return undefined;
    return this.#ajv.errorsText(validate.errors, { dataVar: '' });
  }
}

const books = new Map<RestRevision, Book>();

function bookOf(revision: RestRevision): Book {
  const book = books.get(revision) ?? new Book(FILES[revision]);
  books.set(revision, book);
  return book;
}

export function describedBy(revision: RestRevision): Description {
  return bookOf(revision).description;
}

const bookOfUrl = (url: string) => bookOf(knownRevisionIn(url) ?? REST_REVISIONS[0]);

/** Throws an error that says where the answer differs from the description. */
export function checkAnswer(answer: Answer): void {
  const problem = problemOf(answer);
  if (problem === undefined) return;
  const { method, url, status, body } = answer;
  throw new Error(`${method} ${cut(url)} was answered ${status}, but ${problem}. The answer: ${cut(body ?? '')}`);
}

/** Returns the operation of a request; undefined if there is none. */
export function findOperation(
  method: string,
  url: string,
  book = bookOfUrl(url),
): { path: string; operation: Operation } | undefined {
  const found = findPath(url, book);
  const operation = found?.operations[method === 'HEAD' ? 'get' : method.toLowerCase()];
  return operation && { path: found!.path, operation };
}

/** Returns why a request body does not match; null if it does, undefined if the operation takes no body. */
export function requestBodyProblem(method: string, url: string, body: unknown): string | null | undefined {
  const found = findOperation(method, url);
  if (found?.operation.requestBody?.content['application/json'] === undefined) return undefined;
  return (
    bookOfUrl(url).schemaProblem(
      ['paths', found.path, method.toLowerCase(), 'requestBody', ...jsonSchemaPath()],
      body,
    ) ?? null
  );
}

/** Checks every answer of a server's request listener once it is sent; `onWrong` gets what `checkAnswer` throws. */
export function checkedListener(
  listener: (request: IncomingMessage, response: ServerResponse) => void,
  onWrong: (error: Error) => void,
): typeof listener {
  return (request, response) => {
    const chunks: Buffer[] = [];
    const keep = (chunk: unknown) => {
      if (typeof chunk === 'string' || chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk as string));
    };
    const headers: OutgoingHttpHeaders = {};
    const { write, end, writeHead } = response;
    response.writeHead = ((...parts: Parameters<typeof writeHead>) => {
      for (const [name, value] of Object.entries(parts.at(-1) ?? {})) headers[name.toLowerCase()] = value;
      return writeHead.apply(response, parts);
    }) as typeof writeHead;
    response.write = ((...parts: Parameters<typeof write>) => {
      keep(parts[0]);
      return write.apply(response, parts);
    }) as typeof write;
    response.end = ((...parts: Parameters<typeof end>) => {
      keep(parts[0]);
      return end.apply(response, parts);
    }) as typeof end;
    response.on('finish', () => {
      try {
        checkAnswer({
          method: request.method!,
          url: request.url!,
          status: response.statusCode,
          headers: { ...headers, ...response.getHeaders() },
          body: Buffer.concat(chunks).toString(),
        });
      } catch (error) {
        onWrong(error as Error);
      }
    });
    listener(request, response);
  };
}

/** The documentation answers a browser with a page. */
function isPageForWrongAddress(path: string, { status, headers }: Answer): boolean {
  return path.startsWith('/docs/') && status === 404 && headers['content-type'] === 'text/html; charset=utf-8';
}

function problemOf(answer: Answer): string | undefined {
  const { method, url, status, headers } = answer;
  if (headers['x-request-id'] === undefined) return 'it has no x-request-id';
  const book = bookOf(answer.revision ?? knownRevisionIn(url) ?? REST_REVISIONS[0]);
  const path = pathOf(url);
  if (path !== undefined && NOT_DESCRIBED.test(path)) {
    if (status < 400 || isPageForWrongAddress(path, answer)) return undefined;
    return notAProblemRecord(answer, book);
  }
  const found = findPath(url, book);
  if (!found || hasLongSegment(url)) {
    if (!WITHOUT_OPERATION.includes(status)) return 'no path of the description fits';
    return notAProblemRecord(answer, book);
  }
  const operation = findOperation(method, url, book)?.operation;
  if (!operation) {
    if (BEFORE_ROUTING.includes(status)) return notAProblemRecord(answer, book);
    if (status !== 405) return `the description has no ${method} at ${found.path}`;
    if (!headers.allow) return 'a refused method must be answered with Allow';
    return notAProblemRecord(answer, book);
  }
  if (method === 'HEAD' && status === 405 && headers.allow) return notAProblemRecord(answer, book); // a stream has none
  const response = operation.responses[status];
  if (!response) return `${operation.operationId} does not declare this status`;
  return (
    missingHeader(book, response, headers) ??
    wrongBody(book, answer, response, [
      'paths',
      found.path,
      method === 'HEAD' ? 'get' : method.toLowerCase(),
      'responses',
      `${status}`,
    ])
  );
}

function missingHeader(
  { description }: Book,
  response: DescribedResponse,
  headers: OutgoingHttpHeaders,
): string | undefined {
  for (const [name, { $ref }] of Object.entries(response.headers)) {
    const described = description.components.headers[$ref.split('/').at(-1)!]!;
    const value = headers[name.toLowerCase()];
    if (value === undefined && described.required) return `it lacks the header ${name}`;
    if (value === undefined) continue;
    const isInteger = (described.schema as { type: string }).type === 'integer';
    if (isInteger && !/^\d+$/.test(String(value))) return `the header ${name} is ${value}, which is no integer`;
  }
  return undefined;
}

function wrongBody(book: Book, answer: Answer, response: DescribedResponse, at: string[]): string | undefined {
  const { method, status, headers, body } = answer;
  const declared = Object.keys(response.content ?? {});
  if (declared.length === 0) return body ? 'it must have no body' : undefined;
  const type = mediaType(headers);
  if (!declared.includes(type)) return `its content type '${type}' is not the declared ${declared.join(' or ')}`;
  if (method === 'HEAD') return body ? 'an answer to HEAD must have no body' : undefined;
  if (body === undefined || !/[/+]json$/.test(type)) return undefined; // lines of JSON are a text
  if (type === PROBLEM_JSON) {
    const problem = notAProblemRecord(answer, book);
    if (problem !== undefined) return problem;
  }
  const value = parse(body);
  if (value === undefined) return 'its body is not JSON';
  const failure = book.schemaProblem([...at, 'content', type, 'schema'], value);
  return failure && `its body does not fit the schema of ${status}: ${failure}`;
}

/** Checks what all problem records have in common, with or without an operation. */
function notAProblemRecord({ method, status, headers, body }: Answer, book: Book): string | undefined {
  if (headers['content-type'] !== PROBLEM_JSON) return `its content type is '${headers['content-type']}'`;
  if (method === 'HEAD' || body === undefined) return undefined;
  const value = parse(body);
  const failure = book.schemaProblem(['components', 'schemas', 'ErrorResponse'], value);
  if (failure !== undefined) return `its body is no problem record: ${failure}`;
  const inBody = (value as { status: number }).status;
  return inBody === status ? undefined : `its body says ${inBody}`;
}

function jsonSchemaPath(): string[] {
  return ['content', 'application/json', 'schema'];
}

function findPath(url: string, book: Book) {
  const path = pathOf(url);
  return path === undefined ? undefined : book.paths.find(({ pattern }) => pattern.test(path));
}

/** Returns the path as the router sees it; undefined if it cannot be decoded. An encoded slash stays encoded. */
function pathOf(url: string): string | undefined {
  try {
    const path = decodeURI(withoutRevision(url).split(/[?#]/, 1)[0]!);
    decodeURIComponent(path.replaceAll(/%(?![0-9a-f]{2})/gi, '%25'));
    return path;
  } catch {
    return undefined;
  }
}

function hasLongSegment(url: string): boolean {
  return (pathOf(url) ?? '').split('/').some((segment) => segment.length > MAX_PARAM_LENGTH);
}

function mediaType(headers: OutgoingHttpHeaders): string {
  return String(headers['content-type'] ?? '').split(';', 1)[0]!;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function cut(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/** Their schemas name only a part of an object. */
const CONDITIONS = ['if', 'then', 'else', 'not'];

function closeObjects(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closeObjects);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, CONDITIONS.includes(name) ? inner : closeObjects(inner)]),
  );
  const isOpen = 'properties' in copy && copy.type === 'object' && copy.additionalProperties === undefined;
  return isOpen ? { ...copy, additionalProperties: false } : copy;
}
