import type { Static } from 'typebox';
import type { VolumeId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { createVolume, deleteVolume, updateVolume } from '../../domain/volumes/change-volume.ts';
import { VOLUME_SIZE_GB, type Volume } from '../../domain/volumes/volume.ts';
import { getVolumeRow, listVolumeRows } from '../../domain/volumes/volume-store.ts';
import { PERMISSIONS } from '../shared/rest-app.ts';
import { closed, noContent, ref } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { changedMembers, repeated } from './v1-records.ts';
import { IdParams, UPDATES, type V1Route } from './v1-route.ts';

const name = Type.String({ minLength: 1 });
const size = Type.Integer({
  minimum: VOLUME_SIZE_GB.min,
  maximum: VOLUME_SIZE_GB.max,
  description: 'Size in GB; it only grows.',
});
const dataCenterId = Type.String();

export const V1NetworkVolume = Type.Object({ id: Type.String(), name, size, dataCenterId }, { $id: 'NetworkVolume' });
export const V1NetworkVolumes = Type.Array(ref(V1NetworkVolume), { $id: 'NetworkVolumes' });
export const NetworkVolumeCreateInput = closed(
  { name, size, dataCenterId, ...repeated(['id']) },
  { $id: 'NetworkVolumeCreateInput' },
);
export const NetworkVolumeUpdateInput = closed(
  { name: Type.Optional(name), size: Type.Optional(size), ...repeated(['id', 'dataCenterId']) },
  { $id: 'NetworkVolumeUpdateInput' },
);

export function showVolume(volume: Volume): Static<typeof V1NetworkVolume> {
  return { id: volume.id, name: volume.name, size: volume.sizeGb, dataCenterId: volume.dataCenterId };
}

type Update = Static<typeof NetworkVolumeUpdateInput>;

function toVolumeChange(body: Update, before: Volume): { name?: string; sizeGb?: number } {
  const { name: newName, size: sizeGb } = changedMembers(body, showVolume(before), {
    fixed: ['id', 'dataCenterId'],
    shown: [],
  });
  return { ...(newName === undefined ? {} : { name: newName }), ...(sizeGb === undefined ? {} : { sizeGb }) };
}

const tags = ['network volumes'];
const record = { 200: ref(V1NetworkVolume) };

export const volumeRoutes: V1Route = (app, deps) => {
  app.get('/v1/networkvolumes', {
    schema: { operationId: 'ListNetworkVolumes', tags, response: { 200: ref(V1NetworkVolumes) } },
    config: { permission: PERMISSIONS.readVolume },
    handler: async ({ actor }) => (await listVolumeRows(deps.pool, actor.userId)).map(showVolume),
  });
  app.post('/v1/networkvolumes', {
    schema: { operationId: 'CreateNetworkVolume', tags, body: ref(NetworkVolumeCreateInput), response: record },
    config: { permission: PERMISSIONS.writeVolume },
    handler: async ({ actor, body }) => {
      const input = { name: body.name, sizeGb: body.size, dataCenterId: body.dataCenterId, type: null };
      return showVolume(await change(deps, actor, createVolume, input));
    },
  });
  app.get('/v1/networkvolumes/:id', {
    schema: { operationId: 'GetNetworkVolume', tags, params: IdParams, response: record },
    config: { permission: PERMISSIONS.readVolume, failures: ['notFound'] },
    handler: async ({ actor, params }) =>
      showVolume(await getVolumeRow(deps.pool, actor.userId, params.id as VolumeId)),
  });
  for (const [method, suffix, operationId] of UPDATES) {
    app.route({
      method,
      url: `/v1/networkvolumes/:id${suffix}`,
      schema: {
        operationId: `${operationId}NetworkVolume`,
        tags,
        params: IdParams,
        body: ref(NetworkVolumeUpdateInput),
        response: record,
      },
      config: { permission: PERMISSIONS.writeVolume, failures: ['notFound'] },
      handler: async ({ actor, params, body }) => {
        const id = (params as { id: string }).id as VolumeId;
        const before = await getVolumeRow(deps.pool, actor.userId, id);
        return showVolume(
          await change(deps, actor, updateVolume, { id, change: toVolumeChange(body as Update, before) }),
        );
      },
    });
  }
  app.delete('/v1/networkvolumes/:id', {
    schema: { operationId: 'DeleteNetworkVolume', tags, params: IdParams, response: { 204: noContent('Deleted.') } },
    config: { permission: PERMISSIONS.deleteVolume, failures: ['notFound'] },
    handler: async ({ actor, params }, reply) => {
      await change(deps, actor, deleteVolume, { id: params.id as VolumeId });
      return reply.code(204).send();
    },
  });
};
