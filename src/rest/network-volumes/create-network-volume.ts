import { change } from '../../domain/change.ts';
import { createVolume } from '../../domain/volumes/change-volume.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { CreateNetworkVolumeRequest, NetworkVolumeResponse } from './volume-schemas.ts';
import { toNewVolume, toVolumeResponse } from './volume-wire.ts';

export const createNetworkVolumeRoute: RestRoute = (app, deps) => {
  app.post(
    '/v2/network-volumes',
    {
      schema: {
        operationId: 'createNetworkVolume',
        summary: 'Create a network volume',
        tags: ['network-volumes'],
        body: ref(CreateNetworkVolumeRequest),
        response: { 201: ref(NetworkVolumeResponse) },
      },
      config: { permission: PERMISSIONS.writeVolume },
    },
    async (request, reply) => {
      const record = await change(deps, request.actor, createVolume, toNewVolume(request.body));
      return reply.code(201).send(toVolumeResponse(record));
    },
  );
};
