import type { Affinity } from './backend.ts';

/** Parses `X-Runpod-Worker-Id`: `<id>`, `strict <id>` or `strict-resume <id>` (docs/interface/queue.md, "Affinity"). */
export function readAffinity(header: string | undefined): Affinity | undefined {
  const match = header && /^(?:(strict|strict-resume) +)?(\S+)$/i.exec(header.trim());
  if (!match) return undefined;
  return { workerId: match[2]!, kind: (match[1]?.toLowerCase() as Affinity['kind'] | undefined) ?? 'soft' };
}
