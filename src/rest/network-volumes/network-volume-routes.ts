import type { Static } from 'typebox';
import type { VolumeId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { createVolume, deleteVolume, type NewVolume, updateVolume } from '../../domain/volumes/change-volume.ts';
import type { Volume } from '../../domain/volumes/volume.ts';
import { getVolumeRow, listVolumeRows } from '../../domain/volumes/volume-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import {
  CreateNetworkVolumeRequest,
  NetworkVolumeList,
  NetworkVolumeParams,
  NetworkVolumeResponse,
  UpdateNetworkVolumeRequest,
} from './volume-schemas.ts';

export const networkVolumeRoutes: RestRoute = (app, deps) => {
  app.get('/v2/network-volumes', {
    schema: {
      operationId: 'listNetworkVolumes',
      summary: 'List network volumes',
      tags: ['network-volumes'],
      response: { 200: ref(NetworkVolumeList) },
    },
    config: { permission: PERMISSIONS.readVolume },
    handler: async (request) => {
      const records = await listVolumeRows(deps.pool, request.actor.userId);
      return { networkVolumes: records.map(toVolumeResponse) };
    },
  });

  app.post('/v2/network-volumes', {
    schema: {
      operationId: 'createNetworkVolume',
      summary: 'Create a network volume',
      tags: ['network-volumes'],
      body: ref(CreateNetworkVolumeRequest),
      response: { 201: ref(NetworkVolumeResponse) },
    },
    config: { permission: PERMISSIONS.writeVolume },
    handler: async (request, reply) => {
      const record = await change(deps, request.actor, createVolume, toNewVolume(request.body));
      return reply.code(201).send(toVolumeResponse(record));
    },
  });

  app.get('/v2/network-volumes/:id', {
    schema: {
      operationId: 'getNetworkVolume',
      summary: 'Get a network volume',
      tags: ['network-volumes'],
      params: NetworkVolumeParams,
      response: { 200: ref(NetworkVolumeResponse) },
    },
    config: { permission: PERMISSIONS.readVolume, failures: ['notFound'] },
    handler: async (request) =>
      toVolumeResponse(await getVolumeRow(deps.pool, request.actor.userId, request.params.id as VolumeId)),
  });

  app.patch('/v2/network-volumes/:id', {
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
    handler: async (request) => {
      const id = request.params.id as VolumeId;
      const input = { id, change: toVolumeChange(request.body) };
      return toVolumeResponse(await change(deps, request.actor, updateVolume, input));
    },
  });

  app.delete('/v2/network-volumes/:id', {
    schema: {
      operationId: 'deleteNetworkVolume',
      summary: 'Delete a network volume',
      description: 'Deletes the volume and its data. Refused while a pod or endpoint mounts it.',
      tags: ['network-volumes'],
      params: NetworkVolumeParams,
      response: { 204: noContent('Deleted.') },
    },
    config: { permission: PERMISSIONS.deleteVolume, failures: ['badRequest', 'notFound'] },
    handler: async (request, reply) => {
      await change(deps, request.actor, deleteVolume, { id: request.params.id as VolumeId });
      return reply.code(204).send();
    },
  });
};

function toNewVolume(body: Static<typeof CreateNetworkVolumeRequest>): NewVolume {
  return { name: body.name, sizeGb: body.size, dataCenterId: body.dataCenter, type: body.type ?? null };
}

/** Maps the fields that are present. */
function toVolumeChange(body: Static<typeof UpdateNetworkVolumeRequest>): Partial<Pick<Volume, 'name' | 'sizeGb'>> {
  return {
    ...(body.name === undefined ? {} : { name: body.name }),
    ...(body.size === undefined ? {} : { sizeGb: body.size }),
  };
}

function toVolumeResponse(volume: Volume): Static<typeof NetworkVolumeResponse> {
  return {
    id: volume.id,
    name: volume.name,
    size: volume.sizeGb,
    dataCenter: volume.dataCenterId,
    type: volume.type,
    usedBytes: volume.usedBytes,
  };
}
