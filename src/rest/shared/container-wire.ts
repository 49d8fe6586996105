import type { ContainerConfig } from '../../domain/endpoints/endpoint.ts';

/** The container block as requests and answers carry it. */
export interface ContainerBlock {
  image: string;
  args: string;
  disk: number;
  ports: string[];
  env: Record<string, string>;
  registry: string | null;
}

/** Only what is present: absent and null are different things. */
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
