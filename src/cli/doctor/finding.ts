/** One result of `podyard doctor`. */
export interface Finding {
  what: string;
  /** `missing`: a server cannot run. */
  verdict: 'ok' | 'note' | 'missing';
  found: string;
  /** A remedy; absent if none is needed. */
  advice?: string;
}
