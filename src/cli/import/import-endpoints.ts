import type { RestRevision } from '../../core/rest-revisions.ts';
import type { Wire } from '../shared/records.ts';

/**
 * Endpoints of a Podyard server in the shape that shows all of each. The older revision has every scaling, the newer one the
 * GPU rule and CPUs; so a GPU endpoint is in the older shape with the newer one's `gpu`, a CPU endpoint in the newer shape.
 */
export function mergeShapes(older: readonly Wire[], newer: readonly Wire[]): Wire[] {
  const newerById = new Map(newer.map((record) => [record.id, record]));
  return older.map((record) => {
    const other = newerById.get(record.id);
    if (other === undefined) return record;
    return other.gpu ? { ...record, gpu: other.gpu } : other;
  });
}

/** Nothing names the revision of a record; only the types of endpoints differ. */
export function revisionOf({ type }: Wire): RestRevision {
  return type === 'QUEUE' || type === 'LOAD_BALANCER' ? '2026-08' : '2026-07';
}
