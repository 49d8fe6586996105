import { Failure } from '../../core/errors.ts';
import { newId, type VolumeId } from '../../core/ids.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import { findDataCenter } from '../catalog/catalog.ts';
import { noSuchItem } from '../catalog/no-such-item.ts';
import type { Operation, Tx } from '../change.ts';
import type { Volume, VolumeType } from './volume.ts';
import { deleteVolumeRow, findVolumeUse, getVolumeRow, insertVolumeRow, updateVolumeRow } from './volume-store.ts';

/** `type` null: the data center's first tier. */
export type NewVolume = Omit<Volume, 'id' | 'userId' | 'type' | 'usedBytes'> & { type: VolumeType | null };

/** Stores a volume. Throws `badRequest` if the data center does not exist or does not offer the type. */
export const createVolume: Operation<Tx, NewVolume, Volume> = {
  name: 'volume.create',
  permission: () => PERMISSIONS.writeVolume({}),
  async run({ db, actor }, input) {
    const type = chooseType(input.dataCenterId, input.type);
    const volume = { ...input, type, id: newId<VolumeId>(), userId: actor.userId, usedBytes: 0 };
    await insertVolumeRow(db, volume);
    return volume;
  },
  subject: (_, { id }) => id,
};

/** Renames or grows a volume. Throws `notFound`, and `badRequest` if it would shrink. */
export const updateVolume: Operation<Tx, { id: VolumeId; change: Partial<Pick<Volume, 'name' | 'sizeGb'>> }, Volume> = {
  name: 'volume.update',
  permission: PERMISSIONS.writeVolume,
  async run({ db, actor }, { id, change }) {
    const before = await getVolumeRow(db, actor.userId, id, 'for no key update');
    const after = { ...before, ...change };
    if (after.sizeGb < before.sizeGb) {
      const detail = `size: a network volume can only grow, and is ${before.sizeGb} GB now: ${after.sizeGb} is too small`;
      throw new Failure('badRequest', detail);
    }
    await updateVolumeRow(db, after);
    return after;
  },
  subject: ({ id }) => id,
};

/** Deletes a volume; its files are removed soon after. Throws `notFound`, and `badRequest` while it is mounted. */
export const deleteVolume: Operation<Tx, { id: VolumeId }, void> = {
  name: 'volume.delete',
  permission: PERMISSIONS.deleteVolume,
  async run({ db, actor, bus }, { id }) {
    await getVolumeRow(db, actor.userId, id, 'for update');
    const use = await findVolumeUse(db, actor.userId, id);
    if (use !== undefined)
      throw new Failure('badRequest', `The network volume is mounted by ${use}.`, { isClash: true });
    await deleteVolumeRow(db, actor.userId, id);
    bus.publish('volume', id);
  },
  subject: ({ id }) => id,
};

function chooseType(dataCenterId: string, wanted: VolumeType | null): VolumeType {
  const dataCenter = findDataCenter(dataCenterId);
  if (!dataCenter) throw new Failure('badRequest', `dataCenter: ${noSuchItem('data center', dataCenterId)}`);
  const offered = dataCenter.networkVolumeTypes;
  const type = wanted ?? offered[0];
  if (type !== undefined && offered.includes(type)) return type;
  const refused = type === undefined ? 'network volumes' : `network volumes of type ${type}`;
  throw new Failure('badRequest', `type: data center '${dataCenterId}' does not offer ${refused}`);
}
