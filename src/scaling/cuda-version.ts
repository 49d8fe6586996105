/** Versions of CUDA, as a driver supports them: `12.8`. Compared part by part, so that 12.10 is newer than 12.9. */

/** An endpoint's requirements of the driver. */
export interface CudaRule {
  /** Only these versions. */
  allowed?: readonly string[];
  /** This version or a newer one. */
  min?: string;
}

export const CUDA_VERSION = /^\d{1,3}(\.\d{1,3}){0,2}$/;

export function isOlderCuda(version: string, wanted: string): boolean {
  return compare(version, wanted) < 0;
}

/** True when a driver with this version satisfies the rule. An unknown version satisfies any. */
export function fitsCuda(version: string | undefined, { allowed, min }: CudaRule): boolean {
  if (version === undefined) return true;
  if (min !== undefined && isOlderCuda(version, min)) return false;
  return allowed === undefined || allowed.some((one) => compare(version, one) === 0);
}

/** The rule in words: `CUDA 12.8 or newer`. Null for a rule without a requirement. */
export function describeCuda({ allowed, min }: CudaRule): string | null {
  const listed = allowed && `CUDA ${allowed.join(' or ')}`;
  if (min === undefined) return listed ?? null;
  return listed === undefined ? `CUDA ${min} or newer` : `${listed}, and at least ${min}`;
}

/** `12` and `12.0` are equal. */
function compare(a: string, b: string): number {
  const [left, right] = [a.split('.').map(Number), b.split('.').map(Number)];
  for (let i = 0; i < 3; i++) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
