import type { ContainerConfig } from '../../domain/endpoints/endpoint.ts';
import { toArgs, toCommand } from '../shared/command.ts';
import { CONTAINER } from '../shared/container-fields.ts';
import { MAX_INTEGER, nullableInteger, nullableString } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const words = (what: string) =>
  Type.Array(Type.String(), { description: `Replaces the ${what} of the image; an empty list keeps it.` });

/** Where a volume is mounted if no path is given. */
export const DEFAULT_MOUNT_PATH = '/workspace';

export const V1_DEFAULTS = { containerDiskInGb: 50, volumeInGb: 20, ports: ['8888/http', '22/tcp'] };

/** The container settings of pods and templates in requests; all are optional. */
export const V1_CONTAINER = {
  imageName: Type.Optional(CONTAINER.image),
  containerDiskInGb: Type.Optional(
    nullableInteger({ minimum: 1, maximum: MAX_INTEGER, description: 'Container disk in GB; null: the default.' }),
  ),
  containerRegistryAuthId: Type.Optional(
    nullableString({ description: 'Saved credentials for a private image; empty or null: none.' }),
  ),
  dockerEntrypoint: Type.Optional(words('ENTRYPOINT')),
  dockerStartCmd: Type.Optional(words('CMD')),
  env: Type.Optional(CONTAINER.env),
  ports: Type.Optional(CONTAINER.ports),
  volumeInGb: Type.Optional(
    nullableInteger({
      minimum: 0,
      maximum: MAX_INTEGER,
      description: 'Storage of the pod itself, kept across restarts, in GB; 0 or null: none.',
    }),
  ),
  volumeMountPath: Type.Optional(
    Type.String({
      pattern: '^(/|$)',
      description: 'Mount path of the storage or of the network volume; empty: without one.',
    }),
  ),
};

/** The container settings in answers. */
export const SHOWN_CONTAINER = {
  imageName: Type.String(),
  containerDiskInGb: Type.Integer(),
  containerRegistryAuthId: Type.Optional(Type.String({ description: 'Left out if there is none.' })),
  dockerEntrypoint: words('ENTRYPOINT'),
  dockerStartCmd: words('CMD'),
  env: CONTAINER.env,
  ports: CONTAINER.ports,
  volumeInGb: Type.Integer({ description: 'Storage of the pod itself; 0: none.' }),
  volumeMountPath: Type.String({ description: 'Empty if nothing is mounted.' }),
};

export interface V1Container {
  imageName?: string;
  containerDiskInGb?: number | null;
  containerRegistryAuthId?: string | null;
  dockerEntrypoint?: string[];
  dockerStartCmd?: string[];
  env?: Record<string, string>;
  ports?: string[];
}

/** Maps the fields that are present. `before`: the `args` that a change applies to. */
export function toContainer(body: V1Container, before?: string): Partial<ContainerConfig> {
  const args = toArgs({ entrypoint: body.dockerEntrypoint, cmd: body.dockerStartCmd }, before);
  return {
    ...(body.imageName === undefined ? {} : { image: body.imageName }),
    ...(body.containerDiskInGb == null ? {} : { diskGb: body.containerDiskInGb }),
    ...(body.containerRegistryAuthId === undefined ? {} : { registryId: body.containerRegistryAuthId || null }),
    ...(args === undefined ? {} : { args }),
    ...(body.env === undefined ? {} : { env: body.env }),
    ...(body.ports === undefined ? {} : { ports: body.ports }),
  };
}

export function showContainer(container: ContainerConfig) {
  const { entrypoint, cmd } = toCommand(container.args);
  return {
    imageName: container.image,
    containerDiskInGb: container.diskGb,
    ...(container.registryId === null ? {} : { containerRegistryAuthId: container.registryId }),
    dockerEntrypoint: entrypoint,
    dockerStartCmd: cmd,
    env: container.env,
    ports: container.ports,
  };
}
