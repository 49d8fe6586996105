import type { IncomingHttpHeaders } from 'node:http';

/** Fields that are not lists. */
const SINGLE = new Set([
  ...['age', 'authorization', 'content-length', 'content-type', 'etag', 'expires', 'from', 'host', 'if-modified-since'],
  ...['if-unmodified-since', 'last-modified', 'location', 'max-forwards', 'proxy-authorization', 'referer'],
  ...['retry-after', 'server', 'user-agent'],
]);

/** The header fields of one message, in order. Names are kept as received and in lower case. */
export class HeaderList {
  readonly names: string[] = [];
  readonly lowerNames: string[] = [];
  readonly values: string[] = [];
  /** The latest result of `upstreamHeaders`: a list often serves many messages. */
  made: { withheld: object; text: string } | null = null;
  /** The caller, once load balancing has read it. */
  caller: object | null = null;
  /** The latest result of `upstreamRequestHead` for a request without a body: text, and bytes once it came again. */
  sent: { withheld: object; method: string; target: string; head: string | Buffer } | null = null;

  #record: Readonly<IncomingHttpHeaders> | null = null;

  add(name: string, value: string): void {
    this.names.push(name);
    this.lowerNames.push(name.toLowerCase());
    this.values.push(value);
  }

  /** Returns the first value of a field. */
  get(lowerName: string): string | undefined {
    const at = this.lowerNames.indexOf(lowerName);
    return at === -1 ? undefined : this.values[at];
  }

  /** The fields by name in lower case, repeated ones as node joins them: for fields that exist once the first one counts. */
  get record(): Readonly<IncomingHttpHeaders> {
    this.#record ??= makeRecord(this);
    return this.#record;
  }
}

function makeRecord({ lowerNames, values }: HeaderList): Readonly<IncomingHttpHeaders> {
  const record: Record<string, string> = Object.create(null);
  for (let i = 0; i < lowerNames.length; i++) {
    const name = lowerNames[i]!;
    const before = record[name];
    if (before === undefined) record[name] = values[i]!;
    else if (!SINGLE.has(name)) record[name] = `${before}${name === 'cookie' ? '; ' : ', '}${values[i]}`;
  }
  return record as Readonly<IncomingHttpHeaders>;
}
