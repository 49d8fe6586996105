/** The header fields of one message in their order. Names are kept as they came and in lower case. */
export class HeaderList {
  readonly names: string[] = [];
  readonly lowerNames: string[] = [];
  readonly values: string[] = [];
  /** What `upstreamHeaders` or `clientHeaders` made of it last, and for what: a list often serves many messages. */
  made: { by: object; result: unknown } | null = null;

  /** The whole head that `forward` made of it last, for a request without a body. */
  sent: { withheld: object; method: string; target: string; text: string } | null = null;

  add(name: string, value: string): void {
    this.names.push(name);
    this.lowerNames.push(name.toLowerCase());
    this.values.push(value);
  }

  /** The first value of a field, by its name in lower case. */
  get(lowerName: string): string | undefined {
    const at = this.lowerNames.indexOf(lowerName);
    return at === -1 ? undefined : this.values[at];
  }
}
