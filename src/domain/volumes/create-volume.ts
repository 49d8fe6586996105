import { Failure } from '../../core/errors.ts';
import { newId, type VolumeId } from '../../core/ids.ts';
import type { Actor } from '../access/actor.ts';
import { findDataCenter } from '../catalog/catalog.ts';
import { noSuchItem } from '../catalog/no-such-item.ts';
import type { Context } from '../context.ts';
import type { Volume, VolumeType } from './volume.ts';
import { insertVolumeRow } from './volume-store.ts';

/** `type` null: the data center's first tier. */
export type NewVolume = Omit<Volume, 'id' | 'userId' | 'type' | 'usedBytes'> & { type: VolumeType | null };

/** Stores a volume. Throws `badRequest` if the data center does not exist or does not offer the type. */
export async function createVolume(context: Context, actor: Actor, input: NewVolume): Promise<Volume> {
  const type = chooseType(input.dataCenterId, input.type);
  const volume = { ...input, type, id: newId<VolumeId>(), userId: actor.userId, usedBytes: 0 };
  await insertVolumeRow(context.pool, volume);
  return volume;
}

function chooseType(dataCenterId: string, wanted: VolumeType | null): VolumeType {
  const dataCenter = findDataCenter(dataCenterId);
  if (!dataCenter) throw new Failure('badRequest', `dataCenter: ${noSuchItem('data center', dataCenterId)}`);
  const offered = dataCenter.networkVolumeTypes;
  const type = wanted ?? offered[0];
  if (type !== undefined && offered.includes(type)) return type;
  const refused = type === undefined ? 'network volumes' : `network volumes of type ${type}`;
  throw new Failure('badRequest', `type: data center '${dataCenterId}' does not offer ${refused}`);
}
