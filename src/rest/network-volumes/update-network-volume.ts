import type { VolumeId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { updateVolume } from '../../domain/volumes/change-volume.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { NetworkVolumeParams, NetworkVolumeResponse, UpdateNetworkVolumeRequest } from './volume-schemas.ts';
import { toVolumeChange, toVolumeResponse } from './volume-wire.ts';

export const updateNetworkVolumeRoute: RestRoute = (app, deps) => {
  app.patch(
    '/v2/network-volumes/:id',
    {
      schema: {
        operationId: 'updateNetworkVolume',
        summary: 'Update a network volume',
        description: 'Renames or enlarges the volume.',
        tags: ['network-volumes'],
        params: NetworkVolumeParams,
        body: ref(UpdateNetworkVolumeRequest),
        response: { 200: ref(NetworkVolumeResponse) },
      },
      config: { permission: PERMISSIONS.writeVolume, failures: ['notFound'] },
    },
    async (request) => {
      const id = request.params.id as VolumeId;
      const input = { id, change: toVolumeChange(request.body) };
      return toVolumeResponse(await change(deps, request.actor, updateVolume, input));
    },
  );
};
