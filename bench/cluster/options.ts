/** The options of all parts. */
export const OPTIONS = {
  parts: { type: 'string' },
  rounds: { type: 'string' },
  seconds: { type: 'string' },
  processes: { type: 'string' },
  nodes: { type: 'string' },
  pods: { type: 'string' },
  changes: { type: 'string' },
  'cpu-prof': { type: 'string' },
} as const;

/** As given on the command line; each part has its own defaults. */
export type ClusterOptions = { [Name in keyof typeof OPTIONS]?: string | undefined };
