import type { VolumeId } from '../../core/ids.ts';
import { getVolumeRow } from '../../domain/volumes/volume-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { NetworkVolumeParams, NetworkVolumeResponse } from './volume-schemas.ts';
import { toVolumeResponse } from './volume-wire.ts';

export const getNetworkVolumeRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/network-volumes/:id',
    {
      schema: {
        operationId: 'getNetworkVolume',
        summary: 'Get a network volume',
        tags: ['network-volumes'],
        params: NetworkVolumeParams,
        response: { 200: ref(NetworkVolumeResponse) },
      },
      config: { permission: PERMISSIONS.readVolume, failures: ['notFound'] },
    },
    async (request) =>
      toVolumeResponse(await getVolumeRow(deps.pool, request.actor.userId, request.params.id as VolumeId)),
  );
};
