import { Failure } from '../core/errors.ts';

/**
 * Limits of an answer: a short document can ask for a field of each of many records under a thousand names. A field takes 0.3 to
 * 0.5 µs of CPU time with its part of the JSON, so that the largest answer takes about a quarter of a second, in many turns.
 */
const MAX_FIELDS = 500_000;
/** Characters. */
const MAX_TEXT = 16 * 2 ** 20;

/** How large the answer to a request has become. */
export class AnswerSize {
  readonly #stop = new AbortController();
  #fields = 0;
  #text = 0;

  /** Aborted with the refusal once the answer is too large, or with a reason once the client is gone. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  /** Ends the work for an answer whose client is gone. */
  abandon(reason: Failure): void {
    this.#stop.abort(reason);
  }

  /** Counts fields; throws `badRequest` above the limit. */
  addFields(count: number): void {
    this.#fields += count;
    if (this.#fields > MAX_FIELDS) this.#refuse(`more than ${MAX_FIELDS} fields, over all its records`);
  }

  /** Counts characters; throws `badRequest` above the limit. */
  addText(length: number): void {
    this.#text += length;
    if (this.#text > MAX_TEXT) this.#refuse(`more than ${MAX_TEXT / 2 ** 20} MiB of text`);
  }

  #refuse(what: string): never {
    const refusal = new Failure(
      'badRequest',
      `The response would have ${what}: ask for fewer fields or records at a time.`,
    );
    this.#stop.abort(refusal);
    throw refusal;
  }
}
