import type { Schemas } from '../../api/client.ts';
import { type Fields, initialValues } from './fields.ts';

/** An environment variable while it is edited; the key may still be empty. */
export interface EnvRow {
  key: string;
  value: string;
}

/** The container part of a record, and of the body that saves it. */
export type Container = Pick<Schemas['Template'], 'image' | 'args' | 'disk' | 'ports' | 'env' | 'registry'>;

/** The values of the container fields that endpoints, pods and templates share. */
export type ContainerValues = Omit<Container, 'env'> & { env: EnvRow[] };

export const CONTAINER_FIELDS: Fields<ContainerValues> = {
  image: { label: 'Image', placeholder: 'ghcr.io/acme/worker:1.0', initial: '', isRequired: true },
  args: { label: 'Arguments', help: 'A command line, or JSON: {"entrypoint": […], "cmd": […]}', initial: '' },
  disk: { label: 'Container disk', help: 'Wiped on restart', initial: 20, unit: 'GB', min: 1 },
  ports: { label: 'Ports', initial: [] },
  env: {
    label: 'Environment variables',
    help: 'Use {{ RUNPOD_SECRET_name }} in a value to insert a secret when the container starts.',
    initial: [],
  },
  registry: { label: 'Registry credentials', help: 'For private images', placeholder: 'None', initial: null },
};

export const NEW_CONTAINER = initialValues<ContainerValues>(CONTAINER_FIELDS);

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
