/** The header fields of one message, in order. Names are kept as received and in lower case. */
export class HeaderList {
  readonly names: string[] = [];
  readonly lowerNames: string[] = [];
  readonly values: string[] = [];
  /** The latest result of `upstreamHeaders`: a list often serves many messages. */
  made: { withheld: object; text: string } | null = null;
  /** What load balancing has read of it. */
  caller: object | null = null;
  /** The latest result of `upstreamRequestHead` for a request without a body. */
  sent: { withheld: object; method: string; target: string; text: string; isFlat: boolean } | null = null;

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
}
