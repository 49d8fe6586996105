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

  /** Writes a chunk of the worker, JSON text: a string is part of the event stream, anything else the data of an event. */
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
      this.#res.write(typeof item === 'string' ? item : this.#event(item, text));
    }
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

  /** Sends a string as the event stream that it is, the item of a list of one, and anything else as it is. */
  #sendOutput(output: string): void {
    const value: unknown = JSON.parse(output);
    const [answer, text] = Array.isArray(value) && value.length === 1 ? [value[0], onlyItem(output)] : [value, output];
    const error = readErrorOutput(answer);
    if (error !== null) this.fail(error);
    else if (this.hasBegun)
      this.#end(typeof answer === 'string' ? answer : `${this.#event(answer, text)}data: [DONE]\n\n`);
    else if (typeof answer === 'string') this.#sendAll(200, 'text/event-stream', answer);
    else this.#sendAll(200, 'application/json', text);
  }

  #event(value: unknown, text: string): string {
    const type = hasNamedEvents(this.#route) ? (value as { type?: unknown } | null)?.type : undefined;
    const name = typeof type === 'string' && /^[\w.]{1,100}$/.test(type) ? `event: ${type}\n` : '';
    return `${name}data: ${text}\n\n`;
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

/** Returns the source of the item of a list of one, whose large numbers stay. */
function onlyItem(list: string): string {
  return list.slice(list.indexOf('[') + 1, list.lastIndexOf(']')).trim();
}

function withText(value: unknown): [unknown, string] {
  return [value, JSON.stringify(value)];
}
