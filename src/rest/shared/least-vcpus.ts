/**
 * The fewest vCPUs that a revision knows. Flavors begin with 1, which revision 2026-07 can neither request nor show: it shows the
 * nearest value, like everything that only the other revision can set (docs/interface/revision-2026-08.md).
 */
export const LEAST_VCPUS = { '2026-07': 2, '2026-08': 1 } as const;
export type LeastVcpus = (typeof LEAST_VCPUS)[keyof typeof LEAST_VCPUS];

/** Returns the vCPUs as the revision shows them. */
export function showVcpus<C extends { vcpuCount: number }>(cpu: C, least: LeastVcpus): C {
  return { ...cpu, vcpuCount: Math.max(cpu.vcpuCount, least) };
}
