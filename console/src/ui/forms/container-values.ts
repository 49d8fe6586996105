/** An environment variable while it is edited; the key may still be empty. */
export interface EnvRow {
  key: string;
  value: string;
}

/** The values of the container fields that endpoints, pods and templates share. */
export interface ContainerValues {
  image: string;
  args: string;
  disk: number;
  ports: string[];
  env: EnvRow[];
  registry: string | null;
}

/** The container part of a record, and of the body that saves it. */
export type Container = Omit<ContainerValues, 'env'> & { env: Record<string, string> };

export const NEW_CONTAINER: ContainerValues = { image: '', args: '', disk: 20, ports: [], env: [], registry: null };

/** The container fields as the server names them in errors. */
export const CONTAINER_FIELDS = Object.keys(NEW_CONTAINER);

/** Returns the form values of a record's container. */
export function containerValues({ image, args, disk, ports, env, registry }: Container): ContainerValues {
  const rows = Object.entries(env).map(([key, value]) => ({ key, value }));
  return { image, args, disk, ports, env: rows, registry };
}

/** Returns the container part of a request body. Variables without a name are dropped; of equal names the last wins. */
export function containerBody({ image, args, disk, ports, env, registry }: ContainerValues): Container {
  const variables = env.filter(({ key }) => key !== '').map(({ key, value }) => [key, value]);
  return { image, args, disk, ports, env: Object.fromEntries(variables), registry };
}
