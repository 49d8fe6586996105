import type { VolumeId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { deleteVolume } from '../../domain/volumes/change-volume.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent } from '../shared/schema.ts';
import { NetworkVolumeParams } from './volume-schemas.ts';

export const deleteNetworkVolumeRoute: RestRoute = (app, deps) => {
  app.delete(
    '/v2/network-volumes/:id',
    {
      schema: {
        operationId: 'deleteNetworkVolume',
        summary: 'Delete a network volume',
        description: 'Deletes the volume and its data. Refused while a pod or endpoint mounts it.',
        tags: ['network-volumes'],
        params: NetworkVolumeParams,
        response: { 204: noContent('Deleted.') },
      },
      config: { permission: PERMISSIONS.writeVolume, failures: ['badRequest', 'notFound'] },
    },
    async (request, reply) => {
      await change(deps, request.actor, deleteVolume, { id: request.params.id as VolumeId });
      return reply.code(204).send();
    },
  );
};
