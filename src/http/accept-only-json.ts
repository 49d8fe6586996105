import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Failure } from '../core/errors.ts';
import { FairSlots } from '../core/flow/fair-slots.ts';
import { takeTurn } from '../core/flow/turns.ts';
import { findShapeFault } from '../core/text/json-scan.ts';
import { validationFailure } from './validation-failure.ts';

/** The largest request body of the GraphQL API. */
export const BODY_LIMIT_BYTES = 100 * 1024;
/** The same of the REST APIs: 512 KiB of environment variables fit, in JSON as most clients write it. */
export const REST_BODY_LIMIT_BYTES = 1024 * 1024;

/** From this size on, a body waits for its sender's turn to be parsed and validated. */
const LARGE_BYTES = 16 * 1024;
/** Members and items of a body. Its validation takes 3 to 12 ms; the largest that the fields allow has some hundreds. */
const MAX_VALUES = 10_000;

/** Large bodies that are read or worked on at once, and those of one sender; the others stay unread, in their sender's hands. */
const LARGE_BODIES = { slots: 16, perOwner: 1 };
/** After a large body its sender's next one stays unread for as many times as long as it took, within a limit. */
const PAUSES = 2;
const MAX_PAUSE_MS = 1_000;

export interface JsonBodyOptions {
  /** Whose turns on the event loop the parsing of a large body takes. */
  ownerOf: (request: FastifyRequest) => string;
  /** True: an empty body counts as no body. False: it is malformed. */
  isEmptyAllowed: boolean;
  /** True for a request whose body is bytes that its handler reads: of any size, and `application/octet-stream`. */
  isRaw?: (request: FastifyRequest) => boolean;
  /** True for a request whose JSON its handler parses, once it has checked a signature of the bytes: it gets a Buffer. */
  isSigned?: (request: FastifyRequest) => boolean;
  /** Members and items that a body may have; default: 10,000. */
  maxValuesOf?: (request: FastifyRequest) => number | undefined;
  /** The public text for a malformed body. */
  detail: string;
  /** Throws a `Failure` for a body that is valid JSON but must be refused. */
  check?: (value: unknown, text: string) => void;
  /** The refusal of members that are part of every object; default: `validationFailure`. */
  refuse?: (errors: string[]) => Failure;
}

/**
 * Makes JSON the only content type that the app accepts: any other body is a 415. A body that is not UTF-8 or not JSON is a
 * `badRequest`; one with a member that is part of every object in JavaScript is `unprocessable`, with its place.
 */
// biome-ignore lint/suspicious/noExplicitAny: any app, whatever its type provider
export function acceptOnlyJson(app: FastifyInstance<any, any, any, any, any>, options: JsonBodyOptions): void {
  const slots = new FairSlots(LARGE_BODIES);
  const { isRaw = () => false, isSigned = () => false, maxValuesOf = () => undefined } = options;
  const waitForSlot = async (request: FastifyRequest, reply: FastifyReply) => {
    const leave = await slots.enter(options.ownerOf(request));
    if (reply.raw.closed || request.socket.destroyed) return leave();
    const startedAt = performance.now();
    const leaveSoon = () => {
      setTimeout(leave, Math.min(MAX_PAUSE_MS, PAUSES * (performance.now() - startedAt))).unref();
    };
    reply.raw.once('finish', leaveSoon);
    reply.raw.once('close', leaveSoon); // without an answer, if the client is gone
  };
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (isSmall(request) || isRaw(request)) done();
    else waitForSlot(request, reply).then(() => done(), done);
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    if (isSigned(request)) return body;
    if (body.length === 0 && options.isEmptyAllowed) return undefined;
    if (body.length >= LARGE_BYTES) await takeTurn(options.ownerOf(request));
    return parseBody(body, options, maxValuesOf(request) ?? MAX_VALUES);
  });
  if (options.isRaw === undefined) return;
  app.addContentTypeParser('application/octet-stream', async (request: FastifyRequest, body: IncomingMessage) => {
    if (isRaw(request)) return body;
    throw new Failure('unsupportedMediaType', 'The request body must be application/json.');
  });
}

/** The body of a GET is never read. */
function isSmall({ headers, method }: FastifyRequest): boolean {
  if (method === 'GET' || method === 'HEAD') return true;
  return headers['transfer-encoding'] === undefined && !(Number(headers['content-length']) >= LARGE_BYTES);
}

function parseBody(
  body: Buffer,
  { detail, check, refuse = validationFailure }: JsonBodyOptions,
  maxValues: number,
): unknown {
  if (!isUtf8(body)) throw new Failure('badRequest', detail.replace('JSON', 'UTF-8'));
  const fault = findShapeFault(body, { values: maxValues });
  if (fault !== null) throw refuse([`$: ${fault}`]);
  const text = body.toString().replace(/^\uFEFF/, '');
  const value = parse(text, detail);
  const errors = /proto|constructor|\\u/.test(text) ? inheritedMembers(value) : [];
  if (errors.length > 0) throw refuse(errors);
  check?.(value, text);
  return value;
}

function parse(text: string, detail: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Failure('badRequest', detail, { cause });
  }
}

/** Lists members whose names are those of what every object inherits: code that copies them could change all objects. */
function inheritedMembers(body: unknown): string[] {
  const errors: string[] = [];
  const waiting: [value: unknown, place: string][] = [[body, '']];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [value, place] = next;
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, member] of Object.entries(value)) {
      const isObject = typeof member === 'object' && member !== null;
      if (name === '__proto__' || (isObject && (name === 'constructor' || name === 'prototype'))) {
        errors.push(`${place || '$'}: additional property '${name}' is not allowed`);
      } else if (isObject) waiting.push([member, `${place}/${name}`]);
    }
  }
  return errors;
}
