/** What a look at the machine, or at a cluster, has found. */
export interface Finding {
  what: string;
  /** `missing`: a server could not run. */
  verdict: 'ok' | 'note' | 'missing';
  found: string;
  /** What to do about it; absent when nothing needs to be done. */
  advice?: string;
}
