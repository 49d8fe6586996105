import { Failure } from '../../core/errors.ts';
import type { ContainerConfig } from '../../domain/endpoints/endpoint.ts';
import { type Command, toArgs } from './command.ts';

/** The container settings in requests and responses. */
export interface ContainerBlock {
  image: string;
  args: string;
  disk: number;
  ports: string[];
  env: Record<string, string>;
  registry: string | null;
}

/** Maps the fields that are present: absent and null differ. Throws `badRequest` for `args` beside `cmd` or `entrypoint`. */
export function toContainer(body: Partial<ContainerBlock & Command>): Partial<ContainerConfig> {
  const { image, disk, ports, env, registry } = body;
  const command = toArgs(body);
  if (command !== undefined && body.args !== undefined) {
    throw new Failure('badRequest', 'args: cannot be given together with cmd or entrypoint');
  }
  const args = body.args ?? command;
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
