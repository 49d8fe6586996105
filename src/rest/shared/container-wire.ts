import type { ContainerConfig } from '../../domain/endpoints/endpoint.ts';

/** The container settings in requests and responses. */
export interface ContainerBlock {
  image: string;
  args: string;
  disk: number;
  ports: string[];
  env: Record<string, string>;
  registry: string | null;
}

/** Maps the fields that are present: absent and null differ. */
export function toContainer(body: Partial<ContainerBlock>): Partial<ContainerConfig> {
  const { image, args, disk, ports, env, registry } = body;
  return {
    ...(image === undefined ? {} : { image }),
    ...(args === undefined ? {} : { args }),
    ...(disk === undefined ? {} : { diskGb: disk }),
    ...(ports === undefined ? {} : { ports }),
    ...(env === undefined ? {} : { env }),
    ...(registry === undefined ? {} : { registryId: registry }),
  };
}

export function toContainerResponse(container: ContainerConfig): ContainerBlock {
  const { image, args, diskGb: disk, ports, env, registryId: registry } = container;
  return { image, args, disk, ports, env, registry };
}
