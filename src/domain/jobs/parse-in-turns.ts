import { Failure } from '../../core/errors.ts';
import { takeTurn } from '../../core/flow/turns.ts';
import { JsonScan } from '../../core/text/json-scan.ts';
import { checkUtf8, notJson, type ParsedJson, parseJson, type Source, tooMuch } from './job-body.ts';

/** From this size on, a text is scanned in turns, not parsed. */
export const LARGE_JSON_BYTES = 64 * 1024;
/** Scanned in one piece: up to half a millisecond. */
const PIECE_BYTES = 64 * 1024;
/** Objects and arrays of a large text that are parsed. */
const MAX_PARSED_BYTES = 16 * 1024;
/** Members that are passed on as their text, and never parsed. */
const PAYLOADS: ReadonlySet<string> = new Set(['input', 'output']);

/**
 * Parses a body; a large one in turns of `owner` (core/flow/turns.ts). `names`: the members that are read. Throws `badRequest` if it
 * is not UTF-8, not JSON, or nested too deep or of too many parts.
 */
export function parseInTurns(bytes: Buffer, owner: string, names: readonly string[]): ParsedJson | Promise<ParsedJson> {
  return bytes.length < LARGE_JSON_BYTES ? parseJson(bytes) : parseLarge(bytes, owner, names);
}

async function parseLarge(bytes: Buffer, owner: string, names: readonly string[]): Promise<ParsedJson> {
  const scan = await scanInTurns(bytes, owner, names);
  checkUtf8(bytes);
  const { fault } = scan;
  if (fault) throw fault.isTooMuch ? tooMuch(fault.text) : notJson(fault.text);
  return new LargeJson(bytes, scan);
}

/** Scans a text in turns of `owner`. The rest of the turn in which it ends is the caller's. */
export async function scanInTurns(bytes: Buffer, owner: string, names: readonly string[]): Promise<JsonScan> {
  const scan = new JsonScan(bytes, names);
  do await takeTurn(owner);
  while (!scan.scan(PIECE_BYTES));
  return scan;
}

/** A text with only its wanted members parsed. */
export class LargeJson implements ParsedJson {
  readonly #bytes: Buffer;
  readonly #scan: JsonScan;

  constructor(bytes: Buffer, scan: JsonScan) {
    this.#bytes = bytes;
    this.#scan = scan;
  }

  get text(): string {
    return this.#bytes.toString();
  }

  /** Payloads are null in it, and objects and arrays that are large themselves are empty. Throws `badRequest` for a large `policy`, which would be read. */
  get value(): unknown {
    const start = this.#bytes.find((byte) => byte > 0x20);
    if (start === OPEN_BRACKET) return [];
    if (start !== OPEN_BRACE) return JSON.parse(this.text);
    return Object.fromEntries([...this.#scan.members.keys()].map((name) => [name, this.#member(name)]));
  }

  /** A large member is a part of the text that was received: it is neither decoded nor copied. */
  slice(names: readonly string[]): Map<string, Source> {
    return new Map(names.filter((name) => this.#scan.members.has(name)).map((name) => [name, this.#source(name)]));
  }

  replace(name: string, json: string): string {
    const { start, end } = this.#scan.members.get(name)!;
    return this.#bytes.toString('utf8', 0, start) + json + this.#bytes.toString('utf8', end);
  }

  #source(name: string): Source {
    const { start, end } = this.#scan.members.get(name)!;
    const isLarge = end - start >= LARGE_JSON_BYTES;
    return isLarge ? this.#bytes.subarray(start, end) : this.#bytes.toString('utf8', start, end);
  }

  #member(name: string): unknown {
    if (PAYLOADS.has(name)) return null;
    const { start, end } = this.#scan.members.get(name)!;
    const isContainer = this.#bytes[start] === OPEN_BRACE || this.#bytes[start] === OPEN_BRACKET;
    if (!isContainer || end - start <= MAX_PARSED_BYTES) return JSON.parse(String(this.#source(name)));
    if (name === 'policy') {
      throw new Failure('badRequest', `The job is not valid: /policy: must have at most ${MAX_PARSED_BYTES} bytes.`);
    }
    return this.#bytes[start] === OPEN_BRACE ? {} : [];
  }
}

const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
