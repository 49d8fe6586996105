const CODES: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'ENOSPC', 'EDQUOT', 'ENOMEM']);

/**
 * True when the system was short of descriptors, disk or memory: the call says nothing about its object, and may succeed
 * later.
 */
export function isShortage(error: unknown): boolean {
  return CODES.has((error as { code?: unknown } | null)?.code);
}
