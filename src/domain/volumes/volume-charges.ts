import { Batcher } from '../../core/flow/batcher.ts';
import type { VolumeId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

interface Charge {
  id: VolumeId;
  bytes: number;
}

/**
 * Counts what volumes hold until they are measured. Charges of the same moment share a statement for each volume: one by one they
 * would wait for each other's commit. The commits wait for no disk, since a lost count is corrected by the measurement.
 */
export class VolumeCharges {
  readonly #db: Db;
  readonly #batcher: Batcher<Charge, boolean>;

  constructor(db: Db) {
    this.#db = db;
    this.#batcher = new Batcher({
      ...{ lanes: 2, maxSize: 256 },
      isCallFault: () => false,
      flush: (charges) => this.#addAll(charges),
    });
  }

  /** A negative number takes off. False, and nothing is added, if the volume would then hold more than its size. */
  add(id: VolumeId, bytes: number): Promise<boolean> {
    return this.#batcher.run({ id, bytes });
  }

  async #addAll(charges: readonly Charge[]): Promise<boolean[]> {
    const byVolume = Map.groupBy(charges, ({ id }) => id);
    const refused = new Set<Charge>();
    const addOfVolume = async (id: VolumeId, all: readonly Charge[]) => {
      const [freed, added] = [all.filter(({ bytes }) => bytes < 0), all.filter(({ bytes }) => bytes > 0)];
      if (freed.length > 0) await this.#addTo(id, sum(freed));
      if (added.length === 0 || (await this.#addTo(id, sum(added)))) return;
      for (const charge of added) // some of them may fit
        if (added.length === 1 || !(await this.#addTo(id, charge.bytes))) refused.add(charge);
    };
    await Promise.all([...byVolume].map(([id, all]) => addOfVolume(id, all)));
    return charges.map((charge) => !refused.has(charge));
  }

  async #addTo(id: VolumeId, bytes: number): Promise<boolean> {
    const result = await this.#db.query({
      name: 'volume-bytes',
      text: `update network_volumes set used_bytes = greatest(0, used_bytes + $2)
             where id = $1 and ($2 <= 0 or used_bytes + $2 <= size_gb * 1073741824::bigint)
             returning set_config('synchronous_commit', 'off', true)`,
      values: [id, bytes],
    });
    return result.rowCount === 1;
  }
}

function sum(charges: readonly Charge[]): number {
  return charges.reduce((total, { bytes }) => total + bytes, 0);
}
