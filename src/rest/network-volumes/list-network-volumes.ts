import { listVolumeRows } from '../../domain/volumes/volume-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { NetworkVolumeList } from './volume-schemas.ts';
import { toVolumeResponse } from './volume-wire.ts';

export const listNetworkVolumesRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/network-volumes',
    {
      schema: {
        operationId: 'listNetworkVolumes',
        summary: 'List network volumes',
        tags: ['network-volumes'],
        response: { 200: ref(NetworkVolumeList) },
      },
      config: { permission: PERMISSIONS.readVolume },
    },
    async (request) => {
      const records = await listVolumeRows(deps.pool, request.actor.userId);
      return { networkVolumes: records.map(toVolumeResponse) };
    },
  );
};
