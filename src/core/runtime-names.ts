/** The runtimes that workloads run in (runtimes/runtime.ts). */
export const RUNTIME_NAMES = ['docker', 'process', 'kubernetes', 'simulated'] as const;
export type RuntimeName = (typeof RUNTIME_NAMES)[number];

export function isRuntimeName(text: string): text is RuntimeName {
  return (RUNTIME_NAMES as readonly string[]).includes(text);
}
