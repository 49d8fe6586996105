import type { JobView } from '../../domain/jobs/job.ts';
import type { CallResponse } from '../../http/call-messages.ts';
import {
  hasNamedEvents,
  type OpenAiError,
  renderOpenAiError,
  renderOpenAiErrorEvent,
} from '../../http/openai-error.ts';
import { sendBody, writeHead } from '../exchange.ts';
import { readErrorOutput, readJobError } from './worker-error.ts';

/** Clients and proxies give up on a stream that is silent for much longer. */
export const WAITING_MS = 5_000;
/** Text that begins as an event stream does: with a field or a comment. */
const EVENT_STREAM = /^\s*(?:(?:data|event|id|retry)?:)/;
const PLAIN_TEXT = 'text/plain; charset=utf-8';
/** In JSON they are blanks; in an event they would end its data. */
const LINE_BREAKS = /[\r\n]+/g;
const WAITING_COMMENT = ': podyard.waiting\n\n';

/**
 * The response to one OpenAI-style call. Until the first byte an error has its own status. A stream that has begun keeps its
 * status 200, and an error is its last event. The comments of a call that waits begin a stream too.
 */
export class OpenAiAnswer {
  readonly #res: CallResponse;
  readonly #route: string;
  #waiting: NodeJS.Timeout | undefined;
  #hasChunks = false;
  /** True where an event may begin: at the start, and after the blank line that ends one. */
  #isBetweenEvents = true;
  #isDone = false;

  /** `route`: the path after `/openai`. */
  constructor(res: CallResponse, route: string) {
    this.#res = res;
    this.#route = route;
    res.once('close', () => this.#stopWaiting());
  }

  get hasBegun(): boolean {
    return this.#res.headersSent;
  }

  /** True when the client was sent what became of the call. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** True when nothing more can be written. */
  get hasEnded(): boolean {
    return this.#res.writableEnded || this.#res.destroyed;
  }

  /** Begins the stream with a comment, and repeats it until the first chunk. */
  wait(): void {
    this.#begin();
    this.#res.write(WAITING_COMMENT);
    this.#waiting ??= setInterval(() => {
      if (!this.#res.writableNeedDrain) this.#res.write(WAITING_COMMENT);
    }, WAITING_MS).unref();
  }

  /**
   * Writes a chunk of the worker, JSON text: a string is part of the event stream, anything else the data of an event. So is a
   * string that is JSON itself where an event begins, since clients skip such a line.
   */
  writeChunk(chunk: string): void {
    const value: unknown = JSON.parse(chunk);
    const error = this.#hasChunks ? null : readErrorOutput(Array.isArray(value) ? value[0] : value);
    if (error !== null) {
      this.fail(error);
      return;
    }
    this.#hasChunks = true;
    this.#stopWaiting();
    this.#begin();
    for (const [item, text] of Array.isArray(value) ? value.map(withText) : [[value, chunk] as const]) {
      this.#writeItem(item, text);
    }
  }

  #writeItem(item: unknown, text: string): void {
    const isText = typeof item === 'string';
    const data = isText ? this.#isBetweenEvents && readJsonText(item) : { value: item, text };
    const written = data ? this.#event(data.value, data.text) : String(item);
    if (written === '') return;
    this.#isBetweenEvents = /\n\r?\n$/.test(written);
    this.#res.write(written);
  }

  /** Ends the response with a job that has ended. */
  finish(job: JobView): void {
    if (job.status !== 'COMPLETED') this.fail(readJobError(job));
    else if (this.#hasChunks) this.#end();
    else this.#sendOutput(job.output ?? 'null');
  }

  /** Ends the response with an error. */
  fail(error: OpenAiError): void {
    if (this.hasBegun) this.#end(renderOpenAiErrorEvent(this.#route, error));
    else this.#sendAll(error.status, 'application/json', renderOpenAiError(this.#route, error));
  }

  /** Sends JSON as JSON, also one that came as text; an event stream as one; other text as text. */
  #sendOutput(output: string): void {
    const { value, text } = readAnswer(output);
    const isText = typeof value === 'string';
    const error = readErrorOutput(value);
    if (error !== null) this.fail(error);
    else if (this.hasBegun) this.#end(isText ? value : `${this.#event(value, text)}data: [DONE]\n\n`);
    else if (isText) this.#sendAll(200, EVENT_STREAM.test(value) ? 'text/event-stream' : PLAIN_TEXT, value);
    else this.#sendAll(200, 'application/json', text);
  }

  #event(value: unknown, text: string): string {
    const type = hasNamedEvents(this.#route) ? (value as { type?: unknown } | null)?.type : undefined;
    const name = typeof type === 'string' && /^[\w.]{1,100}$/.test(type) ? `event: ${type}\n` : '';
    return `${name}data: ${text.replace(LINE_BREAKS, ' ')}\n\n`;
  }

  #begin(): void {
    if (this.hasBegun) return;
    writeHead(this.#res, 200, ['content-type', 'text/event-stream', 'x-accel-buffering', 'no']);
  }

  #sendAll(status: number, contentType: string, text: string): void {
    this.#isDone = true;
    sendBody(this.#res, status, contentType, text);
  }

  #end(text = ''): void {
    this.#isDone = true;
    this.#stopWaiting();
    this.#res.end(text);
  }

  #stopWaiting(): void {
    clearInterval(this.#waiting);
    this.#waiting = undefined;
  }
}

/**
 * Returns the answer in an output, JSON text. Generators of the public SDK make a list of what they yield: its only item is the
 * answer, and so are pieces of text that together are one.
 */
export function readAnswer(output: string): { value: unknown; text: string } {
  const value: unknown = JSON.parse(output);
  if (typeof value === 'string') return readJsonText(value) ?? { value, text: output };
  if (!Array.isArray(value)) return { value, text: output };
  if (value.length === 1 && typeof value[0] !== 'string') return { value: value[0], text: onlyItem(output) };
  if (value.length === 0 || !value.every((item) => typeof item === 'string')) return { value, text: output };
  const joined = value.join('');
  const answer = readJsonText(joined);
  if (answer) return answer;
  return value.length === 1 || EVENT_STREAM.test(joined) ? { value: joined, text: output } : { value, text: output };
}

/** Returns the JSON object or list that a text is; undefined for any other text. */
function readJsonText(text: string): { value: unknown; text: string } | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return { value: JSON.parse(text), text: text.trim() };
  } catch {
    return undefined;
  }
}

/** Returns the source of the item of a list of one, whose large numbers stay. */
function onlyItem(list: string): string {
  return list.slice(list.indexOf('[') + 1, list.lastIndexOf(']')).trim();
}

function withText(value: unknown): [unknown, string] {
  return [value, JSON.stringify(value)];
}
