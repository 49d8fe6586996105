import type { VolumeId } from '../../core/ids.ts';
import { PERMISSIONS } from '../../domain/access/permissions.ts';
import { findDataCenter } from '../../domain/catalog/catalog.ts';
import { change } from '../../domain/change.ts';
import { createVolume, deleteVolume, updateVolume } from '../../domain/volumes/change-volume.ts';
import { VOLUME_SIZE_GB, type Volume } from '../../domain/volumes/volume.ts';
import { listVolumeRows } from '../../domain/volumes/volume-store.ts';
import type { GraphqlCall, Resolvers } from '../graphql-call.ts';
import { ifGone, readInput, readNumber, readText } from '../inputs.ts';
import { toDataCenter } from './catalog-resolvers.ts';

const SIZE_LIMITS = { ...VOLUME_SIZE_GB, fallback: 0 };

export const volumeResolvers: Resolvers = {
  User: {
    networkVolumes: async (_: unknown, __: unknown, call) =>
      call.list([...(await readVolumes(call)).values()], toNetworkVolume),
  },
  NetworkVolume: {
    dataCenter: ({ dataCenterId }: { dataCenterId: string }) => {
      const dataCenter = findDataCenter(dataCenterId);
      return dataCenter ? toDataCenter(dataCenter) : null;
    },
  },
  Mutation: {
    createNetworkVolume: async (
      _: unknown,
      args: { input?: { name: string; size: number; dataCenterId: string } | null },
      call,
    ) => {
      const { name, size, dataCenterId } = readInput(args);
      const actor = call.permit(PERMISSIONS.writeVolume({}));
      const sizeGb = readNumber(size, 'size', SIZE_LIMITS);
      const volume = { name: readText(name, 'name'), sizeGb, dataCenterId, type: null };
      return toNetworkVolume(await change(call.deps, actor, createVolume, volume));
    },
    updateNetworkVolume: async (
      _: unknown,
      args: { input?: { id: string; name?: string | null; size?: number | null } | null },
      call,
    ) => {
      const { id, name, size } = readInput(args);
      const actor = call.permit(PERMISSIONS.writeVolume({ id }));
      const fields = {
        ...(name === undefined || name === null ? {} : { name: readText(name, 'name') }),
        ...(size === undefined || size === null ? {} : { sizeGb: readNumber(size, 'size', SIZE_LIMITS) }),
      };
      return toNetworkVolume(await change(call.deps, actor, updateVolume, { id: id as VolumeId, change: fields }));
    },
    deleteNetworkVolume: async (_: unknown, args: { input?: { id: string } | null }, call) => {
      const { id } = readInput(args);
      const actor = call.permit(PERMISSIONS.writeVolume({ id }));
      const gone = ifGone('delete network volume: Tried to delete nonexistent network volume');
      await change(call.deps, actor, deleteVolume, { id: id as VolumeId }).catch(gone);
      return null;
    },
  },
};

/** Reads the caller's volumes by their ids, once per query. */
export function readVolumes(call: GraphqlCall): Map<string, Volume> | Promise<Map<string, Volume>> {
  const { userId } = call.permit(PERMISSIONS.readVolume({}));
  return call.share('volumes', async () => {
    const volumes = await listVolumeRows(call.deps.pool, userId);
    return new Map(volumes.map((volume) => [volume.id, volume]));
  });
}

export function toNetworkVolume({ id, name, sizeGb, dataCenterId }: Volume) {
  return { id, name, size: sizeGb, dataCenterId };
}
