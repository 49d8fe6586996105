/** One result of `podyard doctor`. */
export interface Finding {
  what: string;
  /** `missing`: a server cannot run. */
  verdict: 'ok' | 'note' | 'missing';
  found: string;
  /** What to do about it; absent if nothing. */
  advice?: string;
}
